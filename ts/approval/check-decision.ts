import { describe } from '../encode.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import type { ApprovalDecision } from './types.js'

const DECISION_FIELDS = new Set(['approved', 'reason', 'remember', 'input'])

/** The core takes nothing else; checked here too, so that a mistake reaches `onError` and not only the model. */
export function checkDecision(decision: ApprovalDecision | undefined): ApprovalDecision {
  if (typeof decision !== 'object' || decision === null || typeof decision.approved !== 'boolean') {
    throw new InvalidInputError(
      `An approver must return { approved: true } or { approved: false }, not ${describe(decision)}.`,
    )
  }
  const unknown = Object.keys(decision).find((field) => !DECISION_FIELDS.has(field))
  if (unknown !== undefined) {
    throw new InvalidInputError(
      `An approver's decision has no field '${unknown}'; there are ${[...DECISION_FIELDS].join(', ')}.`,
    )
  }
  const { reason, remember } = decision
  if (reason !== undefined && typeof reason !== 'string')
    throw new InvalidInputError(`\`reason\` of a decision must be a string, not ${describe(reason)}.`)
  if (remember !== undefined && remember !== 'none' && remember !== 'session')
    throw new InvalidInputError("`remember` of a decision must be 'none' or 'session'.")
  return decision
}
