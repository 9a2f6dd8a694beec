import { type ErrorFacts, GloveportError } from './gloveport-error.js'

/** An argument has the wrong type, a wrong value, or is not known. The message says where and what is expected. */
export class InvalidInputError extends GloveportError {
  override readonly name: string = 'InvalidInputError'

  constructor(message: string, facts?: ErrorFacts) {
    super('INVALID_INPUT', message, facts)
  }
}
