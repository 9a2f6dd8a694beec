import { type ErrorFacts, GloveportError } from './gloveport-error.js'

/** Somebody must say yes first, and nobody is there to ask. `details` is the `ApprovalRequest`. */
export class ApprovalRequiredError extends GloveportError {
  override readonly name: string = 'ApprovalRequiredError'

  constructor(message: string, facts?: ErrorFacts) {
    super('APPROVAL_REQUIRED', message, facts)
  }
}
