import { describe } from '../encode.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'

/** @throws {InvalidInputError} the option is given, and no number from 0 */
export function checkCount(value: unknown, name: string): void {
  if (value === undefined || (typeof value === 'number' && Number.isFinite(value) && value >= 0)) return
  throw new InvalidInputError(`\`${name}\` must be a number that is not negative, not ${describe(value)}.`)
}
