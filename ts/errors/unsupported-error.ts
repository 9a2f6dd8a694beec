import { type ErrorFacts, GloveportError } from './gloveport-error.js'

/** This backend cannot do that. */
export class UnsupportedError extends GloveportError {
  override readonly name: string = 'UnsupportedError'

  constructor(message: string, facts?: ErrorFacts) {
    super('UNSUPPORTED', message, facts)
  }
}
