import type { Operation } from '../permissions.js'
import { type ErrorFacts, GloveportError } from './gloveport-error.js'
import { subjectOf } from './subject.js'

/** The command policy blocks the command. */
export class CommandBlockedError extends GloveportError {
  override readonly name: string = 'CommandBlockedError'

  /** What was to be done; absent where the error does not know. */
  readonly operation?: Operation
  /** The path or command that it was to be done to. */
  readonly target?: string

  constructor(message: string, facts?: ErrorFacts) {
    super('COMMAND_BLOCKED', message, facts)
    Object.assign(this, subjectOf(facts?.details))
  }
}
