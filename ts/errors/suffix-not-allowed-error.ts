import type { ErrorFacts } from './gloveport-error.js'
import { SandboxError } from './sandbox-error.js'

/** The mount does not take names with this suffix. */
export class SuffixNotAllowedError extends SandboxError {
  override readonly name: string = 'SuffixNotAllowedError'

  constructor(message: string, facts?: ErrorFacts) {
    super('SUFFIX_NOT_ALLOWED', message, facts)
  }
}
