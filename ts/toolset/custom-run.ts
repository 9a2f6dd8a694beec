// Calls the functions of a custom tool: what a call will do, and the run. What they answer is checked here, because whatever
// it is, it must end up as plain data for the core.

import { describe, encodeJson } from '../encode.js'
import { GloveportError } from '../errors/gloveport-error.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { type CustomTool, type CustomToolCall, isStandard, type StandardIssue } from './custom-tool.js'
import type { ToolResult } from './types.js'

/** 1,000 characters of an error's message. */
const MESSAGE_CHARS = 1_000

/** An input as a tool's schema made it, and what the tool says of the call. */
export interface Planned {
  readonly value?: unknown
  readonly plan: Readonly<Record<string, unknown>>
}

/** Decodes an input with the tool's own schema, and asks the tool what the call will do. */
export async function planCustom(tool: CustomTool, input: unknown): Promise<Planned> {
  const { inputSchema, touches, needsApproval, approvalMetadata, describe: describeCall } = tool.definition
  let value = input
  if (isStandard(inputSchema)) {
    const outcome = await inputSchema['~standard'].validate(input)
    if (outcome.issues) return { plan: { issues: outcome.issues.map(issueText) } }
    value = outcome.value
  }
  // The schema made it what the functions take.
  const given = value as never
  const plan = {
    decoded: value === input ? undefined : plainData(value),
    touches: typeof touches === 'function' ? await touches(given) : undefined,
    needsApproval: typeof needsApproval === 'function' ? checkBoolean(await needsApproval(given)) : false,
    approvalMetadata: typeof approvalMetadata === 'function' ? await approvalMetadata(given) : undefined,
    description: describeCall?.(given),
  }
  return { value, plan }
}

/** What JSON tells of a value that a schema made; undefined where it tells nothing. */
function plainData(value: unknown): unknown {
  try {
    const plain: unknown = JSON.parse(JSON.stringify(value))
    encodeJson(plain, 'input')
    return plain
  } catch {
    return undefined
  }
}

/** Runs a tool and makes a result of what it answers. */
export async function runCustom(tool: CustomTool, input: unknown, call: CustomToolCall): Promise<ToolResult> {
  const answer = await tool.definition.run(input as never, call)
  const result = resultOf(answer)
  encodeJson(result, 'result')
  return result
}

function resultOf(answer: unknown): ToolResult {
  const fine = { isError: false, truncated: false }
  if (answer === undefined || answer === null) return { text: 'Done.', ...fine }
  if (typeof answer === 'string') return { text: answer.toWellFormed(), ...fine }
  if (isResult(answer)) return { ...fine, ...answer, text: answer.text.toWellFormed() }
  return { text: encodeJson(answer, 'result'), data: answer, ...fine }
}

const RESULT_FIELDS = new Set(['text', 'isError', 'code', 'data', 'parts', 'truncated'])

function isResult(answer: unknown): answer is Partial<ToolResult> & { readonly text: string } {
  return (
    typeof answer === 'object' &&
    answer !== null &&
    typeof (answer as { text?: unknown }).text === 'string' &&
    Object.keys(answer).every((key) => RESULT_FIELDS.has(key))
  )
}

/**
 * What a model may read of a tool's error: its message, but not that of an error of the operating system, which names paths
 * of this machine.
 */
export function failureText(tool: string, error: unknown): string {
  return `${tool} failed: ${failureMessage(error)}`
}

/** Whether an error is one that the model cannot be told about as it is. */
export function isWithheld(error: unknown): boolean {
  return error instanceof Error && !GloveportError.isInstance(error) && 'syscall' in error
}

function failureMessage(error: unknown): string {
  if (isWithheld(error)) return `the system refused (${(error as NodeJS.ErrnoException).code ?? 'no code'}).`
  const message = error instanceof Error ? error.message : String(error)
  if (message === '') return 'it gave no reason.'
  return message.length > MESSAGE_CHARS ? `${message.slice(0, MESSAGE_CHARS).toWellFormed()}…` : message.toWellFormed()
}

function checkBoolean(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw new InvalidInputError(`\`needsApproval\` must answer true or false, not ${describe(value)}.`)
}

function issueText({ message, path }: StandardIssue): string {
  const steps = path?.map((step) => String(typeof step === 'object' ? step.key : step)) ?? []
  return (steps.length > 0 ? `at '${steps.join('.')}': ${message}` : message).toWellFormed()
}
