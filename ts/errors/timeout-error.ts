import { type ErrorFacts, GloveportError } from './gloveport-error.js'

/** The operation took longer than its time limit. */
export class TimeoutError extends GloveportError {
  override readonly name: string = 'TimeoutError'

  constructor(message: string, facts?: ErrorFacts) {
    super('TIMEOUT', message, facts)
  }
}
