import { type ErrorFacts, GloveportError } from './gloveport-error.js'

/** The command policy blocks the command. */
export class CommandBlockedError extends GloveportError {
  override readonly name: string = 'CommandBlockedError'

  constructor(message: string, facts?: ErrorFacts) {
    super('COMMAND_BLOCKED', message, facts)
  }
}
