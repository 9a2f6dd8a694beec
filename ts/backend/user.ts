// An application's own object as a backend. The core asks, the object's methods answer; answers cross as data and are judged
// there. What is told apart here is only what JSON cannot: bytes, dates, and what was thrown.

import { types } from 'node:util'

import { describe } from '../encode.js'
import { keepFailure } from '../errors/failures.js'
import { GloveportError } from '../errors/gloveport-error.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { errorFromNative } from '../errors/from-native.js'
import { type NativeAnswer, NativeBackend, type NativeError } from '../native.js'
import { nativeOf, partsOf } from './native-files.js'
import type { UserBackend, UserExecuteResult, UserFileInfo } from './user-types.js'

const METHODS = [
  'ls',
  'stat',
  'read',
  'readBytes',
  'write',
  'append',
  'mkdir',
  'remove',
  'move',
  'copy',
  'execute',
] as const

/** 100,000 entries of one directory: more are no answer. */
const MAX_ENTRIES = 100_000

/** One question of the core. */
interface Question {
  readonly id: number
  readonly method: (typeof METHODS)[number]
  readonly arguments: readonly unknown[]
  readonly isText: boolean
  readonly maxBytes: number
}

/** Takes what a method threw and that is no answer. */
export interface FailureListener {
  report(error: unknown): void
}

/**
 * The addon's side of each object, for as long as the object lives: the function that answers for it holds it weakly, so
 * whoever hands its backend on (a toolset, a composite) holds the object.
 */
const MADE = new WeakMap<object, NativeBackend>()
const LISTENERS = new WeakMap<object, Set<WeakRef<FailureListener>>>()

/** The addon's side of a backend of this package, or of an application's own. `name` is what messages call it. */
export function nativeFor(backend: unknown, name: string): NativeBackend {
  if (typeof backend !== 'object' || backend === null || Array.isArray(backend)) {
    throw new InvalidInputError(
      `\`${name}\` must be a backend, such as new LocalBackend({ root }) or an object with methods like \`read\`, not ${describe(backend)}.`,
    )
  }
  const known = nativeOf(backend) ?? MADE.get(backend)
  if (known) return known
  const made = nativeOfUser(backend as UserBackend, methodsOf(backend, name), name)
  MADE.set(backend, made)
  return made
}

/** A backend that asks `target` by the named methods. */
export function nativeOfUser(target: UserBackend, methods: readonly string[], name: string): NativeBackend {
  const { workingDirectory } = target
  if (workingDirectory !== undefined && (typeof workingDirectory !== 'string' || !workingDirectory.isWellFormed())) {
    throw new InvalidInputError(
      `\`${name}.workingDirectory\` must be an absolute path, not ${describe(workingDirectory)}.`,
    )
  }
  const made = NativeBackend.remote(JSON.stringify({ methods, workingDirectory }), answers(new WeakRef(target)))
  if (made.backend) return made.backend
  throw errorFromNative(made.error ?? { code: 'INTERNAL', message: 'The backend could not be made.' })
}

/** Tells `listener`, for as long as it lives, what the methods of a backend and of its parts throw. */
export function watchFailures(backend: object, listener: FailureListener): void {
  for (const part of partsOf(backend)) watchFailures(part, listener)
  const listeners = LISTENERS.get(backend) ?? new Set()
  for (const known of listeners) if (!known.deref()) listeners.delete(known)
  listeners.add(new WeakRef(listener))
  LISTENERS.set(backend, listeners)
}

function methodsOf(backend: object, name: string): string[] {
  let methods: string[]
  try {
    methods = METHODS.filter((method) => {
      const value: unknown = (backend as Record<string, unknown>)[method]
      if (value !== undefined && value !== null && typeof value !== 'function') {
        throw new InvalidInputError(`\`${name}.${method}\` must be a method, not ${describe(value)}.`)
      }
      return typeof value === 'function'
    })
  } catch (error) {
    if (error instanceof InvalidInputError) throw error
    throw new InvalidInputError(`\`${name}\` cannot be looked at.`, { cause: error })
  }
  if (!['read', 'readBytes', 'execute'].some((method) => methods.includes(method))) {
    throw new InvalidInputError(
      `\`${name}\` must be a backend: an object with \`read\`, \`readBytes\` or \`execute\` at the least.`,
    )
  }
  return methods
}

/** For the addon: answers questions. Never rejects. */
function answers(reference: WeakRef<UserBackend>): (json: string, content?: Buffer | null) => Promise<NativeAnswer> {
  const pending = new Map<number, AbortController>()
  return async (json, content) => {
    const question = JSON.parse(json) as Question | { readonly withdraw: number }
    if ('withdraw' in question) {
      pending.get(question.withdraw)?.abort()
      return {}
    }
    const target = reference.deref()
    if (!target) return { error: { code: 'CLOSED', message: 'The backend is gone.' } }
    const controller = new AbortController()
    pending.set(question.id, controller)
    try {
      const method = target[question.method] as (...args: unknown[]) => unknown
      const args = argumentsOf(question, content ?? null, controller.signal)
      return answerOf(question, await method.apply(target, args))
    } catch (error) {
      return { error: failureOf(error, question, target, controller.signal) }
    } finally {
      pending.delete(question.id)
    }
  }
}

/** The method's arguments: those of the question, the content, and the options with the signal. */
function argumentsOf({ method, arguments: given, isText }: Question, content: Buffer | null, signal: AbortSignal) {
  const args = [...given]
  const last = args.at(-1)
  const options = typeof last === 'object' && last !== null ? { ...(args.pop() as object), signal } : { signal }
  if (method === 'write' || method === 'append') {
    args.push(contentOf(content ?? Buffer.alloc(0), isText))
  }
  if (method === 'execute' && content) return [...args, { ...options, stdin: contentOf(content, isText) }]
  return [...args, options]
}

function contentOf(bytes: Buffer, isText: boolean): string | Uint8Array {
  return isText ? bytes.toString('utf8') : new Uint8Array(bytes)
}

function answerOf({ method, maxBytes }: Question, answer: unknown): NativeAnswer {
  switch (method) {
    case 'ls': {
      if (!Array.isArray(answer)) return { value: 'null' }
      if (answer.length > MAX_ENTRIES) throw new RangeError(`A listing of ${answer.length} entries is too long.`)
      return { value: JSON.stringify(answer.map(plainInfo)) }
    }
    case 'stat':
      return { value: JSON.stringify(answer === undefined || answer === null ? null : plainInfo(answer)) }
    case 'read':
    case 'readBytes':
      return answeredContent(answer, maxBytes)
    case 'execute':
      return { value: JSON.stringify(plainExecuted(answer)) }
    default:
      return {}
  }
}

/** What is kept of an entry; the core judges it. */
function plainInfo(info: unknown): object {
  if (typeof info !== 'object' || info === null) return {}
  const { name, path, type, size, modifiedAt } = info as UserFileInfo
  const time: unknown = types.isDate(modifiedAt) ? modifiedAt.getTime() : modifiedAt
  return {
    name: text(name),
    path: text(path),
    type: text(type),
    size,
    modifiedAt: Number.isNaN(time) ? 'no time' : time,
  }
}

function text(value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : undefined
}

function answeredContent(answer: unknown, maxBytes: number): NativeAnswer {
  if (typeof answer === 'string') return checkSize(Buffer.byteLength(answer), maxBytes, { text: answer.toWellFormed() })
  if (ArrayBuffer.isView(answer) || types.isAnyArrayBuffer(answer)) {
    const view = ArrayBuffer.isView(answer)
      ? new Uint8Array(answer.buffer, answer.byteOffset, answer.byteLength)
      : new Uint8Array(answer)
    // A copy of our own: the application may change its bytes while the core reads.
    return checkSize(view.byteLength, maxBytes, () => ({ bytes: Uint8Array.from(view) }))
  }
  if (typeof answer !== 'object' || answer === null) return {}
  const { content, truncated, nextOffset } = answer as { content?: unknown; truncated?: unknown; nextOffset?: unknown }
  if (typeof content !== 'string') return {}
  const value = JSON.stringify({ truncated, nextOffset })
  return checkSize(Buffer.byteLength(content), maxBytes, { text: content.toWellFormed(), value })
}

function checkSize(bytes: number, maxBytes: number, answer: NativeAnswer | (() => NativeAnswer)): NativeAnswer {
  if (bytes > maxBytes) {
    return {
      error: { code: 'FILE_TOO_LARGE', message: `The file has ${bytes} bytes; at most ${maxBytes} can be read.` },
    }
  }
  return typeof answer === 'function' ? answer() : answer
}

function plainExecuted(answer: unknown): object | null {
  if (typeof answer !== 'object' || answer === null) return null
  const { output, stdout, stderr, exitCode, signal, timedOut, truncated } = answer as UserExecuteResult
  const stream = (value: unknown): unknown => (typeof value === 'string' ? value.toWellFormed() : value)
  return {
    output: stream(output),
    stdout: stream(stdout),
    stderr: stream(stderr),
    exitCode,
    signal: stream(signal),
    timedOut,
    truncated,
  }
}

/** Codes of Node's file system, in our words. */
const NODE_CODES: Readonly<Record<string, readonly [code: string, message: string]>> = {
  ENOENT: ['FILE_NOT_FOUND', 'does not exist.'],
  EISDIR: ['NOT_A_FILE', 'is a directory, not a file.'],
  ENOTDIR: ['NOT_A_DIRECTORY', 'is not a directory.'],
  EEXIST: ['ALREADY_EXISTS', 'exists already.'],
  ENOTEMPTY: ['DIRECTORY_NOT_EMPTY', 'is a directory that holds entries.'],
  EROFS: ['PATH_NOT_WRITABLE', 'lies on a read-only file system.'],
  EACCES: ['IO', 'may not be used by this process.'],
  EPERM: ['IO', 'may not be used by this process.'],
  ENOSPC: ['IO', 'does not fit: the disk is full.'],
  EBUSY: ['BUSY', 'is in use.'],
}

/** What the core is told of something thrown. Its own words reach a model only where they are an error of this package. */
function failureOf(
  error: unknown,
  { method, arguments: args }: Question,
  target: object,
  signal: AbortSignal,
): NativeError {
  if (GloveportError.isInstance(error)) {
    return {
      code: error.code,
      message: String(error.message).toWellFormed(),
      ...(error.path === undefined ? {} : { path: String(error.path).toWellFormed() }),
    }
  }
  const path = typeof args[0] === 'string' && method !== 'execute' ? args[0] : undefined
  const [code, words] = NODE_CODES[codeOf(error)] ?? []
  if (code !== undefined) return { code, message: `'${path}' ${words}`, ...(path === undefined ? {} : { path }) }
  if (!signal.aborted) {
    for (const listener of LISTENERS.get(target) ?? []) listener.deref()?.report(error)
  }
  const message = `The backend failed in \`${method}\`; trying again may help.`
  const details = JSON.stringify({ failure: keepFailure(error) })
  return { code: 'BACKEND_UNAVAILABLE', message, details, ...(path === undefined ? {} : { path }) }
}

function codeOf(error: unknown): string {
  try {
    const { code } = error as { code?: unknown }
    return typeof code === 'string' && Object.hasOwn(NODE_CODES, code) ? code : ''
  } catch {
    return ''
  }
}
