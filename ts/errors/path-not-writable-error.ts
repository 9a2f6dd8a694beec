import type { ErrorFacts } from './gloveport-error.js'
import { SandboxError } from './sandbox-error.js'

/** The path may be read but not written. */
export class PathNotWritableError extends SandboxError {
  override readonly name: string = 'PathNotWritableError'

  constructor(message: string, facts?: ErrorFacts) {
    super('PATH_NOT_WRITABLE', message, facts)
  }
}
