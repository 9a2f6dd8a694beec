import type { ErrorFacts } from './gloveport-error.js'
import { SandboxError } from './sandbox-error.js'

/** The text to replace was not found or is ambiguous, or the edit makes no sense. The file is as it was. */
export class EditError extends SandboxError {
  override readonly name: string = 'EditError'

  constructor(message: string, facts?: ErrorFacts) {
    super('EDIT_FAILED', message, facts)
  }
}
