import type { Operation } from '../permissions.js'
import { type ErrorFacts, GloveportError } from './gloveport-error.js'
import { subjectOf } from './subject.js'

/** Somebody must say yes first, and nobody is there to ask. `details` is the `ApprovalRequest`. */
export class ApprovalRequiredError extends GloveportError {
  override readonly name: string = 'ApprovalRequiredError'

  /** What was to be done; absent where the error does not know. */
  readonly operation?: Operation
  /** The path or command that it was to be done to. */
  readonly target?: string

  constructor(message: string, facts?: ErrorFacts) {
    super('APPROVAL_REQUIRED', message, facts)
    Object.assign(this, subjectOf(facts?.details))
  }
}
