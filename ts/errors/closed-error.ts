import { type ErrorFacts, GloveportError } from './gloveport-error.js'

/** The toolset or backend is closed. */
export class ClosedError extends GloveportError {
  override readonly name: string = 'ClosedError'

  constructor(message: string, facts?: ErrorFacts) {
    super('CLOSED', message, facts)
  }
}
