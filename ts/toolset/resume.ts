// Calls that waited for somebody, gone on with by what they answered. Each is judged afresh where its input changed: an answer
// opens nothing but the question that it was given to.

import type { ApprovalGrant } from '../approval/types.js'
import { checkOptions, describe } from '../encode.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import type { CustomTool, UserInput } from './custom-tool.js'
import type { PendingAnswer, PendingCall, ToolResult } from './types.js'

/** What goes on with a call. */
export interface Resuming {
  /** The tool of the application, by the name that the call has. */
  readonly custom: (tool: string) => CustomTool | undefined
  /** Looks at another input than the one that was shown, so that the answer is held to what is there now. */
  readonly look: (call: PendingCall) => Promise<void>
  /** Runs a call with an answer; hooks find `metadata`. */
  readonly run: (
    call: PendingCall,
    approval: ApprovalGrant,
    metadata: Readonly<Record<string, unknown>>,
  ) => Promise<ToolResult>
  /** Whether an error is a signal for the program around. */
  readonly isControlFlow: (error: unknown) => boolean
  /** Is told of errors of `processUserInput`. */
  readonly report: (error: unknown) => void
}

const FIELDS = new Set(['callId', 'approved', 'reason', 'input', 'userInput'])

/**
 * The results of the calls that were answered, by call, one after the other in the order of `pending`. A call without an
 * answer is not among them and waits on.
 */
export async function resumeCalls(
  pending: readonly PendingCall[],
  answers: readonly PendingAnswer[],
  resuming: Resuming,
): Promise<ReadonlyMap<string, ToolResult>> {
  const answered = checkAnswers(pending, answers, resuming)
  const results = new Map<string, ToolResult>()
  for (const call of pending) {
    const answer = answered.get(call.callId)
    if (answer) results.set(call.callId, await goOn(call, answer, resuming))
  }
  return results
}

async function goOn(call: PendingCall, answer: PendingAnswer, resuming: Resuming): Promise<ToolResult> {
  const { approved, reason } = answer
  if (!approved) {
    return resuming.run(call, { approved, reason: reason ?? 'the user rejected the tool call' }, {})
  }
  let input = 'input' in answer ? answer.input : call.input
  let metadata: Readonly<Record<string, unknown>> = {}
  if ('userInput' in answer) {
    try {
      const made = await resuming.custom(call.tool)?.definition.processUserInput?.(input as never, answer.userInput)
      const taken = checkOptions(made as Exclude<UserInput, void>, 'processUserInput')
      if ('input' in taken) input = taken.input
      metadata = taken.metadata ?? {}
    } catch (error) {
      if (resuming.isControlFlow(error)) throw error
      resuming.report(error)
      return resuming.run(call, { approved: false, reason: 'what the user filled in could not be taken' }, {})
    }
  }
  const changed = { ...call, input }
  if (input !== call.input) await resuming.look(changed)
  return resuming.run(changed, { approved, reason }, metadata)
}

/** The answers by call. All are checked before any call runs. */
function checkAnswers(
  pending: readonly PendingCall[],
  answers: readonly PendingAnswer[],
  { custom }: Resuming,
): ReadonlyMap<string, PendingAnswer> {
  for (const [name, list] of Object.entries({ pending, answers })) {
    if (!Array.isArray(list)) throw new InvalidInputError(`\`${name}\` must be an array, not ${describe(list)}.`)
  }
  const waiting = new Map<string, PendingCall>()
  for (const call of pending) {
    if (typeof call?.callId !== 'string' || typeof call.tool !== 'string')
      throw new InvalidInputError('Each of `pending` needs the `callId` and the `tool` of a call.')
    if (waiting.has(call.callId)) throw new InvalidInputError(`Two pending calls are '${call.callId}'.`)
    waiting.set(call.callId, call)
  }
  const answered = new Map<string, PendingAnswer>()
  for (const answer of answers) {
    const call = waiting.get(answer?.callId)
    if (!call) throw new InvalidInputError(`No call '${String(answer?.callId)}' waits for an answer.`)
    if (answered.has(call.callId)) throw new InvalidInputError(`The call '${call.callId}' was answered twice.`)
    if (typeof answer.approved !== 'boolean')
      throw new InvalidInputError(`\`approved\` must be true or false, not ${describe(answer.approved)}.`)
    const unknown = Object.keys(answer).find((field) => !FIELDS.has(field))
    if (unknown !== undefined)
      throw new InvalidInputError(`An answer has no field '${unknown}'; there are ${[...FIELDS].join(', ')}.`)
    if ('userInput' in answer && !custom(call.tool)?.definition.processUserInput)
      throw new InvalidInputError(`The tool '${call.tool}' takes no \`userInput\`.`)
    answered.set(call.callId, answer)
  }
  return answered
}
