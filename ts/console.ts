// The bundle of tools, their text and their rules that an agent's program hands on as one thing.

import { checkFunction, checkOptions } from './encode.js'
import { InvalidInputError } from './errors/invalid-input-error.js'
import type { Operation, PermissionAsker } from './permissions.js'
import { createToolset } from './toolset/create-toolset.js'
import type { DataOf } from './toolset/data.js'
import type { Toolset } from './toolset/toolset.js'
import type {
  Assessment,
  AssessOptions,
  CallOptions,
  ToolName,
  ToolResult,
  ToolsetOptions,
  ToolSpec,
} from './toolset/types.js'

/** What {@link ConsoleCapability} takes: a toolset's options, with a question for each path or command instead of requests. */
export interface ConsoleCapabilityOptions extends Omit<ToolsetOptions, 'approve' | 'approvalMode'> {
  /** Asked about each path and command of a call that needs a yes. Nothing but `true` is one. */
  readonly ask?: PermissionAsker | undefined
  /** Without `ask`: a call that needs a yes rejects with `ApprovalRequiredError`, or is denied. Default `error`. */
  readonly withoutAsk?: 'error' | 'deny' | undefined
}

/** The operation whose rules judge a tool of ours. */
const OPERATIONS: Readonly<Partial<Record<string, Operation>>> = Object.freeze({
  ls: 'ls',
  read_file: 'read',
  write_file: 'write',
  edit_file: 'edit',
  hashline_edit: 'edit',
  delete_file: 'delete',
  glob: 'glob',
  grep: 'grep',
  execute: 'execute',
  run_in_background: 'execute',
  read_output: 'execute',
  kill_shell: 'execute',
  list_shells: 'execute',
} satisfies Partial<Record<ToolName, Operation>>)

/**
 * Console tools, the text that tells a model of them, and the rules that every call is held to, as one object.
 *
 * @example
 * const capability = new ConsoleCapability({ backend, permissions: 'default', ask: async (operation, target) => confirm(target) })
 * const { text } = await capability.call('read_file', { path: 'README.md' })
 *
 * @throws {InvalidInputError} an option has the wrong type or value, or is not known
 */
export class ConsoleCapability {
  readonly toolset: Toolset

  constructor(options: ConsoleCapabilityOptions) {
    const { ask, withoutAsk = 'error', ...rest } = checkOptions(options) as ConsoleCapabilityOptions
    if (withoutAsk !== 'error' && withoutAsk !== 'deny')
      throw new InvalidInputError("`options.withoutAsk` must be 'error' or 'deny'.")
    for (const name of ['approve', 'approvalMode'] as const) {
      if (name in rest)
        throw new InvalidInputError(`\`options.${name}\` is not known; give \`ask\` and \`withoutAsk\`.`)
    }
    const asked = checkFunction(ask, 'ask')
    this.toolset = createToolset({
      ...rest,
      ...(asked === undefined && withoutAsk === 'deny' ? { approvalMode: 'strict' as const } : {}),
      ...(asked === undefined
        ? {}
        : {
            approve: async ({ touches, tool, reason }) => {
              const targets = touches.length > 0 ? touches : [{ operation: 'execute' as const, target: tool }]
              for (const { operation, target } of targets) {
                if ((await asked(operation, target, reason)) !== true) return { approved: false }
              }
              return { approved: true }
            },
          }),
    })
  }

  /** The tools that a model may be given now: what the rules deny altogether is not among them. */
  get tools(): readonly ToolSpec[] {
    return this.toolset.tools
  }

  /** For the system prompt. */
  get instructions(): string {
    return this.toolset.instructions
  }

  /** The operation whose rules judge a tool; undefined for what is no console tool. */
  operationOf(tool: string): Operation | undefined {
    return Object.hasOwn(OPERATIONS, tool) ? OPERATIONS[tool] : undefined
  }

  /** Whether a call would run, and why not; nobody is asked. */
  async check(tool: string, input: unknown, options?: AssessOptions): Promise<Assessment> {
    return this.toolset.assess(tool, input, options)
  }

  /** See {@link Toolset.call}. */
  async call<Name extends string>(
    tool: Name,
    input: unknown,
    options?: CallOptions,
  ): Promise<ToolResult<DataOf<Name>>> {
    return this.toolset.call(tool, input, options)
  }

  /** Closes the toolset; the backend stays open. */
  async close(): Promise<void> {
    await this.toolset.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
