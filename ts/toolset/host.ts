// The application's own code (hooks, approver, listeners), as the core reaches it: requests and answers are JSON. JavaScript
// objects stay here, found by the key of the run: the caller's context, the shared metadata, the caller's async context,
// and what a hook threw. A host knows no toolset and no addon, so that nothing of them is kept alive by it.

import type { AsyncResource } from 'node:async_hooks'

import { checkDecision } from '../approval/check-decision.js'
import type { ApprovalRequest, Approver } from '../approval/types.js'
import type { TerminalSession } from '../backend/terminal-session.js'
import { encodeJson } from '../encode.js'
import { errorFromNative } from '../errors/from-native.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import type { NativeBackend } from '../native.js'
import type { Action, CommandAnalysis } from '../permissions.js'
import { Audit } from './audit.js'
import { bounded, Closing } from './bounded.js'
import { checkResult } from './check-result.js'
import { failureText, isWithheld, type Planned, planCustom, runCustom } from './custom-run.js'
import type { CustomTool } from './custom-tool.js'
import type { AuditEvent, CallVerdict } from './events.js'
import { checkAction, checkHelp, ended, type Failure } from './host-values.js'
import { ToolSayings } from './tool-sayings.js'
import type { HelpHandler, HelpRequest, HookCall, Hooks, ToolHooks, ToolResult } from './types.js'

/** One call of the application, whatever its number of runs. */
export interface Call extends HookCall {
  readonly toolsetId: string
  /** Enters the caller's async context. */
  readonly scope: AsyncResource
  /** How its last run was judged. */
  verdict?: CallVerdict
  /** What hooks or an approver made of its input. */
  changed?: { readonly input: unknown }
  /** A signal for the program around that ended it, see `isControlFlow`. */
  interruption?: { readonly error: unknown }
}

/** One run of a call through the core. */
export interface Run {
  readonly key: string
  /** What the application's code threw last in this run. */
  failure?: { readonly error: unknown; readonly isHook: boolean }
  /** What a custom tool made of the input. */
  planned?: Planned
  /** Stops a custom tool, and whoever is asked for help. */
  stop?: AbortController
  /** The terminal of a session. */
  readonly terminal?: (id: string) => TerminalSession | undefined
}

/** What the application brought along. */
export interface HostOptions {
  readonly hooks: Hooks<string>
  readonly approve: Approver | undefined
  readonly allowCommand: ((analysis: CommandAnalysis) => Action | Promise<Action>) | undefined
  readonly tools: ReadonlyMap<string, CustomTool>
  readonly onHelp: HelpHandler | undefined
  readonly onEvent: ((event: AuditEvent) => void) | undefined
  readonly auditLog: string | undefined
  /** What the toolset is over: the log lies beyond its reach. */
  readonly backend: NativeBackend
  readonly onError: ((error: unknown) => void) | undefined
  readonly isControlFlow: ((error: unknown) => boolean) | undefined
  readonly skipsUnavailable: boolean
  /** Milliseconds of one call. */
  readonly callTimeout: number
}

/** The end of a session, as the core tells it. */
interface SessionEnded {
  readonly callId: string
  readonly tool: string
  readonly sessionId: string
  readonly command: string
  readonly exitCode: number | null
  readonly signal?: string
  readonly durationMs: number
}

type Request = { readonly callKey: string; readonly tool: string } & (
  | { readonly type: 'pre'; readonly scope: Scope; readonly input: unknown }
  | {
      readonly type: 'post'
      readonly scope: Scope
      readonly input: unknown
      readonly result?: ToolResult | null
      readonly error?: Failure | null
    }
  | { readonly type: 'approve'; readonly request: ApprovalRequest }
  | { readonly type: 'judge'; readonly analysis: CommandAnalysis }
  | { readonly type: 'plan' | 'run'; readonly input: unknown }
  | { readonly type: 'stop'; readonly code: string; readonly message: string }
  | { readonly type: 'help'; readonly request: HelpRequest }
)
type Scope = 'global' | 'tool'

type DistributiveOmit<Union, Keys extends PropertyKey> = Union extends unknown ? Omit<Union, Keys> : never
/** An event without what its call says about itself. */
type Happening = DistributiveOmit<AuditEvent, 'time' | 'toolsetId' | 'callId' | 'tool'>

const UNCHANGED = '{}'
const FAILED = '{"failed":true}'

export class Host {
  /** The end of every toolset of this host. */
  readonly closing = new Closing()
  readonly #options: HostOptions
  readonly #audit: Audit
  readonly #sayings = new ToolSayings((error) => this.report(error))
  readonly #runs = new Map<string, { readonly run: Run; readonly call: Call }>()
  #toolsetId = ''
  #started = 0
  #calls = 0

  constructor(options: HostOptions) {
    this.#options = options
    this.#audit = Audit.open(options.onEvent, options.auditLog, options.backend, (error) => this.report(error))
  }

  /** For the addon: which hooks there are, so that absent ones cost nothing. */
  get description(): string {
    const { hooks, approve, allowCommand } = this.#options
    const named = (phase: 'pre' | 'post'): string[] =>
      Object.entries(hooks.tools ?? {}).flatMap(([tool, own]) => (own?.[phase] ? [tool] : []))
    return JSON.stringify({
      approver: approve !== undefined,
      commands: allowCommand !== undefined,
      globalPre: hooks.pre !== undefined,
      globalPost: hooks.post !== undefined,
      pre: named('pre'),
      post: named('post'),
    })
  }

  /** Says which toolset this is the host of; once it is made. */
  belongTo(toolsetId: string): void {
    this.#toolsetId = toolsetId
  }

  get hasApprover(): boolean {
    return this.#options.approve !== undefined
  }

  /** The around hooks of a tool, the outermost first. */
  around(tool: string): NonNullable<ToolHooks['around']>[] {
    const { hooks } = this.#options
    return [hooks.around, this.#hooksOf(tool)?.around].filter((hook) => hook !== undefined)
  }

  /** Milliseconds that code of the application around a tool may take. */
  timeoutOf(tool: string): number {
    return this.custom(tool)?.definition.timeoutMs ?? this.#options.callTimeout
  }

  /**
   * Runs `work` with a key under which the core's requests find the call. A call that was interrupted rejects with what
   * interrupted it, whatever the work made of that, and does not run again.
   */
  async withRun<T>(call: Call, work: (run: Run) => Promise<T>, terminal?: Run['terminal']): Promise<T> {
    throwInterruption(call)
    this.#started += 1
    const run: Run = { key: `run-${this.#started}`, ...(terminal ? { terminal } : {}) }
    this.#runs.set(run.key, { run, call })
    try {
      const made = await work(run)
      throwInterruption(call)
      return made
    } catch (error) {
      throwInterruption(call)
      throw error
    } finally {
      this.#runs.delete(run.key)
    }
  }

  /** Whether an error of the application's own code is a signal for the program around. */
  isControlFlow(error: unknown): boolean {
    try {
      return this.#options.isControlFlow?.(error) === true
    } catch (failure) {
      this.report(failure)
      return false
    }
  }

  /** Whether tools that are not there are not shown. */
  get skipsUnavailable(): boolean {
    return this.#options.skipsUnavailable
  }

  /** Whether anybody is told of events. */
  get listens(): boolean {
    return this.#audit.listens
  }

  /** Ends when the audit log holds everything. */
  async flush(): Promise<void> {
    await this.#audit.flush()
  }

  /** Whether a tool of the application is there now, as far as it says so at once. One that cannot say so is not. */
  isAvailable(tool: string): boolean {
    return this.#sayings.isAvailable(this.custom(tool))
  }

  /** The same, waited for. */
  async askAvailable(tool: string): Promise<boolean> {
    return this.#sayings.askAvailable(this.custom(tool))
  }

  /** What tools of the application say for the system prompt now, where that is not fixed. */
  get instructions(): Readonly<Record<string, unknown>> {
    return this.#sayings.instructions(this.#options.tools.values())
  }

  /** Waits for all that tools of the application say of themselves, each no longer than for a call of it. */
  async refresh(signal: AbortSignal | undefined): Promise<void> {
    const { closing } = this
    const asked = Array.from(this.#options.tools.values(), (tool) => {
      const name = `The question what '${tool.name}' says of itself`
      const late = (error: unknown): void => {
        this.#sayings.giveUp(tool)
        this.report(error)
      }
      const bounds = { name, timeoutMs: this.timeoutOf(tool.name), signal, closing }
      return bounded<void>(() => this.#sayings.refresh(tool), late, bounds)
    })
    await Promise.all(asked)
  }

  /** A tool of the application, by our name. */
  custom(tool: string): CustomTool | undefined {
    return this.#options.tools.get(tool)
  }

  /** Tells the application what happened to a call. A listener that fails is no reason to fail the call. */
  tell({ toolsetId, callId, tool, scope }: Call, event: Happening): void {
    if (!this.#audit.listens) return
    try {
      const told = { time: Date.now(), toolsetId, callId, tool, ...event } as AuditEvent
      scope.runInAsyncScope(() => this.#audit.tell(told))
    } catch (error) {
      this.report(error)
    }
  }

  /**
   * Notes what is handed on instead of the input that a call came with, or that it is that one again. As it is now: the
   * application's own object may change later.
   */
  noteInput(call: Call, inputJson: string | undefined): void {
    if (!this.#audit.listens) return
    if (inputJson === undefined) delete call.changed
    else call.changed = { input: JSON.parse(inputJson) as unknown }
  }

  /** No call runs any more that could give its async context. */
  #sessionEnded(ended: SessionEnded): void {
    if (!this.#audit.listens) return
    try {
      this.#audit.tell({ type: 'session-ended', time: Date.now(), toolsetId: this.#toolsetId, ...ended })
    } catch (error) {
      this.report(error)
    }
  }

  /** A name for a call that came without one. */
  nextCallId(toolsetId: string): string {
    this.#calls += 1
    return `${toolsetId}-call-${this.#calls}`
  }

  /** Hands an error that reaches no caller to the application. */
  report(error: unknown): void {
    try {
      if (this.#options.onError) this.#options.onError(error)
      else process.emitWarning(error instanceof Error ? error : String(error))
    } catch (second) {
      process.emitWarning(second instanceof Error ? second : String(second))
    }
  }

  /** For the addon: answers one request. Never rejects. */
  readonly answer = async (requestJson: string): Promise<string> => {
    const request = JSON.parse(requestJson) as
      | Request
      | { readonly type: 'session-ended'; readonly ended: SessionEnded }
    if (request.type === 'session-ended') {
      this.#sessionEnded(request.ended)
      return UNCHANGED
    }
    const found = this.#runs.get(request.callKey)
    if (!found) return FAILED
    const { run, call } = found
    try {
      return await call.scope.runInAsyncScope(() => this.#handle(request, call, run))
    } catch (error) {
      // A hook that fails after another one stands for it before the caller; the other is not lost.
      const earlier = run.failure
      const isHook = request.type === 'pre' || request.type === 'post'
      if (isHook && earlier?.isHook && earlier.error !== error) this.report(earlier.error)
      run.failure = { error, isHook }
      if (this.isControlFlow(error)) call.interruption ??= { error }
      else if (request.type === 'approve' || request.type === 'judge') this.report(error)
      if (request.type !== 'plan' && request.type !== 'run') return FAILED
      if (isWithheld(error) && !call.interruption) this.report(error)
      return JSON.stringify({ failed: true, message: failureText(request.tool, error) })
    }
  }

  async #handle(request: Request, call: Call, run: Run): Promise<string> {
    switch (request.type) {
      case 'pre': {
        const hook = this.#hook(request)?.pre
        const input = await hook?.({ ...shown(call), tool: request.tool, input: request.input })
        if (input === undefined) return UNCHANGED
        const json = encodeJson(input, 'input')
        this.noteInput(call, json)
        return `{"input":${json}}`
      }
      case 'post': {
        const hook = this.#hook(request)?.post
        const result = await hook?.({
          ...shown(call),
          tool: request.tool,
          input: request.input,
          ...ended(request, run),
        })
        if (result === undefined) return UNCHANGED
        return `{"result":${encodeJson(checkResult(result, 'A post hook'), 'result')}}`
      }
      case 'help': {
        run.stop = new AbortController()
        const { signal } = run.stop
        const session = request.request.exists ? run.terminal?.(request.request.sessionId) : undefined
        const help = await this.#options.onHelp?.(request.request, { context: call.context, signal, session })
        if (help == null) return UNCHANGED
        return encodeJson(checkHelp(help), 'help')
      }
      case 'approve': {
        const { context, metadata, signal } = call
        this.tell(call, { type: 'approval-requested', request: request.request })
        const decision = checkDecision(await this.#options.approve?.(request.request, { context, metadata, signal }))
        const { approved, reason, remember } = decision
        const json = encodeJson(decision, 'decision')
        if (approved && decision.input !== undefined) this.noteInput(call, encodeJson(decision.input, 'decision.input'))
        const told = {
          ...(approved && decision.input !== undefined ? { input: decision.input } : {}),
          ...(reason === undefined ? {} : { reason }),
          ...(remember === undefined ? {} : { remember }),
        }
        this.tell(call, { type: 'approval-decided', approved, ...told })
        return `{"decision":${json}}`
      }
      case 'judge':
        return JSON.stringify({ action: checkAction(await this.#options.allowCommand?.(request.analysis)) })
      case 'plan': {
        run.planned = await planCustom(this.#tool(request.tool), request.input)
        return `{"plan":${encodeJson(run.planned.plan, 'plan')}}`
      }
      case 'run': {
        run.stop = new AbortController()
        // A schema of the application's own made the input what the tool takes.
        const input = run.planned && 'value' in run.planned ? run.planned.value : request.input
        const signal = run.stop.signal
        const result = await runCustom(this.#tool(request.tool), input, { ...shown(call), tool: request.tool, signal })
        return `{"result":${JSON.stringify(result)}}`
      }
      case 'stop': {
        const { code, message } = request
        run.stop?.abort(
          code === 'ABORTED' && call.signal?.aborted ? call.signal.reason : errorFromNative({ code, message }),
        )
        return UNCHANGED
      }
    }
  }

  #tool(name: string): CustomTool {
    const tool = this.#options.tools.get(name)
    if (!tool) throw new InvalidInputError(`There is no tool '${name}'.`)
    return tool
  }

  #hook(request: { readonly scope: Scope; readonly tool: string }): ToolHooks | undefined {
    return request.scope === 'global' ? this.#options.hooks : this.#hooksOf(request.tool)
  }

  #hooksOf(tool: string): ToolHooks | undefined {
    const tools: Readonly<Record<string, ToolHooks | undefined>> = this.#options.hooks.tools ?? {}
    return Object.hasOwn(tools, tool) ? tools[tool] : undefined
  }
}

/** Throws what interrupted a call, if anything did. */
export function throwInterruption({ interruption }: Call): void {
  if (interruption) throw interruption.error
}

function shown({ callId, context, metadata, signal }: Call): Omit<HookCall, 'tool'> {
  return { callId, context, metadata, signal }
}
