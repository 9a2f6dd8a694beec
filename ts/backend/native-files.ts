// The methods of `Backend` over the addon: encode, call by name, decode. Every backend that lives in the core is a small
// subclass of this one. No method decides anything: the core judges arguments, paths and content.

import { checkKnown, checkOptions, checkText, describe, encodeJson } from '../encode.js'
import { errorFromNative } from '../errors/from-native.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { type NativeCallOptions, runNative } from '../native-call.js'
import type { NativeBackend, NativeOutcome } from '../native.js'
import { RunningCommand } from './running-command.js'
import { readStream, writeStream } from './stream.js'
import { type TerminalOptions, TerminalSession } from './terminal-session.js'
import type {
  Backend,
  CallSignal,
  Edit,
  EditResult,
  ExecuteOptions,
  ExecuteResult,
  FileInfo,
  FindOptions,
  FindResult,
  GlobOptions,
  GlobResult,
  GrepOptions,
  GrepResult,
  LsOptions,
  LsResult,
  ReadOptions,
  ReadResult,
  ReadStreamOptions,
  RemoveOptions,
  StreamSource,
  WriteResult,
} from './types.js'

/** The addon's side of each backend; kept apart so that nothing of it shows on the object. */
const NATIVE = new WeakMap<object, NativeBackend>()
/** The backends that a backend asks, which live at least as long. */
const PARTS = new WeakMap<object, readonly object[]>()

/** The addon's side of a backend of this package; undefined for any other object. */
export function nativeOf(backend: object): NativeBackend | undefined {
  return NATIVE.get(backend)
}

/** The backends that a backend asks, and with which whoever holds it must keep them alive. */
export function partsOf(backend: object): readonly object[] {
  return PARTS.get(backend) ?? []
}

/** A `FileInfo` as the addon sends it: the time in milliseconds since 1970. */
type WireFileInfo = Omit<FileInfo, 'modifiedAt'> & { readonly modifiedAt?: number }

const TERMINAL_OPTIONS = ['command', 'cwd', 'env', 'columns', 'rows', 'limits', 'signal'] as const
const EXECUTE_OPTIONS = [
  'timeout',
  'cwd',
  'env',
  'stdin',
  'onOutput',
  'limits',
  'background',
  'onTimeout',
  'signal',
] as const

/** What the addon's `NativeBackend.describe` tells. */
interface Description {
  readonly workingDirectory: string
  readonly readableRoots: readonly string[]
  readonly writableRoots: readonly string[]
  readonly executes: boolean
}

export abstract class NativeFiles implements Backend {
  readonly id: string
  readonly #native: NativeBackend

  /** `made` is what a factory of the addon returned, `parts` are the backends that it asks. */
  protected constructor(
    made: { readonly backend?: NativeBackend; readonly error?: NativeOutcome['error'] },
    parts: readonly object[] = [],
  ) {
    if (!made.backend)
      throw errorFromNative(made.error ?? { code: 'INTERNAL', message: 'The backend could not be made.' })
    this.#native = made.backend
    this.id = made.backend.id
    NATIVE.set(this, made.backend)
    PARTS.set(this, parts)
  }

  /** What relative paths are relative to. */
  get workingDirectory(): string {
    return this.#describe().workingDirectory
  }

  /** The directories that can be read. */
  get readableRoots(): readonly string[] {
    return this.#describe().readableRoots
  }

  /** The directories that can be written. */
  get writableRoots(): readonly string[] {
    return this.#describe().writableRoots
  }

  /** Whether commands can run. */
  get executes(): boolean {
    return this.#describe().executes
  }

  async ls(path: string, options?: LsOptions): Promise<LsResult> {
    const found = await this.#value<{ entries: WireFileInfo[]; truncated: boolean }>('ls', { path }, options)
    return Object.defineProperty(found.entries.map(fileInfo), 'truncated', { value: found.truncated })
  }

  async stat(path: string, options?: CallSignal): Promise<FileInfo | null> {
    const found = await this.#value<WireFileInfo | null>('stat', { path }, options)
    return found && fileInfo(found)
  }

  async read(path: string, options?: ReadOptions): Promise<ReadResult> {
    const outcome = await this.#invoke('read', { path }, options)
    return { content: outcome.text ?? '', ...page(decode<Omit<ReadResult, 'content'>>(outcome)) }
  }

  async readBytes(path: string, options?: CallSignal): Promise<Uint8Array> {
    const { bytes } = await this.#invoke('readBytes', { path }, options)
    return bytes ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array()
  }

  async write(path: string, content: string | Uint8Array, options?: CallSignal): Promise<WriteResult> {
    return this.#value('write', { path }, options, checkContent(content))
  }

  async append(path: string, content: string | Uint8Array, options?: CallSignal): Promise<WriteResult> {
    return this.#value('append', { path }, options, checkContent(content))
  }

  /**
   * The bytes of a file of any size, in pieces of at most 64 KiB that are read when they are pulled. Also an async iterable.
   * What is read is the file that was opened, whatever happens to its name.
   */
  readStream(path: string, options?: ReadStreamOptions): ReadableStream<Uint8Array> {
    const given = options
    const json = (): string => {
      const { signal: _, ...rest } = checkOptions(given)
      return encodeJson({ ...rest, path }, 'readStream')
    }
    return readStream(this.#native, json, given?.signal)
  }

  /**
   * Creates or replaces a file of any size with the pieces that `source` gives, which are pulled one by one. Nobody sees the
   * file before the last one; when `source` fails, everything is as it was. A backend that takes whole files only (memory, a
   * shell, your own) gathers them, up to 64 MiB.
   */
  async writeStream(path: string, source: StreamSource, options?: CallSignal): Promise<WriteResult> {
    const { signal, ...rest } = checkOptions(options)
    return writeStream(this.#native, encodeJson({ ...rest, path }, 'writeStream'), source, signal)
  }

  async edit(path: string, edit: Edit | readonly Edit[], options?: CallSignal): Promise<EditResult> {
    return this.#value('edit', { path, edits: Array.isArray(edit) ? edit : [edit] }, options)
  }

  async mkdir(path: string, options?: CallSignal): Promise<void> {
    await this.#invoke('mkdir', { path }, options)
  }

  async remove(path: string, options?: RemoveOptions): Promise<void> {
    await this.#invoke('remove', { path }, options)
  }

  async move(from: string, to: string, options?: CallSignal): Promise<void> {
    await this.#invoke('move', { from, to }, options)
  }

  async copy(from: string, to: string, options?: CallSignal): Promise<void> {
    await this.#invoke('copy', { from, to }, options)
  }

  async glob(pattern: string, options?: GlobOptions): Promise<GlobResult> {
    const found = await this.#value<GlobResult & { files: WireFileInfo[] }>('glob', { pattern }, options)
    return { ...page(found), files: found.files.map(fileInfo) }
  }

  async grep(pattern: string, options?: GrepOptions): Promise<GrepResult> {
    return page(await this.#value<GrepResult>('grep', { pattern }, options))
  }

  async find(query: string, options?: FindOptions): Promise<FindResult> {
    const found = await this.#value<FindResult & { files: WireFileInfo[] }>('find', { query }, options)
    return { ...page(found), files: found.files.map(fileInfo) }
  }

  /** Opens a terminal; rejects with `UnsupportedError` where there is none. */
  async openTerminal(options?: TerminalOptions): Promise<TerminalSession> {
    const outcome = await this.#invoke('openTerminal', {}, checkKnown(options, TERMINAL_OPTIONS))
    if (!outcome.process) throw errorFromNative({ code: 'INTERNAL', message: 'The terminal was not opened.' })
    return new TerminalSession(outcome.process)
  }

  async execute(command: string, options?: ExecuteOptions): Promise<ExecuteResult> {
    const { stdin, ...rest } = checkKnown(options, EXECUTE_OPTIONS)
    const given = stdin === undefined || stdin === null ? null : checkContent(stdin, 'stdin')
    const outcome = await this.#invoke('execute', { command }, rest, given)
    const { aborted: _, told, ...ended } = decode<ExecuteResult & { aborted: boolean; told?: number }>(outcome)
    return outcome.process ? { ...ended, process: new RunningCommand(outcome.process, told ?? 0) } : ended
  }

  async close(): Promise<void> {
    await runNative({}, () => this.#native.close())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #describe(): Description {
    return JSON.parse(this.#native.describe()) as Description
  }

  async #value<T>(
    method: string,
    args: object,
    options: object | undefined,
    content?: string | Uint8Array,
  ): Promise<T> {
    return decode<T>(await this.#invoke(method, args, options, content))
  }

  /** `args` win over options of the same name: an option can never redirect a call to another path. */
  async #invoke(
    method: string,
    args: object,
    options: object | undefined,
    content: string | Uint8Array | null = null,
  ): Promise<NativeOutcome> {
    const { signal, onOutput, ...rest } = checkOptions(options) as NativeCallOptions
    const json = encodeJson({ ...rest, ...args }, method)
    return runNative({ signal, onOutput }, (cancel, take) => this.#native.invoke(method, json, content, cancel, take))
  }
}

function decode<T>(outcome: NativeOutcome): T {
  return JSON.parse(outcome.value ?? 'null') as T
}

function fileInfo({ modifiedAt, ...rest }: WireFileInfo | FileInfo): FileInfo {
  return modifiedAt === undefined ? rest : { ...rest, modifiedAt: new Date(modifiedAt) }
}

/** The addon says null where there is no next page; here the field is absent. */
function page<T extends { readonly nextOffset?: number | null; readonly nextCursor?: string | null }>({
  nextOffset,
  nextCursor,
  ...rest
}: T): Omit<T, 'nextOffset' | 'nextCursor'> & { nextOffset?: number; nextCursor?: string } {
  return { ...rest, ...(nextOffset != null && { nextOffset }), ...(nextCursor != null && { nextCursor }) }
}

/** Content to write or to be read by a command, or an error that says what was given instead. */
export function checkContent(content: unknown, name = 'content'): string | Uint8Array {
  if (typeof content === 'string') return checkText(content, name)
  if (ArrayBuffer.isView(content) && !(content instanceof DataView)) {
    return new Uint8Array(content.buffer as ArrayBuffer, content.byteOffset, content.byteLength)
  }
  throw new InvalidInputError(`\`${name}\` must be a string or a Uint8Array, not ${describe(content)}.`)
}
