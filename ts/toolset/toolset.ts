// A toolset to TypeScript: encodes a call, lets hooks of the application stand around it, decodes the outcome. Which call may
// run, what it does and what the model reads is decided in the core.

import { AsyncResource } from 'node:async_hooks'

import { checkContent } from '../backend/native-files.js'
import { TerminalSession } from '../backend/terminal-session.js'
import { nativeFor, watchFailures } from '../backend/user.js'
import { checkFunction, checkOptions, describe, encodeJson } from '../encode.js'
import { AbortError } from '../errors/abort-error.js'
import { errorFromNative } from '../errors/from-native.js'
import { GloveportError } from '../errors/gloveport-error.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { UnsupportedError } from '../errors/unsupported-error.js'
import { checkSignal, refuseAborted, runNative } from '../native-call.js'
import { type NativeError, NativeToolset } from '../native.js'
import { eventError } from './audit.js'
import { bounded, type Bounds } from './bounded.js'
import { checkResult } from './check-result.js'
import { CustomTool } from './custom-tool.js'
import type { CallVerdict } from './events.js'
import { type Call, Host } from './host.js'
import { checkHooks, customTools, imageBytes } from './options.js'
import { resumeCalls } from './resume.js'
import { standardProps } from './standard-schema.js'
import { subagentTools } from './subagents.js'
import type {
  Assessment,
  AssessOptions,
  CallOptions,
  Next,
  PendingAnswer,
  PendingCall,
  RememberedApproval,
  ResumeOptions,
  SubsetOptions,
  ToolResult,
  ToolsetOptions,
  ToolSpec,
} from './types.js'

/** 600 s, as in the core. */
const DEFAULT_CALL_TIMEOUT = 600_000

/**
 * Named tools over a backend. The toolset never closes the backend.
 *
 * @example
 * const toolset = createToolset({ backend: new LocalBackend({ root: './project' }), approve: terminalApprover() })
 * const { text } = await toolset.call('read_file', { path: 'README.md' })
 *
 * @throws {InvalidInputError} an option has the wrong type or value, or is not known
 * @throws {UnsupportedError} a tool was named that the backend cannot run
 */
export function createToolset<Own extends string = never>(options: ToolsetOptions<Own>): Toolset {
  const { backend, approve, onHelp, allowCommand, hooks, onEvent, auditLog, onError, images, subagents, ...given } =
    checkOptions(options) as ToolsetOptions<string>
  const { tools: named, ...settings } = given
  let made: Toolset | undefined
  const delegates = subagentTools(subagents, () => made!)
  const isList = named === undefined || Array.isArray(named)
  const tools = delegates.length > 0 && isList ? [...(named ?? ['console']), ...delegates] : named
  const native = nativeFor(backend, 'backend')
  const custom = customTools(tools)
  const checkedHooks = checkHooks(hooks, custom)
  const host = new Host({
    hooks: checkedHooks,
    approve: checkFunction(approve, 'approve'),
    allowCommand: checkFunction(allowCommand, 'allowCommand'),
    tools: custom,
    onHelp: checkFunction(onHelp, 'onHelp'),
    onEvent: checkFunction(onEvent, 'onEvent'),
    auditLog: auditLog === undefined ? undefined : checkText(auditLog, 'auditLog'),
    onError: checkFunction(onError, 'onError'),
    callTimeout: settings.limits?.callTimeout ?? DEFAULT_CALL_TIMEOUT,
  })
  const plain = {
    ...settings,
    ...imageBytes(images),
    tools: Array.isArray(tools) ? tools.map((tool) => (tool instanceof CustomTool ? tool.name : tool)) : tools,
    customTools: Array.from(custom.values(), (tool) => tool.spec),
    alwaysPost: checkedHooks.alwaysPost,
  }
  const optionsJson = encodeJson(plain, 'options')
  const created = NativeToolset.create(native, optionsJson, host.description, host.answer)
  const ourNames = new Map(Object.entries(settings.names ?? {}).map(([ours, exposed]) => [exposed as string, ours]))
  made = Toolset.of(created, host, ourNames, backend)
  watchFailures(backend, host)
  return made
}

/** See {@link createToolset}. */
export class Toolset {
  /** Names the toolset in logs; unique within the process. */
  readonly id: string
  readonly #native: NativeToolset
  /** Made when somebody first asks: a toolset at rest is small. */
  #made: readonly ToolSpec[] | undefined
  readonly #host: Host
  /** From names that the model sees to ours. */
  readonly #ourNames: ReadonlyMap<string, string>

  /** Held because the addon's side of an application's own backend does not hold it. */
  readonly #backend: object

  private constructor(native: NativeToolset, host: Host, ourNames: ReadonlyMap<string, string>, backend: object) {
    this.#native = native
    this.#host = host
    this.#ourNames = ourNames
    this.#backend = backend
    this.id = native.id
    host.belongTo(native.id)
  }

  /** All tools, of the application too. */
  get #specs(): readonly ToolSpec[] {
    if (!this.#made) {
      const specs = JSON.parse(this.#native.specs()) as Omit<ToolSpec, '~standard'>[]
      this.#made = Object.freeze(specs.map((spec) => this.#spec(spec)))
    }
    return this.#made
  }

  /** The tools that a model may be given, in order: those that are available now. */
  get tools(): readonly ToolSpec[] {
    const missing = this.#missing()
    return missing.length === 0 ? this.#specs : this.#specs.filter(({ name }) => !missing.includes(name))
  }

  /** For the system prompt: where the agent is, and what each available tool says of itself. */
  get instructions(): string {
    const { text, error } = this.#native.instructions(this.#missing(), JSON.stringify(this.#host.instructions))
    if (error) throw errorFromNative(error)
    return text ?? ''
  }

  /**
   * Asks the application's tools whether they are there and what they say, and waits for those that take time to answer; what
   * `tools` and `instructions` show then is what is now. Errors of theirs go to `onError`, and count as not there.
   */
  async refresh(): Promise<void> {
    await this.#host.refresh()
  }

  /** Tools of the application that are not there now, or for which another one stands. */
  #missing(): string[] {
    return this.#specs.filter(({ name }) => this.#isMissing(this.#ours(name))).map(({ name }) => name)
  }

  #isMissing(tool: string): boolean {
    return !this.#host.isAvailable(tool) || this.#superseding(tool).some((other) => this.#host.isAvailable(other))
  }

  /** The same, waited for. */
  async #isMissingNow(tool: string): Promise<boolean> {
    const [isThere, ...others] = await Promise.all(
      [tool, ...this.#superseding(tool)].map((name) => this.#host.askAvailable(name)),
    )
    return !isThere || others.includes(true)
  }

  /** The tools that stand for this one where they are available. */
  #superseding(tool: string): string[] {
    const { supersededBy = [] } = this.#host.custom(tool)?.definition ?? {}
    if (supersededBy.length === 0) return []
    return this.#specs
      .map(({ name }) => this.#ours(name))
      .filter((other) => {
        const { tags = [] } = this.#host.custom(other)?.definition ?? {}
        return other !== tool && tags.some((tag) => supersededBy.includes(tag))
      })
  }

  #ours(name: string): string {
    return this.#ourNames.get(name) ?? name
  }

  /** @internal Made by `createToolset` and `subset` only. */
  static of(
    made: { readonly toolset?: NativeToolset; readonly error?: NativeError },
    host: Host,
    ourNames: ReadonlyMap<string, string>,
    backend: object,
  ): Toolset {
    if (!made.toolset)
      throw errorFromNative(made.error ?? { code: 'INTERNAL', message: 'The toolset could not be made.' })
    return new Toolset(made.toolset, host, ourNames, backend)
  }

  /** Whether somebody is asked when a call needs an approval. */
  get hasApprover(): boolean {
    return this.#host.hasApprover
  }

  /**
   * Runs one tool, by the name that the model sees or by ours. A failure that a model can act on is a result with
   * `isError`.
   *
   * @throws {ApprovalRequiredError} somebody must say yes and there is no approver
   * @throws {AbortError} the signal aborted; what was done until then is in `details`
   * @throws {ClosedError} the toolset is closed
   * @throws {InvalidInputError} a name or an option has the wrong type
   * @throws what a hook threw, as itself
   */
  async call(name: string, input: unknown, options?: CallOptions): Promise<ToolResult> {
    return this.#call(name, input, options, {})
  }

  async #call(
    name: string,
    input: unknown,
    options: CallOptions | undefined,
    metadata: Readonly<Record<string, unknown>>,
  ): Promise<ToolResult> {
    const given = checkOptions(options)
    checkText(name, 'name')
    const signal = checkSignal(given.signal)
    refuseAborted(signal)
    const call: Call = {
      toolsetId: this.id,
      callId: given.callId === undefined ? this.#host.nextCallId(this.id) : checkText(given.callId, 'callId'),
      tool: this.#ours(name),
      context: given.context,
      metadata: { ...metadata },
      signal,
      scope: new AsyncResource('gloveport.call'),
    }
    const started = performance.now()
    this.#host.tell(call, { type: 'call-started', input })
    try {
      const result = await this.#around(call, name, input, given)
      if (this.#host.listens) {
        const { isError, code, truncated } = result
        const durationMs = performance.now() - started
        const facts = { isError, ...(code ? { code } : {}), textBytes: Buffer.byteLength(result.text), truncated }
        this.#host.tell(call, { type: 'call-ended', ...verdictOf(call), ...facts, durationMs })
      }
      return result
    } catch (error) {
      const durationMs = performance.now() - started
      this.#host.tell(call, { type: 'call-failed', ...verdictOf(call), error: eventError(error), durationMs })
      throw error
    }
  }

  /**
   * Like `call`, for code that hands the answer to a model: it throws for nothing but an abort. Whatever else `call`
   * would reject with becomes a harmless text, and the error itself goes to `onError`.
   */
  async answer(name: string, input: unknown, options?: CallOptions): Promise<ToolResult> {
    return this.#answer(name, input, options, {})
  }

  async #answer(
    name: string,
    input: unknown,
    options: CallOptions | undefined,
    metadata: Readonly<Record<string, unknown>>,
  ): Promise<ToolResult> {
    try {
      return await this.#call(name, input, options, metadata)
    } catch (error) {
      if (error instanceof AbortError) throw error
      refuseAborted(options?.signal)
      this.#host.report(error)
      const code = GloveportError.isInstance(error) ? error.code : 'HOOK_FAILED'
      return { text: harmless(error), isError: true, code, truncated: false }
    }
  }

  /**
   * Whether a call would run, and what an approver would be shown. Runs no hook and asks nobody. With a `callId`, a grant
   * for that call is held to what was seen now.
   */
  async assess(name: string, input: unknown, options?: AssessOptions): Promise<Assessment> {
    const { signal, ...call } = checkOptions(options)
    checkText(name, 'name')
    const inputJson = encodeJson(input, 'input')
    return this.#host.withRun(this.#looking(name, signal), async (run) => {
      const callJson = encodeJson({ ...call, callKey: run.key }, 'options')
      const outcome = await runNative({ signal }, (cancel) => this.#native.assess(name, inputJson, callJson, cancel))
      return JSON.parse(outcome.value ?? 'null') as Assessment
    })
  }

  /** Decodes an input as a call would; rejects with what is wrong with it. */
  async #validate(name: string, input: unknown): Promise<void> {
    const inputJson = encodeJson(input, 'input')
    await this.#host.withRun(this.#looking(name), async ({ key }) =>
      runNative({}, () => this.#native.validate(name, inputJson, encodeJson({ callKey: key }, 'options'))),
    )
  }

  /** What the application's tools are told where no call runs. */
  #looking(name: string, signal?: AbortSignal): Call {
    const tool = this.#ours(name)
    const scope = new AsyncResource('gloveport.look')
    return { toolsetId: this.id, callId: '', tool, context: undefined, metadata: {}, signal, scope }
  }

  /**
   * Goes on with calls that waited for somebody, by what they answered: an approved one runs, a rejected one becomes a result
   * that says so, and one without an answer waits on. Answers to calls that do not wait are refused before anything runs. Like
   * `answer`, it throws for nothing else but an abort.
   *
   * @returns the results by `callId`
   * @throws {InvalidInputError} a call or an answer is not right; no call ran then
   */
  async resume(
    pending: readonly PendingCall[],
    answers: readonly PendingAnswer[],
    options?: ResumeOptions,
  ): Promise<ReadonlyMap<string, ToolResult>> {
    const { context, signal } = checkOptions(options)
    return resumeCalls(pending, answers, {
      custom: (tool) => this.#host.custom(this.#ours(tool)),
      look: async ({ tool, input, callId }) => void (await this.assess(tool, input, { callId, signal })),
      run: ({ tool, input, callId }, approval, metadata) =>
        this.#answer(tool, input, { callId, context, signal, approval }, metadata),
      report: (error) => this.#host.report(error),
    })
  }

  /** What was approved for the session: such calls ask no more. */
  get rememberedApprovals(): readonly RememberedApproval[] {
    return JSON.parse(this.#native.rememberedApprovals()) as RememberedApproval[]
  }

  /** Forgets what was approved for the session. */
  forgetApprovals(): void {
    this.#native.forgetApprovals()
  }

  /**
   * The same toolset with only the named tools, or with all for `null`, such as for a second agent: it shares everything with
   * this one, hooks and approvals too, and also its end. A tool that is `mainOnly` is never in it.
   */
  subset(names: readonly string[] | null, options?: SubsetOptions): Toolset {
    const { autoInherit = false } = checkOptions(options)
    const isMainOnly = (name: string): boolean => this.#host.custom(this.#ours(name))?.definition.mainOnly === true
    const inherits = (name: string): boolean => this.#host.custom(this.#ours(name))?.definition.autoInherit === true
    const named = names === null ? [] : checkNames(names)
    const barred = named.find(isMainOnly)
    if (barred !== undefined) throw new InvalidInputError(`The tool '${barred}' is for the main agent only.`)
    const known = new Set(named.map((name) => this.#ours(name)))
    const added = this.#specs.filter(
      ({ name }) =>
        !known.has(this.#ours(name)) && !isMainOnly(name) && (names === null || (autoInherit && inherits(name))),
    )
    const chosen = [...named, ...added.map(({ name }) => name)]
    return Toolset.of(this.#native.subset(chosen), this.#host, this.#ourNames, this.#backend)
  }

  /**
   * Keeps something that is too long to be told, in a private folder that goes with the toolset: whole outputs of commands lie
   * there too. `name` is of letters, digits, `-` and `_`, and may have a suffix. Resolves to the path that the tools read it by,
   * which works on every backend. Of more than 100 files the oldest goes.
   *
   * @example
   * const path = await toolset.keep('report.json', JSON.stringify(report)) // /.gloveport/report-1.json
   */
  async keep(name: string, content: string | Uint8Array): Promise<string> {
    checkText(name, 'name')
    const checked = checkContent(content)
    const { text } = await runNative({}, () => this.#native.keep(name, checked))
    return text ?? ''
  }

  /** Ends what the toolset started; later calls reject with `ClosedError`. The backend stays open. */
  async close(): Promise<void> {
    this.#host.closing.end()
    await runNative({}, () => this.#native.close())
    await this.#host.flush()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** The around hooks, the outermost first, and in their middle the run. */
  async #around(call: Call, name: string, input: unknown, options: CallOptions): Promise<ToolResult> {
    let next = (input: unknown, signal: AbortSignal | undefined): Promise<ToolResult> =>
      this.#run(call, name, input, signal, options)
    for (const hook of this.#host.around(call.tool).toReversed()) {
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
    return next(input, call.signal)
  }

  #bounds({ tool }: Call, signal: AbortSignal | undefined, name: string): Bounds {
    return { name, timeoutMs: this.#host.timeoutOf(tool), signal, closing: this.#host.closing }
  }

  /** What a model reads where a tool of the application is not there. */
  async #refusal(call: Call, name: string, signal: AbortSignal | undefined): Promise<ToolResult | undefined> {
    return bounded<ToolResult | undefined>(
      async () =>
        (await this.#isMissingNow(call.tool))
          ? failure(new UnsupportedError(`The tool '${name}' is not available now; do it another way.`))
          : undefined,
      failure,
      this.#bounds(call, signal, `The question whether '${name}' is available`),
    )
  }

  async #run(
    call: Call,
    name: string,
    input: unknown,
    signal: AbortSignal | undefined,
    { approval, onOutput }: CallOptions,
  ): Promise<ToolResult> {
    let inputJson: string
    const refusal = this.#host.custom(call.tool) ? await this.#refusal(call, name, signal) : undefined
    if (refusal) return refusal
    try {
      inputJson = encodeJson(input, 'input')
    } catch (error) {
      // A model can send half a surrogate pair; what it did wrong is for it to read.
      if (error instanceof InvalidInputError) return failure(error)
      throw error
    }
    return this.#host.withRun(
      call,
      async (run) => {
        const callJson = encodeJson(
          { callId: call.callId, callKey: run.key, approval, report: this.#host.listens },
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

  #spec(spec: Omit<ToolSpec, '~standard'>): ToolSpec {
    const standard = standardProps(spec.inputSchema, (value) => this.#validate(spec.name, value))
    return Object.freeze({ ...spec, '~standard': standard })
  }
}

/** How a call was judged, where it was. */
function verdictOf({ verdict }: Call): { verdict?: CallVerdict } {
  return verdict ? { verdict } : {}
}

/** The result that a model reads for an error that it can act on. */
function failure({ message, code }: GloveportError): ToolResult {
  return { text: `Error: ${message}`, isError: true, code, truncated: false }
}

/** What a model may read of an error that it must not handle. */
function harmless(error: unknown): string {
  switch (GloveportError.isInstance(error) ? error.code : undefined) {
    case 'APPROVAL_REQUIRED':
      return 'Error: this call needs an approval that nobody here can give. Do it another way, or ask the user.'
    case 'CLOSED':
      return 'Error: the tools are no longer available.'
    default:
      return 'Error: internal error. The call may not have run; look before you repeat it.'
  }
}

function checkText(value: unknown, name: string): string {
  if (typeof value === 'string' && value.isWellFormed()) return value
  throw new InvalidInputError(`\`${name}\` must be a string of whole characters, not ${describe(value)}.`)
}

function checkNames(names: readonly string[]): string[] {
  if (!Array.isArray(names))
    throw new InvalidInputError(`\`names\` must be an array of tool names, not ${describe(names)}.`)
  return names.map((name, index) => checkText(name, `names[${index}]`))
}
