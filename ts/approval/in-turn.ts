// One thing at a time at a person's terminal: what they type for one must not answer another.

const LAST = new WeakMap<object, Promise<unknown>>()

/** Runs `work` when everything that asked for the same terminal before is done. */
export async function inTurn<T>(terminal: object, work: () => Promise<T> | T): Promise<T> {
  const turn = (LAST.get(terminal) ?? Promise.resolve()).then(work)
  LAST.set(
    terminal,
    turn.catch(() => undefined),
  )
  return turn
}
