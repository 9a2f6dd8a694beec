import { type ErrorFacts, GloveportError } from './gloveport-error.js'

/** The file does not hold text. */
export class BinaryFileError extends GloveportError {
  override readonly name: string = 'BinaryFileError'

  constructor(message: string, facts?: ErrorFacts) {
    super('BINARY_FILE', message, facts)
  }
}
