import { describe } from '../encode.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import type { ToolResult } from './types.js'

/** What a hook gave as the result of a call, with the flags that it left out; `who` is named where it is none. */
export function checkResult(result: ToolResult | undefined | void, who: string): ToolResult {
  if (typeof result !== 'object' || result === null || typeof result.text !== 'string')
    throw new InvalidInputError(`${who} must return a ToolResult ({ text, … }), not ${describe(result)}.`)
  const { isError = false, truncated = false, code, parts } = result
  const isRight =
    typeof isError === 'boolean' &&
    typeof truncated === 'boolean' &&
    (code === undefined || typeof code === 'string') &&
    (parts === undefined || Array.isArray(parts))
  if (!isRight) {
    throw new InvalidInputError(
      `${who} must return a ToolResult with flags in \`isError\` and \`truncated\`, a text in \`code\` and a list in \`parts\`.`,
    )
  }
  return { ...result, isError, truncated }
}
