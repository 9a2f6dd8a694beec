// Output of a running command, on its way from the addon to the caller's function.

import { AsyncResource } from 'node:async_hooks'

/** A piece of a command's output. */
export interface OutputChunk {
  readonly stream: 'stdout' | 'stderr'
  /** Cut on character borders; bytes that are not UTF-8 are U+FFFD. */
  readonly text: string
}

/**
 * Takes output as it comes, in order, piece by piece with turns of the event loop between. While it works what is printed
 * meanwhile is joined, and a command that prints much waits; the command's end, timeout and abort do not. An error that it throws
 * ends the command and rejects the call. Nothing waits for a promise that it returns; one that rejects while the call runs counts
 * like a throw, and one that rejects later goes unheard.
 */
export type OnOutput = (chunk: OutputChunk) => void

/** Hands chunks to a function of the caller, in the caller's async context, until that function fails. */
export class OutputSink {
  #failure: { readonly error: unknown } | undefined
  readonly #scope = new AsyncResource('gloveport.output')
  readonly #onOutput: OnOutput
  readonly #stop: () => void

  constructor(onOutput: OnOutput, stop: () => void) {
    this.#onOutput = onOutput
    this.#stop = stop
  }

  /** For the addon: one chunk as JSON. */
  readonly take = (json: string): void => {
    if (this.#failure) return
    try {
      const taken: unknown = this.#scope.runInAsyncScope(this.#onOutput, undefined, JSON.parse(json) as OutputChunk)
      if (isThenable(taken)) taken.then(undefined, this.#fail)
    } catch (error) {
      this.#fail(error)
    }
  }

  readonly #fail = (error: unknown): void => {
    if (this.#failure) return
    this.#failure = { error }
    this.#stop()
  }

  /** Throws what the caller's function threw, or rejected with until now, if it did. */
  rethrow(): void {
    if (this.#failure) throw this.#failure.error
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}
