// Events on their way to the application's `onEvent` and to the audit log. Secrets are masked by the core in both; what a
// listener is handed is a copy, so that nothing it does reaches the call.

import { errorFromNative } from '../errors/from-native.js'
import { GloveportError } from '../errors/gloveport-error.js'
import { maskJson, NativeAuditLog, type NativeError } from '../native.js'
import type { AuditEvent, EventError } from './events.js'

/** 64 KiB of one text: enough to show what happened, and little enough to mask while others wait. */
const TEXT_CHARS = 64 << 10
/** 4 KiB: how far back a cut looks for a blank, so that it parts no secret. */
const CUT_CHARS = 4 << 10

/** Where events go. */
export class Audit {
  readonly #onEvent: ((event: AuditEvent) => void) | undefined
  readonly #log: NativeAuditLog | undefined

  private constructor(onEvent: ((event: AuditEvent) => void) | undefined, log: NativeAuditLog | undefined) {
    this.#onEvent = onEvent
    this.#log = log
  }

  /** Opens the log, where there is one. */
  static open(
    onEvent: ((event: AuditEvent) => void) | undefined,
    path: string | undefined,
    onError: (error: unknown) => void,
  ): Audit {
    if (path === undefined) return new Audit(onEvent, undefined)
    const made = NativeAuditLog.open(path, (json) => onError(errorFromNative(JSON.parse(json) as NativeError)))
    if (!made.log)
      throw errorFromNative(made.error ?? { code: 'INTERNAL', message: 'The audit log could not be opened.' })
    return new Audit(onEvent, made.log)
  }

  /** Whether anybody wants to know. */
  get listens(): boolean {
    return this.#onEvent !== undefined || this.#log !== undefined
  }

  /** Tells everybody. May throw what the listener throws; the log has the event then. */
  tell(event: AuditEvent): void {
    const json = JSON.stringify(event, shorten)
    this.#log?.append(json)
    this.#onEvent?.(JSON.parse(maskJson(json)) as AuditEvent)
  }

  /** Ends when all events are in the file. */
  async flush(): Promise<void> {
    await this.#log?.flush()
  }
}

/** What an event says of an error. */
export function eventError(error: unknown): EventError {
  if (!(error instanceof Error)) return { name: typeof error, message: String(error).toWellFormed() }
  return {
    name: error.name.toWellFormed(),
    ...(GloveportError.isInstance(error) ? { code: error.code } : {}),
    message: error.message.toWellFormed(),
  }
}

/** Long texts are cut, and values that JSON does not know named: an event is no place to fail. */
function shorten(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value !== 'string') return value
  if (value.length <= TEXT_CHARS) return value.toWellFormed()
  let end = TEXT_CHARS
  while (end > TEXT_CHARS - CUT_CHARS && !/\s/.test(value.charAt(end - 1))) end -= 1
  return `${value.slice(0, end)}… (${value.length - end} more characters)`.toWellFormed()
}
