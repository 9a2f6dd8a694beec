// A command that runs beside its caller. What it does is decided in the core; here is the position of the reader.

import { checkKnown, checkMilliseconds, checkText, describe, encodeJson } from '../encode.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { checkSignal, refuseAborted, runNative } from '../native-call.js'
import type { NativeOutcome, NativeProcess } from '../native.js'
import { Turns } from './turns.js'
import type { CallSignal, ExecuteResult } from './types.js'

/** A signal that can be sent. */
export type SignalName =
  | 'SIGHUP'
  | 'SIGINT'
  | 'SIGQUIT'
  | 'SIGKILL'
  | 'SIGUSR1'
  | 'SIGUSR2'
  | 'SIGTERM'
  | 'SIGCONT'
  | 'SIGTSTP'

/** Output that was not read before. */
export interface OutputPiece {
  readonly text: string
  /** Bytes before it that were not read in time and are gone: 1 MiB is kept. */
  readonly dropped: number
  /** Whether the command ended and this was the last of its output. */
  readonly ended: boolean
}

export interface ReadOutputOptions extends CallSignal {
  /** Milliseconds to wait for output or the end; 0 does not wait. Default: as long as it takes. */
  readonly wait?: number | undefined
}

/**
 * A command that runs on after its call. It and all its processes end with {@link RunningCommand.kill}, with its backend,
 * or when nothing holds it any more.
 *
 * @example
 * const { process } = await backend.execute('npm run dev', { timeout: 2_000, onTimeout: 'background' })
 * for await (const text of process ?? []) console.log(text)
 */
export class RunningCommand {
  /** Its number in the system, where it has one. */
  readonly pid: number | undefined
  readonly #native: NativeProcess
  #position: number
  readonly #turns = new Turns()

  /** For this package: `position` is up to where its output was handed out already. */
  constructor(native: NativeProcess, position: number) {
    this.#native = native
    this.#position = position
    this.pid = native.pid ?? undefined
  }

  /**
   * Gives it input; resolves when all of that is in the pipe that it reads from, or waits for its terminal. Rejects with `ClosedError`
   * when it ended or closed its input before, and with `AbortError`. Where a part was given before, `details.partial.givenBytes` says
   * how much: that part is not to be given again.
   */
  async write(content: string | Uint8Array, options?: CallSignal): Promise<void> {
    await this.invoke('write', {}, options, checkInput(content))
  }

  /** Lets it read to the end of its input. */
  async closeInput(options?: CallSignal): Promise<void> {
    await this.invoke('closeInput', {}, options)
  }

  /**
   * Output that was not read before. Nothing comes twice, also when several read: they get it in the order of their calls. One that
   * waits behind another and has nothing after its `wait` is told so: no text, and not ended.
   */
  async read(options?: ReadOutputOptions): Promise<OutputPiece> {
    const given = checkKnown(options, ['wait', 'signal'])
    const wait = checkMilliseconds(given.wait, 'wait')
    const signal = checkSignal(given.signal)
    refuseAborted(signal)
    const began = performance.now()
    if (!(await this.#turns.take(wait, signal))) return { text: '', dropped: 0, ended: false }
    try {
      const left = wait === undefined ? undefined : Math.max(0, wait - Math.round(performance.now() - began))
      return await this.#readNow({ wait: left, signal })
    } finally {
      this.#turns.pass()
    }
  }

  /** How it ended, once it has. */
  async wait(options?: CallSignal): Promise<ExecuteResult> {
    const { aborted: _, ...ended } = decode<ExecuteResult & { aborted: boolean }>(
      await this.invoke('wait', {}, options),
    )
    return ended
  }

  /** Sends a signal to its process group. */
  async signal(signal: SignalName, options?: CallSignal): Promise<void> {
    await this.invoke('signal', { signal: checkText(signal, 'signal') }, options)
  }

  /** Ends it with all its processes: asked first, killed a moment later. Whether it still ran. */
  async kill(): Promise<boolean> {
    return decode<{ killed: boolean }>(await this.invoke('kill', {}, undefined)).killed
  }

  /**
   * Its output as it comes, to the end. Of what is not read 1 MiB is kept: where a program printed more than the loop took, a line
   * `... [N bytes were not read in time and are gone] ...` stands in place of what is gone.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<string, void, void> {
    for (;;) {
      const { text, dropped, ended } = await this.read()
      if (dropped > 0) yield `\n... [${dropped} bytes were not read in time and are gone] ...\n`
      if (text) yield text
      if (ended) return
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }

  async #readNow(options: ReadOutputOptions): Promise<OutputPiece> {
    const { wait, signal } = options
    const outcome = await this.invoke('read', { position: this.#position, wait }, { signal })
    const { next, dropped, ended } = decode<{ next: number; dropped: number; ended: boolean }>(outcome)
    this.#position = next
    return { text: outcome.text ?? '', dropped, ended }
  }

  /** For this package. */
  protected async invoke(
    method: string,
    args: object,
    options: CallSignal | undefined,
    content: string | Uint8Array | null = null,
  ): Promise<NativeOutcome> {
    const { signal } = checkKnown(options, ['signal'])
    const json = encodeJson(args, method)
    return runNative({ signal }, (cancel) => this.#native.invoke(method, json, content, cancel))
  }
}

export function decode<T>(outcome: NativeOutcome): T {
  return JSON.parse(outcome.value ?? 'null') as T
}

function checkInput(content: unknown): string | Uint8Array {
  if (typeof content === 'string') return checkText(content, 'content')
  if (content instanceof Uint8Array) return content
  throw new InvalidInputError(`\`content\` must be a string or a Uint8Array, not ${describe(content)}.`)
}
