// Turns a failure that the addon returned as data into the error of its class.

import type { NativeError } from '../native.js'
import { AbortError } from './abort-error.js'
import { ApprovalDeniedError } from './approval-denied-error.js'
import { ApprovalRequiredError } from './approval-required-error.js'
import { BackendUnavailableError } from './backend-unavailable-error.js'
import { BinaryFileError } from './binary-file-error.js'
import { ClosedError } from './closed-error.js'
import { CommandBlockedError } from './command-blocked-error.js'
import { EditError } from './edit-error.js'
import { FileNotFoundError } from './file-not-found-error.js'
import { FileTooLargeError } from './file-too-large-error.js'
import { InvalidInputError } from './invalid-input-error.js'
import { NotAFileError } from './not-a-file-error.js'
import { PathNotInSandboxError } from './path-not-in-sandbox-error.js'
import { PathNotWritableError } from './path-not-writable-error.js'
import { PermissionDeniedError } from './permission-denied-error.js'
import { StaleFileError } from './stale-file-error.js'
import { SuffixNotAllowedError } from './suffix-not-allowed-error.js'
import { TimeoutError } from './timeout-error.js'
import { UnsupportedError } from './unsupported-error.js'
import type { ErrorCode } from './error-code.js'
import { takeFailure } from './failures.js'
import { type ErrorFacts, GloveportError } from './gloveport-error.js'

type ErrorClass = new (message: string, facts?: ErrorFacts) => GloveportError

/** Codes without a class of their own become a plain `GloveportError` with that code. */
const CLASSES: { readonly [Code in ErrorCode]?: ErrorClass } = {
  ABORTED: AbortError,
  PATH_NOT_IN_SANDBOX: PathNotInSandboxError,
  PATH_NOT_WRITABLE: PathNotWritableError,
  SUFFIX_NOT_ALLOWED: SuffixNotAllowedError,
  FILE_TOO_LARGE: FileTooLargeError,
  EDIT_FAILED: EditError,
  FILE_NOT_FOUND: FileNotFoundError,
  NOT_A_FILE: NotAFileError,
  BINARY_FILE: BinaryFileError,
  STALE_FILE: StaleFileError,
  INVALID_INPUT: InvalidInputError,
  UNSUPPORTED: UnsupportedError,
  BACKEND_UNAVAILABLE: BackendUnavailableError,
  PERMISSION_DENIED: PermissionDeniedError,
  COMMAND_BLOCKED: CommandBlockedError,
  APPROVAL_REQUIRED: ApprovalRequiredError,
  APPROVAL_DENIED: ApprovalDeniedError,
  TIMEOUT: TimeoutError,
  CLOSED: ClosedError,
}

/** The typed error for a native failure. */
export function errorFromNative(failure: NativeError, cause?: unknown): GloveportError {
  const code = failure.code as ErrorCode
  const details: unknown = failure.details == null ? undefined : JSON.parse(failure.details)
  const thrown = takeFailure(details)
  const facts: ErrorFacts = {
    path: failure.path ?? undefined,
    details: thrown ? undefined : details,
    cause: thrown ? thrown.error : cause,
  }
  const Class = CLASSES[code]
  return Class ? new Class(failure.message, facts) : new GloveportError(code, failure.message, facts)
}
