import { checkOptions, describe, encodeJson } from '../encode.js'
import { errorFromNative } from '../errors/from-native.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { NativeState } from '../native.js'
import { NativeFiles } from './native-files.js'

/** A file in a {@link StateDocument}. */
export interface StateFile {
  /** The lines of a text without their `\n`, or the whole text; with `encoding: 'base64'` bytes that are no UTF-8. */
  readonly content: readonly string[] | string
  /** When it was made, as ISO 8601; now when absent. */
  readonly created_at?: string | undefined
  /** When it last changed. */
  readonly modified_at?: string | undefined
  /** Default `utf-8`. */
  readonly encoding?: 'base64' | 'utf-8' | undefined
}

/** All files of a {@link StateBackend}, by path: plain JSON. A path that ends with `/` is an empty directory. */
export type StateDocument = Readonly<Record<string, StateFile>>

/** What a {@link StateBackend} may hold. What goes beyond is refused and changes nothing. */
export interface StateLimits {
  /** Bytes of all files together; default 256 MiB. */
  readonly totalBytes?: number | undefined
  /** Bytes of one file; default 64 MiB. */
  readonly fileBytes?: number | undefined
  /** Files and directories; default 100,000. */
  readonly entries?: number | undefined
  /** Names of a path; default 128, at most 256. */
  readonly depth?: number | undefined
}

/** What an author sets on a {@link StateBackend}. */
export interface StateBackendOptions {
  /** The files to begin with, by path: text, bytes, or files of a document. Relative paths begin at `/`. */
  readonly files?: Readonly<Record<string, string | Uint8Array | StateFile>> | undefined
  readonly limits?: StateLimits | undefined
}

/** Hands `clone` and `fromJSON` a way in that options cannot name. */
class Made {
  constructor(readonly state: NativeState) {}
}

/**
 * Files in memory: nothing of this machine is read or written, and no command runs. All of it goes to and comes from one
 * JSON document.
 *
 * @example
 * const backend = new StateBackend({ files: { '/notes/plan.md': '# Plan\n' } })
 * const before = backend.clone() // shares what neither changes
 * await backend.edit('/notes/plan.md', { oldString: 'Plan', newString: 'The plan' })
 * const stored = JSON.stringify(backend)
 * const again = StateBackend.fromJSON(stored)
 *
 * @throws {InvalidInputError} an option, path, time or encoding is not right
 * @throws {FileTooLargeError} a file is larger than the limits take
 */
export class StateBackend extends NativeFiles {
  readonly #state: NativeState

  constructor(options?: StateBackendOptions) {
    const state = options instanceof Made ? options.state : unwrap(NativeState.create(encodeOptions(options)))
    super({ backend: state.backend() })
    this.#state = state
  }

  /** A backend with the files of a document, or of its JSON text. Documents without `encoding` or times load too. */
  static fromJSON(
    document: StateDocument | string,
    options?: { readonly limits?: StateLimits | undefined },
  ): StateBackend {
    const { limits, ...unknown } = checkOptions(options)
    const [name] = Object.keys(unknown)
    if (name !== undefined) throw new InvalidInputError(`\`options.${name}\` is not known; there is \`limits\`.`)
    const text = typeof document === 'string' ? document : stringify(document, 'document')
    const made = NativeState.fromJson(text, encodeJson(limits ?? {}, 'limits'))
    return new StateBackend(new Made(unwrap(made)) as StateBackendOptions)
  }

  /** All files as plain data, times and bytes included; `JSON.stringify(backend)` calls it. Works on a closed backend too. */
  toJSON(): StateDocument {
    const { text, error } = this.#state.toJson()
    if (error) throw errorFromNative(error)
    return JSON.parse(text ?? '{}') as StateDocument
  }

  /** An open backend of its own with the files of this moment, in the same time for any number of files. */
  clone(): StateBackend {
    return new StateBackend(new Made(this.#state.snapshot()) as StateBackendOptions)
  }
}

function unwrap(made: ReturnType<typeof NativeState.create>): NativeState {
  if (made.state) return made.state
  throw errorFromNative(made.error ?? { code: 'INTERNAL', message: 'The files could not be made.' })
}

function encodeOptions(options: StateBackendOptions | undefined): string {
  const { files, ...rest } = checkOptions(options)
  const json = encodeJson(rest, 'options')
  if (files === undefined) return json
  const written = stringify(filesToJson(files), 'files')
  return json === '{}' ? `{"files":${written}}` : `{"files":${written},${json.slice(1)}`
}

function filesToJson(files: NonNullable<StateBackendOptions['files']>): object {
  const entries = Object.entries(checkOptions(files, 'files') as typeof files)
  return Object.fromEntries(entries.map(([path, file]) => [path, isBytes(file) ? fromBytes(file) : file]))
}

function isBytes(file: unknown): file is Uint8Array {
  return ArrayBuffer.isView(file) && !(file instanceof DataView)
}

function fromBytes({ buffer, byteOffset, byteLength }: Uint8Array): StateFile {
  return { content: Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString('base64'), encoding: 'base64' }
}

/** Plainly, because a document may hold more values than options may; the core reads it strictly. */
function stringify(value: object, name: string): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw new InvalidInputError(`\`${name}\` cannot be read as plain data.`, { cause: error })
  }
  if (typeof value !== 'object' || value === null || text === undefined) {
    throw new InvalidInputError(`\`${name}\` must be an object of files by path, not ${describe(value)}.`)
  }
  return text
}
