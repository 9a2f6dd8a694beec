// A tool of the application: what it says about itself. How it is called is for `custom-run.ts`, what may run for the core.

import { checkFunction, checkOptions, describe } from '../encode.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import type { Operation } from '../permissions.js'
import type { HookCall, ToolResult } from './types.js'

/** A Standard Schema (https://standardschema.dev), such as one of zod, valibot or arktype. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardOutcome<Output> | Promise<StandardOutcome<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
    /** Standard JSON Schema; zod has it since 4.2. */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
    }
  }
}

/** What a Standard Schema answers. */
export type StandardOutcome<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

/** Something that is wrong with an input. */
export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** A JSON Schema of an object. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** A path or command that a call touches; the rules judge it as they judge our own tools. */
export type ToolTouch =
  | {
      readonly operation: Exclude<Operation, 'execute'>
      /** Relative or absolute, as the agent sees it. */ readonly path: string
    }
  | { readonly operation: 'execute'; readonly command: string }

/** What a tool's run is told about its call. Its `signal` also ends at the tool's time limit and when the toolset closes. */
export type CustomToolCall = Omit<HookCall, 'signal'> & { readonly signal: AbortSignal }

/** What a run may answer: text for the model, a whole result, or plain data, which the model reads as JSON. */
export type CustomToolAnswer = string | number | boolean | null | undefined | void | object | Partial<ToolResult>

/** What a tool makes of what somebody filled in. Nothing leaves the input as it is. */
export type UserInput =
  | void
  | undefined
  | {
      readonly input?: unknown
      readonly metadata?: Readonly<Record<string, unknown>> | undefined
    }

/** Text for the system prompt. Nothing says nothing. */
export type ToolInstruction = string | { readonly group: string; readonly text: string } | null | undefined

/** What an application says about a tool of its own; `Input` is the input as its schema makes it. */
export interface CustomToolOptions<Input> {
  /** 1 to 64 letters, digits, `_` and `-`, and no name of ours. */
  readonly name: string
  /** What the model reads: what it does, when another tool is better. */
  readonly description: string
  /**
   * Text for the system prompt; of tools that share a `group` the first one speaks. A function is asked whenever `instructions`
   * are read; of one that takes time the last answer counts, see `toolset.refresh`.
   */
  readonly instruction?: ToolInstruction | (() => ToolInstruction | Promise<ToolInstruction>) | undefined
  /**
   * Whether the tool is there now; asked whenever `tools` or `instructions` are read, and before each call. Of one that takes
   * time these show the last answer, and until the first one the tool is not there; see `toolset.refresh`. A call waits for it.
   */
  readonly available?: boolean | (() => boolean | Promise<boolean>) | undefined
  /**
   * What a call touches. Without it a tool that is not `readOnly` may touch anything: it is judged like a command that no
   * rule names, so that it asks where commands ask. `[]` says: nothing that rules speak of.
   */
  readonly touches?:
    | readonly ToolTouch[]
    | ((input: Input) => readonly ToolTouch[] | Promise<readonly ToolTouch[]>)
    | undefined
  /** Whether a call asks, whatever the rules say. */
  readonly needsApproval?: boolean | ((input: Input) => boolean | Promise<boolean>) | undefined
  /** Plain data for whoever is asked: `request.metadata`. */
  readonly approvalMetadata?: object | ((input: Input) => object | Promise<object>) | undefined
  /** One line for whoever is asked: what will happen. Default: name and arguments. */
  readonly describe?: ((input: Input) => string) | undefined
  /** Whether it changes nothing. Default false. */
  readonly readOnly?: boolean | undefined
  /** Whether it can destroy something. Default: what is not `readOnly` can. */
  readonly destructive?: boolean | undefined
  /** Milliseconds that one run may take. Default: `limits.callTimeout` of the toolset. */
  readonly timeoutMs?: number | undefined
  /** What the tool is, in words of the application, for the `supersededBy` of others. */
  readonly tags?: readonly string[] | undefined
  /** Tags: where another available tool of the toolset has one of them, this tool is not there. */
  readonly supersededBy?: readonly string[] | undefined
  /** Whether a subset made with `autoInherit` has the tool without naming it. Default false. */
  readonly autoInherit?: boolean | undefined
  /** Whether no subset may have it. Default false. */
  readonly mainOnly?: boolean | undefined
  /**
   * Takes what somebody filled in before a call goes on, by `toolset.resume`: the input to run with, and what the hooks find
   * in `metadata`. One that throws denies the call.
   */
  readonly processUserInput?: ((input: Input, userInput: unknown) => UserInput | Promise<UserInput>) | undefined
  /** Does it. An error is a result that the model reads, `TOOL_FAILED`. */
  readonly run: (input: Input, call: CustomToolCall) => CustomToolAnswer | Promise<CustomToolAnswer>
}

/** Any definition, its input not known. */
export type CustomToolDefinition = CustomToolOptions<never> & {
  readonly inputSchema: JsonSchema | StandardSchema
  readonly jsonSchema?: JsonSchema | undefined
}

const FUNCTIONS = ['run', 'describe', 'processUserInput'] as const
const TAGS = ['tags', 'supersededBy'] as const
const FLAGS = ['autoInherit', 'mainOnly'] as const
const EITHER = ['available', 'touches', 'needsApproval', 'approvalMetadata'] as const
const FIELDS = new Set<string>([
  ...FUNCTIONS,
  ...EITHER,
  ...TAGS,
  ...FLAGS,
  'name',
  'description',
  'inputSchema',
  'jsonSchema',
  'instruction',
  'readOnly',
  'destructive',
  'timeoutMs',
])

/** A tool of the application, for `createToolset({ tools: ['console', myTool] })`. Made by {@link defineTool}. */
export class CustomTool<Name extends string = string> {
  readonly name: Name
  /** @internal */
  readonly definition: CustomToolDefinition

  /** @internal */
  constructor(definition: CustomToolDefinition) {
    this.name = definition.name as Name
    this.definition = Object.freeze({ ...definition })
    Object.freeze(this)
  }

  /** @internal What the core is told. */
  get spec(): Record<string, unknown> {
    const { name, description, inputSchema, instruction, touches, needsApproval, approvalMetadata, ...rest } =
      this.definition
    const { readOnly, destructive, timeoutMs, describe } = rest
    const validates = isStandard(inputSchema)
    const dynamic = [touches, needsApproval, approvalMetadata, describe].some((value) => typeof value === 'function')
    return {
      name,
      description,
      inputSchema: this.#jsonSchema(),
      decodedBy: validates ? 'application' : 'schema',
      instruction: typeof instruction === 'function' ? undefined : instructionOf(instruction),
      readOnly,
      destructive,
      timeoutMs,
      plans: validates || dynamic,
      plansTouches: typeof touches === 'function',
      touches: typeof touches === 'function' ? undefined : touches,
      needsApproval: typeof needsApproval === 'function' ? undefined : needsApproval,
      approvalMetadata: typeof approvalMetadata === 'function' ? undefined : approvalMetadata,
    }
  }

  #jsonSchema(): JsonSchema {
    const { name, inputSchema, jsonSchema } = this.definition
    if (jsonSchema !== undefined) return jsonSchema
    if (!isStandard(inputSchema)) return inputSchema
    const made = inputSchema['~standard'].jsonSchema?.input({ target: 'draft-2020-12' })
    if (made === undefined) {
      throw new InvalidInputError(
        `The schema of '${name}' has no JSON Schema for the model: give it as \`jsonSchema\` beside \`inputSchema\`.`,
      )
    }
    // Libraries mark what they make with symbols and functions of their own.
    return JSON.parse(JSON.stringify(made)) as JsonSchema
  }
}

/**
 * A tool of the application that goes the way of every other: its input is held to its schema, rules judge what it says that
 * it touches, somebody is asked where they ask, hooks and audit see it, and its run has a time limit and its text a bound.
 *
 * `inputSchema` is a JSON Schema, or a Standard Schema (zod, valibot, arktype), whose output `run` is given.
 *
 * @example
 * const weather = defineTool({
 *   name: 'weather',
 *   description: 'The weather of a city.',
 *   inputSchema: z.object({ city: z.string() }),
 *   readOnly: true,
 *   run: async ({ city }, { signal }) => (await fetch(`https://wttr.in/${city}?format=3`, { signal })).text(),
 * })
 * const toolset = createToolset({ backend, tools: ['console', weather] })
 *
 * @throws {InvalidInputError} a field has the wrong type or is not known
 */
export function defineTool<Output>(
  options: CustomToolOptions<Output> & {
    readonly inputSchema: StandardSchema<Output>
    /** JSON Schema for the model, where `inputSchema` does not carry one. */
    readonly jsonSchema?: JsonSchema | undefined
  },
): CustomTool
export function defineTool<Input extends object = Record<string, unknown>>(
  options: CustomToolOptions<Input> & { readonly inputSchema: JsonSchema },
): CustomTool
export function defineTool(options: CustomToolDefinition): CustomTool {
  const given = checkOptions(options, 'tool') as CustomToolDefinition
  for (const field of Object.keys(given)) {
    if (!FIELDS.has(field)) {
      throw new InvalidInputError(`\`tool.${field}\`: a tool has no such field. There are ${[...FIELDS].join(', ')}.`)
    }
  }
  for (const field of ['name', 'description'] as const) {
    if (typeof given[field] !== 'string' || given[field] === '')
      throw new InvalidInputError(`\`tool.${field}\` must be a string, not ${describe(given[field])}.`)
  }
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(given.name)) {
    throw new InvalidInputError('`tool.name` must be 1 to 64 letters, digits, `_` and `-`.')
  }
  const { inputSchema } = given
  if ((typeof inputSchema !== 'object' && typeof inputSchema !== 'function') || inputSchema === null) {
    throw new InvalidInputError(
      `\`tool.inputSchema\` must be a JSON Schema or a Standard Schema, not ${describe(inputSchema)}.`,
    )
  }
  if (checkFunction(given.run, 'tool.run') === undefined) throw new InvalidInputError('`tool.run` is missing.')
  checkFunction(given.describe, 'tool.describe')
  checkFunction(given.processUserInput, 'tool.processUserInput')
  for (const field of TAGS) {
    const tags: unknown = given[field] ?? []
    if (!Array.isArray(tags) || tags.some((tag) => typeof tag !== 'string'))
      throw new InvalidInputError(`\`tool.${field}\` must be an array of strings.`)
  }
  for (const field of FLAGS) {
    if (typeof (given[field] ?? false) !== 'boolean')
      throw new InvalidInputError(`\`tool.${field}\` must be true or false, not ${describe(given[field])}.`)
  }
  return new CustomTool(given)
}

/** What the core is told of an instruction. */
export function instructionOf(instruction: ToolInstruction): { group?: string; text: string } | undefined {
  if (typeof instruction === 'string') return { text: instruction }
  return instruction ?? undefined
}

/** Whether a schema validates by itself. */
export function isStandard(schema: JsonSchema | StandardSchema): schema is StandardSchema {
  const standard = (schema as Partial<StandardSchema>)['~standard']
  return typeof standard?.validate === 'function'
}
