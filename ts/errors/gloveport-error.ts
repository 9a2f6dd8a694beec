import type { ErrorCode } from './error-code.js'

/** Found on every gloveport error of every realm and of every copy of the package. */
const MARKER = Symbol.for('gloveport.error')

/** What an error carries besides its message. */
export interface ErrorFacts {
  /** The virtual path that the error is about. */
  readonly path?: string | undefined
  /** Facts for programs; the shape belongs to the code. */
  readonly details?: unknown
  /** What led to it. */
  readonly cause?: unknown
}

/**
 * The base of all errors of this package. Branch on `code`, which is stable, or on the class.
 *
 * The message says what failed, on which virtual path, and what would work. It never holds a host path.
 *
 * @example
 * try {
 *   await backend.read('notes.txt')
 * } catch (error) {
 *   if (GloveportError.isInstance(error) && error.code === 'FILE_NOT_FOUND') return ''
 *   throw error
 * }
 */
export class GloveportError extends Error {
  override readonly name: string = 'GloveportError'
  /** What a program branches on. */
  readonly code: ErrorCode
  /** The virtual path that the error is about. */
  readonly path?: string
  /** Facts for programs. */
  readonly details?: unknown

  constructor(code: ErrorCode, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.code = code
    if (facts.path !== undefined) this.path = facts.path
    if (facts.details !== undefined) this.details = facts.details
    Object.defineProperty(this, MARKER, { value: true })
  }

  /**
   * Whether `value` is an error of this package. Unlike `instanceof` it also knows errors of another realm (a jest
   * sandbox, a `vm` context) and of another copy of the package.
   */
  static isInstance(value: unknown): value is GloveportError {
    return typeof value === 'object' && value !== null && (value as { [MARKER]?: unknown })[MARKER] === true
  }
}
