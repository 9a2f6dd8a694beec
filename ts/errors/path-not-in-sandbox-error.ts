import type { ErrorFacts } from './gloveport-error.js'
import { SandboxError } from './sandbox-error.js'

/** The path lies in no mount, or leads out of it through a link. */
export class PathNotInSandboxError extends SandboxError {
  override readonly name: string = 'PathNotInSandboxError'

  constructor(message: string, facts?: ErrorFacts) {
    super('PATH_NOT_IN_SANDBOX', message, facts)
  }
}
