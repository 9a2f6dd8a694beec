// Who reads next: one at a time, in the order in which they came. Whoever waits may leave the line, and holds up nobody behind.

import { AbortError } from '../errors/abort-error.js'

/** 2,147,483,647 ms: a timer of Node that is given more fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export class Turns {
  #isTaken = false
  /** Gives whoever waits the turn; the first to come is the first. */
  readonly #line = new Set<() => void>()

  /**
   * Waits for the turn, at most `wait` milliseconds where that is given. Whether it came: then `pass` must be called.
   *
   * @throws {AbortError} the signal aborted before
   */
  async take(wait: number | undefined, signal: AbortSignal | undefined): Promise<boolean> {
    if (!this.#isTaken) {
      this.#isTaken = true
      return true
    }
    if (wait === 0) return false
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#line.delete(enter)
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      }
      const enter = (): void => {
        leave()
        resolve(true)
      }
      const giveUp = (): void => {
        leave()
        resolve(false)
      }
      const abort = (): void => {
        leave()
        reject(new AbortError('The call was aborted.', { cause: signal?.reason }))
      }
      const timer = wait === undefined ? undefined : setTimeout(giveUp, Math.min(wait, LONGEST_TIMER_MS))
      signal?.addEventListener('abort', abort, { once: true })
      this.#line.add(enter)
    })
  }

  /** Hands the turn on. */
  pass(): void {
    const [enter] = this.#line
    if (enter) enter()
    else this.#isTaken = false
  }
}
