// The terminal tools as methods, for programs.

import { checkKnown, checkMilliseconds, checkOptions } from './encode.js'
import { InvalidInputError } from './errors/invalid-input-error.js'
import type { TerminalScreen } from './backend/terminal-session.js'
import { createToolset } from './toolset/create-toolset.js'
import type {
  SessionData,
  ShellEntry,
  ShellExecData,
  ShellHelpData,
  ShellResizeData,
  ShellViewData,
} from './toolset/data.js'
import type { Toolset } from './toolset/toolset.js'
import type { CallOptions, ToolResult, ToolsetOptions } from './toolset/types.js'

/** What {@link Terminals} takes: what a toolset does, except for the choice of tools. */
export type TerminalsOptions = Omit<ToolsetOptions, 'tools' | 'names' | 'profile' | 'descriptions' | 'editFormat'>

/** What may be said about one call. There is no `onOutput`: a session prints on when the call is over, and `view` tells what. */
export type TerminalCallOptions = Omit<CallOptions, 'onOutput'>

export interface TerminalExecOptions extends TerminalCallOptions {
  /** Whether to wait for the end; default true. */
  readonly block?: boolean | undefined
  /** Milliseconds to wait; then the command goes on in its session. Default 20,000. */
  readonly timeout?: number | undefined
  /** Where a new session begins. */
  readonly cwd?: string | undefined
  /** Variables of a new session, on top of the backend's. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Columns of a new session, from 4 to 500; default 120. */
  readonly columns?: number | undefined
  /** Rows of a new session, from 2 to 500; default 40. */
  readonly rows?: number | undefined
}

export interface TerminalViewOptions extends TerminalCallOptions {
  /** Milliseconds to wait for new output or the end; default 0, which does not wait. */
  readonly wait?: number | undefined
}

export interface TerminalWriteOptions extends TerminalCallOptions {
  /** Whether a return follows the text; default true. */
  readonly enter?: boolean | undefined
  /** Keys to press after the text: `enter`, `tab`, `escape`, `up`, `ctrl-c`, `alt-x`, `f5`, or single characters. */
  readonly keys?: readonly string[] | undefined
}

export interface TerminalScreenOptions extends TerminalCallOptions {
  /** Whether a PNG of it comes along; default false. */
  readonly image?: boolean | undefined
  /** Whether the text is that of the lines that changed since the last look, with their numbers; default false. `data` is as ever. */
  readonly changes?: boolean | undefined
}

/**
 * The tools of the group `terminal` as methods, with the same rules, approvals and hooks: shells on terminals, one a
 * session, that keep directory, variables and history from call to call. A failure that a model could act on is a result with
 * `isError`; an option that is not known, and a time that is none, reject with `InvalidInputError`. A backend that opens no
 * terminals throws `UnsupportedError` here.
 *
 * @example
 * await using terminals = new Terminals({ backend, requireExecuteApproval: false })
 * await terminals.exec('main', 'cd src')
 * const { text } = await terminals.exec('main', 'pwd')
 */
export class Terminals {
  readonly #toolset: Toolset

  constructor(options: TerminalsOptions) {
    // The tool by its name, too: of a group only what a backend can run is there, and what cannot run at all is to be told here.
    this.#toolset = createToolset({ ...options, tools: ['terminal', 'shell_exec'] })
  }

  /**
   * Runs a command in the shell of a session, and opens it where it is not open. One that is open is not opened anew: `cwd` is
   * refused then, and so are `env`, `columns` and `rows` that are not those it has.
   */
  async exec(id: string, command: string, options?: TerminalExecOptions): Promise<ToolResult<ShellExecData>> {
    const given = checkCall(options, ['block', 'timeout', 'cwd', 'env', 'columns', 'rows'])
    const { block, timeout, cwd, env, columns, rows, ...call } = given
    const input = defined({ id, command, block, timeout: seconds(timeout, 'timeout'), cwd })
    return this.#toolset.callOpening('shell_exec', input, call, defined({ env, columns, rows }))
  }

  /** What a session printed since the last look. */
  async view(id: string, options?: TerminalViewOptions): Promise<ToolResult<ShellViewData>> {
    const { wait, ...call } = checkCall(options, ['wait'])
    return this.#toolset.call('shell_view', defined({ id, wait: seconds(wait, 'wait') }), call)
  }

  /** Types text and a return (unless `enter` is false), then presses keys. */
  async write(
    id: string,
    text: string | undefined,
    options?: TerminalWriteOptions,
  ): Promise<ToolResult<ShellViewData>> {
    const { enter, keys, ...call } = checkCall(options, ['enter', 'keys'])
    return this.#toolset.call('shell_write_to_process', defined({ id, command: text, enter, keys }), call)
  }

  /** Ends a session with all its processes. */
  async kill(id: string, options?: TerminalCallOptions): Promise<ToolResult<SessionData>> {
    return this.#toolset.call('shell_kill_process', { id }, checkCall(options))
  }

  /** What a session shows; `data` is a `TerminalScreen`. With `image` its first part is a PNG of it. */
  async screen(id: string, options?: TerminalScreenOptions): Promise<ToolResult<TerminalScreen>> {
    const { image, changes, ...call } = checkCall(options, ['image', 'changes'])
    return this.#toolset.call('shell_screen', defined({ id, image, changes }), call)
  }

  /** Gives a session another size. */
  async resize(
    id: string,
    columns: number,
    rows: number,
    options?: TerminalCallOptions,
  ): Promise<ToolResult<ShellResizeData>> {
    return this.#toolset.call('shell_resize', { id, columns, rows }, checkCall(options))
  }

  /** The sessions. */
  async list(options?: TerminalCallOptions): Promise<ToolResult<readonly ShellEntry[]>> {
    return this.#toolset.call('shell_list', {}, checkCall(options))
  }

  /** Hands a session to a person; see `onHelp`. */
  async askForHelp(id: string, prompt: string, options?: TerminalCallOptions): Promise<ToolResult<ShellHelpData>> {
    return this.#toolset.call('shell_ask_user_for_help', { id, prompt }, checkCall(options))
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    await this.#toolset.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/** The options of a method that has `own` ones, or an error. */
function checkCall<T extends TerminalCallOptions>(
  options: T | undefined,
  own: readonly (keyof T & string)[] = [],
): Partial<T> {
  const { onOutput, ...given } = checkOptions<object>(options) as Partial<T> & { readonly onOutput?: unknown }
  if (onOutput !== undefined && onOutput !== null) {
    throw new InvalidInputError(
      '`options.onOutput` is not there for terminals: a session prints on when the call is over. `view` tells what is new.',
    )
  }
  return checkKnown(given as Partial<T>, [...own, 'callId', 'signal', 'context', 'approval'])
}

/** The tools count in seconds. */
function seconds(milliseconds: unknown, name: string): number | undefined {
  const checked = checkMilliseconds(milliseconds, name)
  return checked === undefined ? undefined : checked / 1_000
}

/** What is absent, or null, is the tool's default. */
function defined(input: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined && value !== null))
}
