import { type ErrorFacts, GloveportError } from './gloveport-error.js'

/** It exists, but it is not a regular file. */
export class NotAFileError extends GloveportError {
  override readonly name: string = 'NotAFileError'

  constructor(message: string, facts?: ErrorFacts) {
    super('NOT_A_FILE', message, facts)
  }
}
