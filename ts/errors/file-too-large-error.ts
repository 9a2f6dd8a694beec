import type { ErrorFacts } from './gloveport-error.js'
import { SandboxError } from './sandbox-error.js'

/** The file is, or would become, larger than the mount or a limit allows. */
export class FileTooLargeError extends SandboxError {
  override readonly name: string = 'FileTooLargeError'

  constructor(message: string, facts?: ErrorFacts) {
    super('FILE_TOO_LARGE', message, facts)
  }
}
