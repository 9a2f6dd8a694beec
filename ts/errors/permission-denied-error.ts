import { type ErrorFacts, GloveportError } from './gloveport-error.js'

/** A rule denies the operation. */
export class PermissionDeniedError extends GloveportError {
  override readonly name: string = 'PermissionDeniedError'

  constructor(message: string, facts?: ErrorFacts) {
    super('PERMISSION_DENIED', message, facts)
  }
}
