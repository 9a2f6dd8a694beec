// Tagged lines for programs that hold a text themselves: what `read_file` shows and `hashline_edit` does with
// `editFormat: 'hashline'`, without a file. Pure; tags, formats and edits are the core's.

import type { LineEdit } from './backend/types.js'
import { checkOptions, checkText, encodeJson } from './encode.js'
import { errorFromNative } from './errors/from-native.js'
import { InvalidInputError } from './errors/invalid-input-error.js'
import * as native from './native.js'

/** Which lines of a text. */
export interface HashlineWindow {
  /** Lines to skip. Default 0. */
  readonly offset?: number | undefined
  /** Lines to show. Default 2,000. */
  readonly limit?: number | undefined
}

/** What tagged edits made of a text. */
export interface HashlineResult {
  /** The whole text now. */
  readonly content: string
  /** How many edits were made. */
  readonly edits: number
  /** One line: what was done. */
  readonly summary: string
  /** Unified diff. */
  readonly diff: string
}

/**
 * The tag of a line: two lower-case hex digits, the first of the MD5 of its UTF-8 text. White space and a `\r` count.
 *
 * @throws {InvalidInputError} the text holds a line feed, or half a character
 */
export function lineHash(line: string): string {
  return answer(native.lineHash(checkText(line, 'line'))).text ?? ''
}

/**
 * Lines of a text as a model sees them: `number:tag|text`, and at the end where to read on.
 *
 * @example
 * formatHashlineOutput('one\ntwo\n', { limit: 1 }) // '1:f9|one\n\n... (1 more lines) Read on with offset=1.'
 *
 * @throws {InvalidInputError} the offset lies past the end, or the limit is 0
 */
export function formatHashlineOutput(content: string, window?: HashlineWindow): string {
  const { offset, limit, ...unknown } = checkOptions(window, 'window')
  const [name] = Object.keys(unknown)
  if (name !== undefined) throw new InvalidInputError(`\`window\` has no field '${name}'; it takes offset and limit.`)
  const numbers = [countOf(offset, 'window.offset'), countOf(limit, 'window.limit')] as const
  return answer(native.formatHashlineOutput(checkText(content, 'content'), ...numbers)).text ?? ''
}

/**
 * Applies tagged edits to a text: all, or none. Line numbers and tags of all refer to `content` as it is given.
 *
 * @example
 * applyHashlineEdit('one\ntwo\n', { startLine: 2, startHash: lineHash('two'), newContent: 'zwei' }).content
 *
 * @throws {EditError} a tag or a line number does not fit; the message shows the present lines
 * @throws {InvalidInputError} there is no edit, or one is not of this kind
 */
export function applyHashlineEdit(content: string, edit: LineEdit | readonly LineEdit[]): HashlineResult {
  const edits = encodeJson(Array.isArray(edit) ? edit : [edit], 'edit')
  return JSON.parse(
    answer(native.applyHashlineEdit(checkText(content, 'content'), edits)).value ?? 'null',
  ) as HashlineResult
}

function countOf(value: number | undefined, name: string): number | null {
  if (value === undefined) return null
  if (Number.isSafeInteger(value) && value >= 0) return value
  throw new InvalidInputError(`\`${name}\` must be a whole number from 0 on.`)
}

function answer(outcome: native.NativeOutcome): native.NativeOutcome {
  if (outcome.error) throw errorFromNative(outcome.error)
  return outcome
}
