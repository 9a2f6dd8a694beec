// The terminal tools as methods, for programs.

import { createToolset } from './toolset/create-toolset.js'
import type { Toolset } from './toolset/toolset.js'
import type { CallOptions, ToolResult, ToolsetOptions } from './toolset/types.js'

/** What {@link Terminals} takes: what a toolset does, except for the choice of tools. */
export type TerminalsOptions = Omit<ToolsetOptions, 'tools' | 'names' | 'profile' | 'descriptions' | 'editFormat'>

export interface TerminalExecOptions extends CallOptions {
  /** Whether to wait for the end; default true. */
  readonly block?: boolean | undefined
  /** Milliseconds to wait; then the command goes on in its session. Default 20,000. */
  readonly timeout?: number | undefined
  /** Where a new session begins. */
  readonly cwd?: string | undefined
}

/**
 * The tools of the group `terminal` as methods, with the same rules, approvals and hooks: shells on terminals, one a
 * session, that keep directory, variables and history from call to call.
 *
 * @example
 * await using terminals = new Terminals({ backend, requireExecuteApproval: false })
 * await terminals.exec('main', 'cd src')
 * const { text } = await terminals.exec('main', 'pwd')
 */
export class Terminals {
  readonly #toolset: Toolset

  constructor(options: TerminalsOptions) {
    this.#toolset = createToolset({ ...options, tools: ['terminal'] })
  }

  /** Runs a command in the shell of a session. */
  async exec(id: string, command: string, options: TerminalExecOptions = {}): Promise<ToolResult> {
    const { block, timeout, cwd, ...call } = options
    const seconds = timeout === undefined ? undefined : timeout / 1_000
    return this.#toolset.call('shell_exec', defined({ id, command, block, timeout: seconds, cwd }), call)
  }

  /** What a session printed since the last look; `wait` is milliseconds. */
  async view(id: string, options: CallOptions & { readonly wait?: number | undefined } = {}): Promise<ToolResult> {
    const { wait, ...call } = options
    return this.#toolset.call('shell_view', defined({ id, wait: wait === undefined ? undefined : wait / 1_000 }), call)
  }

  /** Types text and a return (unless `enter` is false), then presses keys. */
  async write(
    id: string,
    text: string | undefined,
    options: CallOptions & { readonly enter?: boolean | undefined; readonly keys?: readonly string[] | undefined } = {},
  ): Promise<ToolResult> {
    const { enter, keys, ...call } = options
    return this.#toolset.call('shell_write_to_process', defined({ id, command: text, enter, keys }), call)
  }

  /** Ends a session with all its processes. */
  async kill(id: string, options?: CallOptions): Promise<ToolResult> {
    return this.#toolset.call('shell_kill_process', { id }, options)
  }

  /** What a session shows; `data` is a `TerminalScreen`. With `image` its first part is a PNG of it. */
  async screen(id: string, options: CallOptions & { readonly image?: boolean | undefined } = {}): Promise<ToolResult> {
    const { image, ...call } = options
    return this.#toolset.call('shell_screen', defined({ id, image }), call)
  }

  /** Gives a session another size. */
  async resize(id: string, columns: number, rows: number, options?: CallOptions): Promise<ToolResult> {
    return this.#toolset.call('shell_resize', { id, columns, rows }, options)
  }

  /** The sessions. */
  async list(options?: CallOptions): Promise<ToolResult> {
    return this.#toolset.call('shell_list', {}, options)
  }

  /** Hands a session to a person; see `onHelp`. */
  async askForHelp(id: string, prompt: string, options?: CallOptions): Promise<ToolResult> {
    return this.#toolset.call('shell_ask_user_for_help', { id, prompt }, options)
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    await this.#toolset.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function defined(input: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
}
