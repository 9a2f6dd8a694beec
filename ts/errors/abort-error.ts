import { type ErrorFacts, GloveportError } from './gloveport-error.js'

/**
 * The caller's `AbortSignal` ended the call. `cause` is the signal's reason; `details.partial` is what was done or
 * captured until then, where there is such a thing.
 */
export class AbortError extends GloveportError {
  override readonly name: string = 'AbortError'

  constructor(message: string, facts?: ErrorFacts) {
    super('ABORTED', message, facts)
  }
}
