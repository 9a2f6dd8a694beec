// Events on their way to the application's `onEvent` and to the audit log. Secrets are masked by the core in both; what a
// listener is handed is a copy, so that nothing it does reaches the call.

import { errorFromNative } from '../errors/from-native.js'
import { GloveportError } from '../errors/gloveport-error.js'
import { maskJson, NativeAuditLog, type NativeBackend, type NativeError } from '../native.js'
import type { AuditEvent, EventError } from './events.js'

/** 64 KiB of one text: enough to show what happened, and little enough to mask while others wait. */
const TEXT_CHARS = 64 << 10
/** 256 KiB of all texts and names in one value that a model chooses: a hundred long ones would be as many megabytes. */
const ALL_CHARS = 256 << 10
/** 4 KiB: how far back a cut looks for a blank, so that it parts no secret. */
const CUT_CHARS = 4 << 10

/** 100 levels: the core's reader of JSON stops at 128, and a record must never be lost to what a model nested. */
const MAX_DEPTH = 100
/** 100,000 values: a small graph can stand for a huge tree. */
const MAX_VALUES = 100_000

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
    backend: NativeBackend,
    onError: (error: unknown) => void,
  ): Audit {
    if (path === undefined) return new Audit(onEvent, undefined)
    const made = NativeAuditLog.open(path, backend, (json) => onError(errorFromNative(JSON.parse(json) as NativeError)))
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
    const json = encode(event)
    this.#log?.append(json)
    this.#onEvent?.(JSON.parse(maskJson(json)) as AuditEvent)
  }

  /** Ends when all events are in the file. */
  async flush(): Promise<void> {
    await this.#log?.flush()
  }
}

/** What an event says of an error. What was thrown may be anything, and reading it may throw: an event says what it can. */
export function eventError(error: unknown): EventError {
  if (!(error instanceof Error)) return { name: typeof error, message: textOf(error).toWellFormed() }
  return {
    name: textOf(readFrom(error, 'name')).toWellFormed(),
    ...(GloveportError.isInstance(error) ? { code: error.code } : {}),
    message: textOf(readFrom(error, 'message')).toWellFormed(),
  }
}

/** A value that application code threw, as text. */
export function textOf(value: unknown): string {
  try {
    return String(value)
  } catch {
    return 'a value without a text'
  }
}

function readFrom(error: Error, field: 'name' | 'message'): unknown {
  try {
    return error[field]
  } catch {
    return ''
  }
}

/**
 * The event as JSON. Whatever an input is, there is an event: where it cannot be told, it says so. Each field is bounded by
 * itself, so that what a model makes long takes no room from the verdict.
 */
function encode(event: object): string {
  const fields = Object.entries(event).flatMap(([name, value]: [string, unknown]) => {
    const json = name === 'request' ? encode(value as object) : told(value)
    return json === undefined ? [] : [`${JSON.stringify(name)}:${json}`]
  })
  return `{${fields.join(',')}}`
}

/** `undefined` for a value that JSON leaves out. */
function told(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, bounded())
  } catch {
    return JSON.stringify('… (cannot be told as JSON)')
  }
}

/**
 * Long texts are cut, and all of them together, deep and endless values too, and values that JSON does not know named: an event is
 * no place to fail. Where something is cut it says so.
 */
function bounded(): (this: unknown, key: string, value: unknown) => unknown {
  const depths = new WeakMap<object, number>()
  let values = 0
  let left = ALL_CHARS
  let ended = false
  const end = (): string | undefined => {
    const marker = ended ? undefined : '… (the rest is left out)'
    ended = true
    return marker
  }
  return function (_key, value) {
    values += 1
    if (ended || values > MAX_VALUES) return end()
    if (typeof value !== 'object' || value === null) {
      const short = shorten(value)
      left -= typeof short === 'string' ? short.length : 1
      return left < 0 ? end() : short
    }
    const depth = (depths.get(this as object) ?? 0) + 1
    if (depth > MAX_DEPTH) return '… (nested deeper)'
    // An item that is left out is a `null` all the same.
    if (Array.isArray(value)) left -= value.length * 'null,'.length
    else for (const name of Object.keys(value)) left -= name.length
    if (left < 0) return end()
    depths.set(value, depth)
    return value
  }
}

function shorten(value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value !== 'string') return value
  if (value.length <= TEXT_CHARS) return value.toWellFormed()
  let end = TEXT_CHARS
  while (end > TEXT_CHARS - CUT_CHARS && !/\s/.test(value.charAt(end - 1))) end -= 1
  return `${value.slice(0, end)}… (${value.length - end} more characters)`.toWellFormed()
}
