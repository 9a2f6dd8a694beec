import { type ErrorFacts, GloveportError } from './gloveport-error.js'

/** The backend cannot be reached, or its answer makes no sense. */
export class BackendUnavailableError extends GloveportError {
  override readonly name: string = 'BackendUnavailableError'

  constructor(message: string, facts?: ErrorFacts) {
    super('BACKEND_UNAVAILABLE', message, facts)
  }
}
