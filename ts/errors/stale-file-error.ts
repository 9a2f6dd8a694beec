import { type ErrorFacts, GloveportError } from './gloveport-error.js'

/** The file changed since it was read or shown for approval. Read it again. */
export class StaleFileError extends GloveportError {
  override readonly name: string = 'StaleFileError'

  constructor(message: string, facts?: ErrorFacts) {
    super('STALE_FILE', message, facts)
  }
}
