// What a model reads of failures that end in the facade; those of the core have their words there.

import { GloveportError } from '../errors/gloveport-error.js'
import type { ToolResult } from './types.js'

/** The result that a model reads for an error that it can act on. */
export function failure({ message, code }: GloveportError): ToolResult {
  return { text: `Error: ${message}`, isError: true, code, truncated: false }
}

/** What a model may read of an error that it must not handle. */
export function harmless(error: unknown): ToolResult {
  const code = GloveportError.isInstance(error) ? error.code : 'HOOK_FAILED'
  return { text: harmlessText(code), isError: true, code, truncated: false }
}

function harmlessText(code: ToolResult['code']): string {
  switch (code) {
    case 'APPROVAL_REQUIRED':
      return 'Error: this call needs an approval that nobody here can give. Do it another way, or ask the user.'
    case 'CLOSED':
      return 'Error: the tools are no longer available.'
    default:
      return 'Error: internal error. The call may not have run; look before you repeat it.'
  }
}
