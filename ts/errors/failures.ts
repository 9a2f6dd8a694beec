// What an application's own code threw, kept until the error that came of it passes by: only data crosses the addon.

/** 256 failures; the oldest are forgotten. */
const MAX_KEPT = 256

const kept = new Map<number, unknown>()
let last = 0

/** Keeps what was thrown, and returns the number under which it is found. */
export function keepFailure(error: unknown): number {
  last += 1
  kept.set(last, error)
  for (const oldest of kept.keys()) {
    if (kept.size <= MAX_KEPT) break
    kept.delete(oldest)
  }
  return last
}

/** What was kept under the number that `details` name; undefined where they name none. */
export function takeFailure(details: unknown): { readonly error: unknown } | undefined {
  if (typeof details !== 'object' || details === null) return undefined
  const { failure } = details as { failure?: unknown }
  if (typeof failure !== 'number' || !kept.has(failure)) return undefined
  const error = kept.get(failure)
  kept.delete(failure)
  return { error }
}
