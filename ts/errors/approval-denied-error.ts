import { type ErrorFacts, GloveportError } from './gloveport-error.js'

/** Somebody was asked and said no. */
export class ApprovalDeniedError extends GloveportError {
  override readonly name: string = 'ApprovalDeniedError'

  constructor(message: string, facts?: ErrorFacts) {
    super('APPROVAL_DENIED', message, facts)
  }
}
