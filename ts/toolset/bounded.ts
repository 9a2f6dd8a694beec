// Waits for code of the application that may never answer (D71). Its time is over with the call's timeout, and soon after an
// abort or the end of the toolset. The time in which it waits for us is not its own and does not count.

import { AbortError } from '../errors/abort-error.js'
import { ClosedError } from '../errors/closed-error.js'
import type { GloveportError } from '../errors/gloveport-error.js'
import { TimeoutError } from '../errors/timeout-error.js'

/** 3 s, as for post hooks: what an application may take to tidy up after a run that was stopped. */
const GRACE_MS = 3_000
/** The longest that a timer can wait, 24 days; a longer one would be over at once. */
const LONGEST_MS = 2 ** 31 - 1

/** The end of a toolset, for whoever waits. */
export class Closing {
  readonly #listeners = new Set<() => void>()
  #isOver = false

  get isOver(): boolean {
    return this.#isOver
  }

  /** Calls `listener` when it is over; the answer is called by who wants to hear no more. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  end(): void {
    this.#isOver = true
    for (const listener of this.#listeners) listener()
  }
}

export interface Bounds {
  /** Who is waited for. */
  readonly name: string
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
  readonly closing: Closing
}

/** Runs work of ours that the application waits for. */
export type Lend = <R>(work: () => Promise<R>) => Promise<R>

/**
 * What `start` resolves or rejects with. Where it takes longer than its bounds: what `late` makes of the timeout, or a rejection
 * with `AbortError` or `ClosedError`. It is not listened to any more then, and what it lends is refused.
 */
export async function bounded<T>(
  start: (lend: Lend) => Promise<T>,
  late: (error: TimeoutError) => T,
  { name, timeoutMs, signal, closing }: Bounds,
): Promise<T> {
  let left = timeoutMs
  let since = 0
  let timer: NodeJS.Timeout | undefined
  let lent = 0
  let hasLent = false
  /** Why nobody waits any more, or soon will not. */
  let stop: GloveportError | undefined
  let isOver = false
  let giveUp = (): void => {}

  const run = (): void => {
    since = performance.now()
    timer = setTimeout(() => giveUp(), Math.min(Math.max(left, 0), LONGEST_MS))
  }
  const pause = (): void => {
    clearTimeout(timer)
    left -= performance.now() - since
  }
  const stopFor = (error: GloveportError): void => {
    if (stop || isOver) return
    stop = error
    if (lent === 0) clearTimeout(timer)
    left = hasLent ? GRACE_MS : 0
    if (lent === 0) run()
  }
  const lend: Lend = async (work) => {
    if (isOver && stop) throw stop
    hasLent = true
    if (lent === 0) pause()
    lent += 1
    try {
      return await work()
    } finally {
      lent -= 1
      if (lent === 0 && !isOver) {
        if (stop) left = GRACE_MS
        run()
      }
    }
  }

  const abort = (): void => stopFor(new AbortError('The call was aborted.', { cause: signal?.reason }))
  const close = (): void => stopFor(new ClosedError('The toolset is closed; make a new one.'))
  signal?.addEventListener('abort', abort, { once: true })
  const deafen = closing.listen(close)
  run()
  try {
    return await new Promise<T>((resolve, reject) => {
      giveUp = () => {
        isOver = true
        if (stop) {
          reject(stop)
          return
        }
        const error = new TimeoutError(`${name} took too long.`)
        stop = error
        resolve(late(error))
      }
      if (signal?.aborted) abort()
      if (closing.isOver) close()
      start(lend).then(resolve, reject)
    })
  } finally {
    isOver = true
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
    deafen()
  }
}
