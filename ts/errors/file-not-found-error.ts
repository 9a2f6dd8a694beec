import { type ErrorFacts, GloveportError } from './gloveport-error.js'

/** Nothing has that name. */
export class FileNotFoundError extends GloveportError {
  override readonly name: string = 'FileNotFoundError'

  constructor(message: string, facts?: ErrorFacts) {
    super('FILE_NOT_FOUND', message, facts)
  }
}
