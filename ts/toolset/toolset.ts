// A toolset to TypeScript: encodes a call, tells what happened to it, decodes the outcome. Which call may run, what it does and
// what the model reads is decided in the core. Made by `create-toolset.ts`; a call's way is in `call-runner.ts`.

import { AsyncResource } from 'node:async_hooks'

import { checkContent } from '../backend/native-files.js'
import { checkKnown, checkString, describe, encodeJson } from '../encode.js'
import { AbortError } from '../errors/abort-error.js'
import { errorFromNative } from '../errors/from-native.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { checkSignal, refuseAborted, runNative } from '../native-call.js'
import type { NativeError, NativeToolset } from '../native.js'
import { eventError } from './audit.js'
import { CallRunner, type Opening } from './call-runner.js'
import type { DataOf, ShellExecData } from './data.js'
import type { CallVerdict } from './events.js'
import { harmless } from './failures.js'
import type { Call, Host } from './host.js'
import { Presence } from './presence.js'
import { resumeCalls } from './resume.js'
import { standardProps } from './standard-schema.js'
import type {
  Assessment,
  AssessOptions,
  CallOptions,
  PendingAnswer,
  PendingCall,
  RefreshOptions,
  RememberedApproval,
  ResumeOptions,
  SubsetOptions,
  ToolResult,
  ToolSpec,
} from './types.js'

/** What may be said about one call. */
const CALL_OPTIONS = ['callId', 'signal', 'context', 'approval', 'onOutput'] as const satisfies (keyof CallOptions)[]

/** See {@link createToolset}. */
export class Toolset {
  /** Names the toolset in logs; unique within the process. */
  readonly id: string
  readonly #native: NativeToolset
  readonly #presence: Presence
  readonly #runner: CallRunner
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
    this.#presence = new Presence(host, () => this.#specs.map(({ name }) => this.#ours(name)))
    this.#runner = new CallRunner(native, host, this.#presence)
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

  /** The tools that a model may be given, in order: those that are available now, or all with `skipUnavailable: false`. */
  get tools(): readonly ToolSpec[] {
    if (!this.#host.skipsUnavailable) return this.#specs
    const missing = this.#missing()
    return missing.length === 0 ? this.#specs : this.#specs.filter(({ name }) => !missing.includes(name))
  }

  /**
   * Whether a tool, by the name that the model sees or by ours, is in this toolset and there now. One that takes time to say so
   * is told by its last answer, see `refresh`.
   */
  isAvailable(name: string): boolean {
    const tool = this.#ours(checkString(name, 'name'))
    return this.#specs.some((spec) => this.#ours(spec.name) === tool) && !this.#presence.isMissing(tool)
  }

  /**
   * For the system prompt: where the agent is, and what each available tool says of itself. Empty where there is nothing to
   * say: no tool is ours, and none has an instruction.
   */
  get instructions(): string {
    const { text, error } = this.#native.instructions(this.#missing(), JSON.stringify(this.#host.instructions))
    if (error) throw errorFromNative(error)
    return text ?? ''
  }

  /**
   * Asks the application's tools whether they are there and what they say, and waits for those that take time to answer; what
   * `tools` and `instructions` show then is what is now. Errors of theirs go to `onError`, and count as not there; so does a
   * tool that has not answered after the time of a call of it.
   *
   * @throws {AbortError} the signal aborted
   * @throws {ClosedError} the toolset was closed meanwhile
   */
  async refresh(options?: RefreshOptions): Promise<void> {
    const signal = checkSignal(checkKnown(options, ['signal']).signal)
    refuseAborted(signal)
    await this.#host.refresh(signal)
  }

  /** Tools of the application that are not there now, or for which another one stands. */
  #missing(): string[] {
    return this.#specs.filter(({ name }) => this.#presence.isMissing(this.#ours(name))).map(({ name }) => name)
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
   * @throws {InvalidInputError} a name or an option has the wrong type, or an option is not known
   * @throws what a hook threw, as itself, and what `isControlFlow` knows, whoever threw it
   */
  async call<Name extends string>(
    name: Name,
    input: unknown,
    options?: CallOptions,
  ): Promise<ToolResult<DataOf<Name>>> {
    return (await this.#call(name, input, options, {})) as ToolResult<DataOf<Name>>
  }

  /** For this package: a call of a program, which says how a session that it opens is opened. */
  async callOpening(
    name: 'shell_exec',
    input: unknown,
    options: CallOptions,
    opening: Opening,
  ): Promise<ToolResult<ShellExecData>> {
    return (await this.#call(name, input, options, {}, opening)) as ToolResult<ShellExecData>
  }

  async #call(
    name: string,
    input: unknown,
    options: CallOptions | undefined,
    metadata: Readonly<Record<string, unknown>>,
    opening?: Opening,
  ): Promise<ToolResult> {
    const given = checkKnown(options, CALL_OPTIONS)
    checkString(name, 'name')
    const signal = checkSignal(given.signal)
    refuseAborted(signal)
    const call: Call = {
      toolsetId: this.id,
      callId: given.callId === undefined ? this.#host.nextCallId(this.id) : checkString(given.callId, 'callId'),
      tool: this.#ours(name),
      context: given.context,
      metadata: { ...metadata },
      signal,
      scope: new AsyncResource('gloveport.call'),
    }
    const started = performance.now()
    this.#host.tell(call, { type: 'call-started', input })
    try {
      const result = await this.#runner.around(call, name, input, { ...given, ...(opening ? { opening } : {}) })
      if (this.#host.listens) {
        const { isError, code, truncated } = result
        const durationMs = performance.now() - started
        const facts = { isError, ...(code ? { code } : {}), textBytes: Buffer.byteLength(result.text), truncated }
        const { supervisorLost } = (result.data ?? {}) as { readonly supervisorLost?: unknown }
        const lost = call.tool === 'execute' && supervisorLost === true ? { supervisorLost: true as const } : {}
        this.#host.tell(call, { type: 'call-ended', ...toldOf(call), ...facts, ...lost, durationMs })
      }
      return result
    } catch (error) {
      const durationMs = performance.now() - started
      this.#host.tell(call, { type: 'call-failed', ...toldOf(call), error: eventError(error), durationMs })
      throw error
    }
  }

  /**
   * Like `call`, for code that hands the answer to a model: it throws for nothing but an abort, and what `isControlFlow`
   * knows. Whatever else `call` would reject with becomes a harmless text, and the error itself goes to `onError`.
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
      if (error instanceof AbortError || this.#host.isControlFlow(error)) throw error
      refuseAborted(options?.signal)
      this.#host.report(error)
      return harmless(error)
    }
  }

  /**
   * Whether a call would run, and what an approver would be shown. Runs no hook and asks nobody. With a `callId`, a grant
   * for that call is held to what was seen now.
   */
  async assess(name: string, input: unknown, options?: AssessOptions): Promise<Assessment> {
    const { signal, callId } = checkKnown(options, ['callId', 'signal'])
    checkString(name, 'name')
    const inputJson = encodeJson(input, 'input')
    return this.#host.withRun(this.#looking(name, signal), async (run) => {
      const callJson = encodeJson({ callId, callKey: run.key }, 'options')
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
   * @throws {InvalidInputError} a call, an answer or an option is not right; no call ran then
   */
  async resume(
    pending: readonly PendingCall[],
    answers: readonly PendingAnswer[],
    options?: ResumeOptions,
  ): Promise<ReadonlyMap<string, ToolResult>> {
    const { context, signal } = checkKnown(options, ['context', 'signal'])
    return resumeCalls(pending, answers, {
      custom: (tool) => this.#host.custom(this.#ours(tool)),
      look: async ({ tool, input, callId }) => void (await this.assess(tool, input, { callId, signal })),
      run: ({ tool, input, callId }, approval, metadata) =>
        this.#answer(tool, input, { callId, context, signal, approval }, metadata),
      isControlFlow: (error) => this.#host.isControlFlow(error),
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
    const { autoInherit = false } = checkKnown(options, ['autoInherit'])
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
    checkString(name, 'name')
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

  #spec(spec: Omit<ToolSpec, '~standard'>): ToolSpec {
    const standard = standardProps(spec.inputSchema, (value) => this.#validate(spec.name, value))
    return Object.freeze({ ...spec, '~standard': standard })
  }
}

/** How a call was judged, where it was, and what ran, where that is something else than what was asked for. */
function toldOf({ verdict, changed }: Call): { verdict?: CallVerdict; input?: unknown } {
  return { ...(verdict ? { verdict } : {}), ...(changed ? { input: changed.input } : {}) }
}

function checkNames(names: readonly string[]): string[] {
  if (!Array.isArray(names))
    throw new InvalidInputError(`\`names\` must be an array of tool names, not ${describe(names)}.`)
  return names.map((name, index) => checkString(name, `names[${index}]`))
}
