// What the core tells hooks of a run's end, and what it is told by the application's functions: checked, and made what the other
// side takes.

import { describe } from '../encode.js'
import { errorFromNative } from '../errors/from-native.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import type { Action } from '../permissions.js'
import { textOf } from './audit.js'
import type { Run } from './host.js'
import type { Ended, TookOver, ToolResult } from './types.js'

/** A failure as the core tells it. */
export interface Failure {
  readonly code: string
  readonly message: string
  readonly path?: string | null
  readonly details?: unknown
}

/** How the run ended; an error of the application's own code is that very error. */
export function ended(
  request: { readonly result?: ToolResult | null; readonly error?: Failure | null },
  run: Run,
): Ended {
  const { result, error } = request
  if (result) return { result }
  if ((error?.code === 'HOOK_FAILED' || error?.code === 'TOOL_FAILED') && run.failure) {
    const own = run.failure.error
    return { error: own instanceof Error ? own : new Error(textOf(own), { cause: own }) }
  }
  const { code = 'INTERNAL', message = '', path, details } = error ?? {}
  const failure = {
    code,
    message,
    ...(path == null ? {} : { path }),
    ...(details == null ? {} : { details: JSON.stringify(details) }),
  }
  return { error: errorFromNative(failure) }
}

export function checkAction(action: unknown): Action {
  if (action === 'allow' || action === 'deny' || action === 'ask') return action
  throw new InvalidInputError(`\`allowCommand\` must answer 'allow', 'deny' or 'ask', not ${describe(action)}.`)
}

export function checkHelp(help: unknown): { help: string } | TookOver {
  if (typeof help === 'string') return { help }
  if (typeof help === 'object' && help !== null && 'tookOver' in help && help.tookOver === true)
    return { tookOver: true }
  throw new InvalidInputError(`\`onHelp\` must return a string, { tookOver: true } or nothing, not ${describe(help)}.`)
}
