// One call on its way through the application's around hooks to the core and back.

import { TerminalSession } from '../backend/terminal-session.js'
import { checkOptions, encodeJson } from '../encode.js'
import { GloveportError } from '../errors/gloveport-error.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { UnsupportedError } from '../errors/unsupported-error.js'
import { checkSignal, runNative } from '../native-call.js'
import type { NativeToolset } from '../native.js'
import { bounded, type Bounds } from './bounded.js'
import { checkResult } from './check-result.js'
import type { CallVerdict } from './events.js'
import { failure } from './failures.js'
import { type Call, type Host, throwInterruption } from './host.js'
import type { Presence } from './presence.js'
import type { CallOptions, Next, ToolResult } from './types.js'

/** How a session that a call opens is opened, which no model says. */
export interface Opening {
  readonly env?: unknown
  readonly columns?: unknown
  readonly rows?: unknown
}

/** An input, and whether it is another than the call came with. */
interface Given {
  readonly input: unknown
  readonly isOther: boolean
}

type RunOptions = CallOptions & { readonly opening?: Opening }

export class CallRunner {
  readonly #native: NativeToolset
  readonly #host: Host
  readonly #presence: Presence

  constructor(native: NativeToolset, host: Host, presence: Presence) {
    this.#native = native
    this.#host = host
    this.#presence = presence
  }

  /** The around hooks, the outermost first, and in their middle the run. */
  async around(call: Call, name: string, input: unknown, options: RunOptions): Promise<ToolResult> {
    const hooks = this.#host.around(call.tool)
    if (hooks.length === 0) return this.#inside(call, name, { input, isOther: false }, call.signal, options)
    let next = async (given: unknown, signal: AbortSignal | undefined): Promise<ToolResult> =>
      this.#inside(call, name, { input: given, isOther: given !== input }, signal, options)
    for (const hook of hooks.toReversed()) {
      const inner = next
      next = async (input, signal) =>
        bounded(
          async (lend) => {
            const again: Next = async (other) => {
              const { signal: added, ...rest } = checkOptions(other)
              const both = [signal, checkSignal(added)].filter((one) => one !== undefined)
              const either = both.length > 1 ? AbortSignal.any(both) : both[0]
              return lend(async () => inner('input' in rest ? rest.input : input, either))
            }
            const { scope: _scope, toolsetId: _id, ...shown } = call
            return checkResult(await hook({ ...shown, signal, input }, again), 'An around hook')
          },
          failure,
          this.#bounds(call, signal, `An around hook of ${call.tool}`),
        )
    }
    const result = await next(input, call.signal)
    // An around hook that made a result of what `next` threw changes nothing.
    throwInterruption(call)
    return result
  }

  /** The middle of the hooks. */
  async #inside(
    call: Call,
    name: string,
    given: Given,
    signal: AbortSignal | undefined,
    options: RunOptions,
  ): Promise<ToolResult> {
    const refusal = this.#host.custom(call.tool) ? await this.#refusal(call, name, signal) : undefined
    return refusal ?? this.#run(call, name, given, signal, options)
  }

  #bounds({ tool }: Call, signal: AbortSignal | undefined, name: string): Bounds {
    return { name, timeoutMs: this.#host.timeoutOf(tool), signal, closing: this.#host.closing }
  }

  /** What a model reads where a tool of the application is not there. */
  async #refusal(call: Call, name: string, signal: AbortSignal | undefined): Promise<ToolResult | undefined> {
    return bounded<ToolResult | undefined>(
      async () =>
        (await this.#presence.isMissingNow(call.tool))
          ? failure(new UnsupportedError(`The tool '${name}' is not available now; do it another way.`))
          : undefined,
      failure,
      this.#bounds(call, signal, `The question whether '${name}' is available`),
    )
  }

  async #run(
    call: Call,
    name: string,
    { input, isOther }: Given,
    signal: AbortSignal | undefined,
    { approval, onOutput, opening }: RunOptions,
  ): Promise<ToolResult> {
    let inputJson: string
    try {
      inputJson = encodeJson(input, 'input')
      this.#host.noteInput(call, isOther ? inputJson : undefined)
    } catch (error) {
      // A model can send half a surrogate pair; what it did wrong is for it to read.
      if (error instanceof InvalidInputError) return failure(error)
      throw error
    }
    return this.#host.withRun(
      call,
      async (run) => {
        const callJson = encodeJson(
          { callId: call.callId, callKey: run.key, approval, report: this.#host.listens, ...opening },
          'options',
        )
        try {
          const outcome = await runNative({ signal, onOutput }, async (cancel, take) => {
            const ended = await this.#native.call(name, inputJson, callJson, cancel, take)
            if (ended.verdict) call.verdict = JSON.parse(ended.verdict) as CallVerdict
            return ended
          })
          return { ...(JSON.parse(outcome.value ?? '{}') as ToolResult), text: outcome.text ?? '' }
        } catch (error) {
          if (run.failure && GloveportError.isInstance(error) && error.code === 'HOOK_FAILED') throw run.failure.error
          throw error
        }
      },
      (id) => this.#terminal(id),
    )
  }

  /** The terminal of a session of ours. */
  #terminal(id: string): TerminalSession | undefined {
    const native = this.#native.terminal(id)
    return native ? new TerminalSession(native) : undefined
  }
}
