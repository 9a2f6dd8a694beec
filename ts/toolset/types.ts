// What a toolset takes and gives. The tools themselves, their schemas and their texts live in the core.

import type { ApprovalGrant, ApprovalRequest, Approver } from '../approval/types.js'
import type { TerminalSession } from '../backend/terminal-session.js'
import type { Backend } from '../backend/types.js'
import type { UserBackend } from '../backend/user-types.js'
import type { GloveportError } from '../errors/gloveport-error.js'
import type { ErrorCode } from '../errors/error-code.js'
import type { Limits } from '../limits.js'
import type { OnOutput } from '../output.js'
import type { Action, CommandAnalysis, PermissionRuleset, PresetName } from '../permissions.js'
import type { CustomTool } from './custom-tool.js'
import type { Subagents } from './subagents.js'
import type { AuditEvent } from './events.js'
import type { StandardProps } from './standard-schema.js'

/** Every tool, by our own names. */
export const TOOL_NAMES = [
  'ls',
  'read_file',
  'write_file',
  'edit_file',
  'hashline_edit',
  'glob',
  'grep',
  'find_files',
  'mkdir',
  'delete_file',
  'move_file',
  'copy_file',
  'execute',
  'run_in_background',
  'read_output',
  'shell_input',
  'kill_shell',
  'list_shells',
  'shell_exec',
  'shell_view',
  'shell_write_to_process',
  'shell_kill_process',
  'shell_ask_user_for_help',
  'shell_screen',
  'shell_list',
  'shell_resize',
] as const

/** The name of a tool. */
export type ToolName = (typeof TOOL_NAMES)[number]

/**
 * A named set of tools. `console` (the default): files and commands. `files`: files, and the tools that arrange them.
 * `background`: commands that run on while the conversation does. `terminal`: shells on terminals that last from call to
 * call, and interactive programs in them.
 */
export type ToolGroup = 'console' | 'files' | 'background' | 'terminal'

/** What a model asks a person for, by `shell_ask_user_for_help`. The model chose `prompt`, programs chose `screen`. */
export interface HelpRequest {
  readonly sessionId: string
  readonly prompt: string
  /** What the session shows; without control characters. Empty where there is no such session. */
  readonly screen: string
  /** Whether there is a session of that id. Without one the answer is run as a command in a new one. */
  readonly exists: boolean
  /** Whether a shell runs the answer as a command: it is shown to the model then, so it must be no password. */
  readonly runsAnswer: boolean
}

/** Of the call that asks for help. */
export interface HelpCall extends Pick<HookCall, 'context' | 'signal'> {
  /** The session, to show it and to type into it; absent where there is none. Do not hold it: what is held does not end. */
  readonly session: TerminalSession | undefined
}

/** The person worked in the session themselves, and has given it back. */
export interface TookOver {
  readonly tookOver: true
}

/**
 * Asks a person. What they answer is typed into the session; nothing means that nobody is there. Until it answers, the model's
 * calls type nothing into the session. `terminalTakeover()` makes one.
 */
export type HelpHandler = (
  request: HelpRequest,
  call: HelpCall,
) => Promise<string | TookOver | null | undefined> | string | TookOver | null | undefined

/** What models are told of a tool instead of our words. What it takes and does stays as it is. */
export interface ToolText {
  /** What the tool does; ours when absent. */
  readonly description?: string | undefined
  /** What each argument is, by its name; an argument that the tool does not have is an error. */
  readonly args?: Readonly<Record<string, string>> | undefined
  /** What the tool answers; told at the end of the description. */
  readonly returns?: string | undefined
}

/** What `createToolset` takes. `Own` are the names of the application's own tools. */
export interface ToolsetOptions<Own extends string = never> {
  /** Where the tools work: a backend, or an object of yours with the methods that it can offer. The toolset never closes it. */
  readonly backend: Backend | UserBackend
  /** Tools, groups, and tools of the application's own; default `['console']`. A tool of a group that the backend cannot run is left out. */
  readonly tools?: readonly (ToolName | ToolGroup | CustomTool<Own>)[] | undefined
  /**
   * Names the toolset in events and in the ids of its calls: 1 to 64 letters, digits, `_` and `-`. Default: one that is unique
   * within the process.
   */
  readonly id?: string | undefined
  /**
   * Whether `tools` leaves out tools of the application that are not there now; default true. With false the list stays the
   * same, as caches of prompts like it, and a call of such a tool is a result that says so.
   */
  readonly skipUnavailable?: boolean | undefined
  /**
   * Agents that the model can hand tasks to, each a tool; see {@link Subagents}. What they may do is for the rules, approvals,
   * hooks and limits of this toolset.
   */
  readonly subagents?: Subagents | undefined
  /** `hashline`: `hashline_edit` instead of `edit_file`. Default `str_replace`. */
  readonly editFormat?: 'str_replace' | 'hashline' | undefined
  /** Rules. Without them files can be written and commands ask. */
  readonly permissions?: PresetName | PermissionRuleset | undefined
  /** Whether writes ask; default false. Used only without `permissions`. */
  readonly requireWriteApproval?: boolean | undefined
  /** Whether commands ask; default true. Used only without `permissions`. */
  readonly requireExecuteApproval?: boolean | undefined
  /** Tools that always ask. */
  readonly needApproval?: readonly (ToolName | NoInfer<Own>)[] | undefined
  /**
   * Tools whose asks are answered with a yes beforehand. What is denied stays denied, and a `strict` toolset strict. None of
   * them may stand in `needApproval`.
   */
  readonly preApproved?: readonly (ToolName | NoInfer<Own>)[] | undefined
  /** Command prefixes that may run, such as `git status`; an empty list allows none. */
  readonly allowedCommands?: readonly string[] | undefined
  /**
   * The policy for commands, instead of ours: the deny list, the walls of `cd`, the question about what is not resolved and
   * the default for commands stand back. Patterns of `permissions` do not: what they deny for the command, or for a file that
   * it names, stays denied, and what they ask about is asked. Our own verdict is `analysis.verdict`. A command that was not
   * parsed is asked about at best. One that throws, or answers something else, denies. Not together with `allowedCommands`.
   */
  readonly allowCommand?: ((analysis: CommandAnalysis) => Action | Promise<Action>) | undefined
  /** Who is asked. Without one, a call that needs an approval rejects with `ApprovalRequiredError`. */
  readonly approve?: Approver | undefined
  /** `approve-all`: every ask is a yes. `strict`: every ask is a no. Default `interactive`: `approve` is asked. */
  readonly approvalMode?: 'interactive' | 'approve-all' | 'strict' | undefined
  /**
   * How requests of calls that run at once reach `approve`. `one-by-one` (the default): the next one when the last one is
   * answered, so that a person reads one thing at a time. `together`: each at once, for an interface that shows many.
   */
  readonly approvalOrder?: 'one-by-one' | 'together' | undefined
  /** Who is asked by `shell_ask_user_for_help`. Without one the model is told that nobody is there. */
  readonly onHelp?: HelpHandler | undefined
  /**
   * Where terminal sessions are logged: in an existing folder of this machine, a new file a session, up to `maxBytes` each (default
   * 64 MiB), as text without escapes, or with `asciicast` (default false) as recordings (asciicast v2). Default: nowhere.
   */
  readonly sessionLogs?:
    | { readonly directory: string; readonly asciicast?: boolean; readonly maxBytes?: number }
    | undefined
  /** Code of the application around every call. */
  readonly hooks?: Hooks<NoInfer<Own>> | undefined
  /** Is told what happens; see {@link AuditEvent}. */
  readonly onEvent?: ((event: AuditEvent) => void) | undefined
  /**
   * A file of this machine to which every event is appended as a line of JSON, readable by its owner only. Keep it where the
   * agent cannot write. It never holds a call up: a record that cannot be written is counted, and `onError` told.
   */
  readonly auditLog?: string | undefined
  /** Is told of errors that reach no caller: of an approver, of `onEvent`, and those that an adapter hides from the model. Default: a warning of the process. */
  readonly onError?: ((error: unknown) => void) | undefined
  /**
   * Which errors of the application's own code (tools, hooks, approver) are no failures but signals for the program around, such
   * as the interrupt of a framework. `call`, `answer`, `assess` and `resume` reject with them as they are, and with them the
   * tools of adapters: no hook makes a result of one, no model reads of it, and a call that it ended runs no further.
   *
   * @example
   * createToolset({ backend, tools: [handOver], isControlFlow: isGraphInterrupt }) // of @langchain/langgraph
   */
  readonly isControlFlow?: ((error: unknown) => boolean) | undefined
  /** Whether searches skip hidden names unless the model asks for them; default true. */
  readonly ignoreHidden?: boolean | undefined
  /** Whether images and PDF documents are handed to the model; default true. An image with more than 1,568 pixels on its long edge is scaled to that; `maxBytes` (default 10 MiB) is held against what is handed over. Documents take up to 20 MiB. */
  readonly images?: boolean | { readonly maxBytes: number } | undefined
  /**
   * How much models are told of our tools. `coding` (default): all of it, with limits and when another tool is better. `agent`:
   * the first sentence of each, for agents to whom files are one matter among many. Arguments and your own tools are told whole.
   */
  readonly profile?: 'coding' | 'agent' | undefined
  /** Words instead of ours: a description, or one with words for arguments and for what is returned. */
  readonly descriptions?: Readonly<Partial<Record<ToolName, string | ToolText>>> | undefined
  /** Names that the model sees instead of ours. */
  readonly names?: Readonly<Partial<Record<ToolName, string>>> | undefined
  /** Consecutive fixable failures of one tool before its text tells the model to stop trying; default 3. */
  readonly maxRetries?: number | undefined
  /** Bounds that differ from the defaults. */
  readonly limits?: Limits | undefined
}

/** What a framework needs to know about a tool. It is also a Standard Schema and a Standard JSON Schema of the input. */
export interface ToolSpec {
  /** The name that the model calls. */
  readonly name: string
  /** What the model reads. */
  readonly description: string
  /** JSON Schema (draft-07 subset without `$ref`, closed) of the input. */
  readonly inputSchema: JsonSchemaObject
  /** Hints in the terms of the Model Context Protocol. */
  readonly annotations: { readonly readOnlyHint: boolean; readonly destructiveHint: boolean }
  readonly '~standard': StandardProps
}

/** The JSON Schema of an object. */
export interface JsonSchemaObject {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly required?: readonly string[]
  /** `false`, unless a tool of the application says otherwise. */
  readonly additionalProperties: boolean | Readonly<Record<string, unknown>>
  readonly [keyword: string]: unknown
}

/** What the caller says about one call. */
export interface CallOptions {
  /** Names the call in events, approvals and hooks; one is made when absent. */
  readonly callId?: string | undefined
  /** Ends the call; it rejects with `AbortError`, what was done until then in `details`. */
  readonly signal?: AbortSignal | undefined
  /** Handed to hooks and approver as it is. */
  readonly context?: unknown
  /** Somebody's answer that was given elsewhere. */
  readonly approval?: ApprovalGrant | undefined
  /** Takes output of a command as it comes. */
  readonly onOutput?: OnOutput | undefined
}

/** What `subset` takes besides names. */
export interface SubsetOptions {
  /** Whether tools of the application that are `autoInherit` come along unnamed; default false. */
  readonly autoInherit?: boolean | undefined
}

/** What `refresh` takes. */
export type RefreshOptions = Pick<CallOptions, 'signal'>

/** What was approved for the session. */
export interface RememberedApproval {
  readonly tool: string
  readonly input: unknown
}

/** A call that waits for somebody, such as one that rejected with `ApprovalRequiredError`. */
export type PendingCall = Pick<ApprovalRequest, 'callId' | 'tool' | 'input'>

/** What somebody answered to a {@link PendingCall}. */
export interface PendingAnswer {
  readonly callId: string
  readonly approved: boolean
  /** Why; the model reads it. */
  readonly reason?: string | undefined
  /** Another input to run instead; it is decided afresh. */
  readonly input?: unknown
  /** What somebody filled in, for the `processUserInput` of the tool, which makes it the input. */
  readonly userInput?: unknown
}

/** What `resume` takes besides calls and answers. */
export type ResumeOptions = Pick<CallOptions, 'context' | 'signal'>

/** What `assess` takes besides tool and input. */
export type AssessOptions = Pick<CallOptions, 'callId' | 'signal'>

/** The answer to one call. */
export interface ToolResult<Data = unknown> {
  /** What the model reads. */
  readonly text: string
  /** Whether the call failed; `text` then says what would work. */
  readonly isError: boolean
  /** Why it failed. */
  readonly code?: ErrorCode
  /**
   * Facts for programs; the shape is the tool's own ({@link ToolData}). A failure may hold what its error says
   * there, in another shape: look at `isError` first. A post hook may put its own in their place.
   */
  readonly data?: Data
  /** Images and documents, for models that take them. */
  readonly parts?: readonly Part[]
  /** Whether `text` leaves something out. */
  readonly truncated: boolean
}

/** Content that is not text. */
export type Part =
  | { readonly type: 'image'; readonly mediaType: string; /** Base64. */ readonly data: string }
  | { readonly type: 'file'; readonly mediaType: string; /** Base64. */ readonly data: string; readonly name: string }

/** What `assess` says of a call. */
export type Assessment =
  | { readonly status: 'allowed'; readonly reason?: string; readonly request: ApprovalRequest }
  | { readonly status: 'needs-approval'; readonly reason: string; readonly request: ApprovalRequest }
  | { readonly status: 'blocked'; readonly reason: string; readonly code: ErrorCode }

/** What every hook is told. */
export interface HookCall {
  readonly callId: string
  /** Our own name of the tool, whatever the model calls it. */
  readonly tool: string
  /** The caller's own object, as `call` was given it. */
  readonly context: unknown
  /** One object that all hooks of a call share; empty at its start. */
  readonly metadata: Record<string, unknown>
  readonly signal: AbortSignal | undefined
}

/** Before the call is decided. What it returns is the new input; nothing leaves the input as it is. Throwing refuses: the error reaches the caller of `call` as itself. */
export type PreHook = (call: HookCall & { readonly input: unknown }) => unknown

/** How a call ended. */
export type Ended =
  | { readonly result: ToolResult; readonly error?: undefined }
  | { readonly result?: undefined; readonly error: GloveportError | Error }

/** After the call, also when it failed. What it returns is the new result. */
export type PostHook = (
  call: HookCall & { readonly input: unknown } & Ended,
) => Promise<ToolResult | undefined | void> | ToolResult | undefined | void

/** What `next` may be given to run the call differently. */
export interface NextOptions {
  /** Instead of the call's input. */
  readonly input?: unknown
  /** Ends this run, besides the call's own signal. */
  readonly signal?: AbortSignal | undefined
}

/** Runs the call, hooks included. May be called more than once, for retries. */
export type Next = (options?: NextOptions) => Promise<ToolResult>

/** Around the whole call: timeouts, retries, tracing. */
export type AroundHook = (call: HookCall & { readonly input: unknown }, next: Next) => Promise<ToolResult>

/** Hooks of one tool. */
export interface ToolHooks {
  readonly pre?: PreHook | undefined
  readonly post?: PostHook | undefined
  readonly around?: AroundHook | undefined
}

/** Hooks of every tool, and of single tools by our own names. Order: around, then the tool's around; within them pre, the tool's pre, the run, the tool's post, post. */
export interface Hooks<Own extends string = never> extends ToolHooks {
  readonly tools?: Readonly<Partial<Record<ToolName | Own, ToolHooks>>> | undefined
  /** Whether `post` also runs where a pre hook threw, with what it threw as `error`; default false. */
  readonly alwaysPost?: boolean | undefined
}
