import { type ErrorFacts, GloveportError } from './gloveport-error.js'

/** No further session may be opened; those that are open still work. `details.limit` is how many there may be. */
export class SessionLimitError extends GloveportError {
  override readonly name: string = 'SessionLimitError'

  constructor(message: string, facts?: ErrorFacts) {
    super('BUSY', message, facts)
  }

  /** How many sessions there may be. */
  get limit(): number | undefined {
    return (this.details as { readonly limit?: number } | undefined)?.limit
  }
}
