// gloveport/deepagents: a backend as one of deepagents 1.x, and one of deepagents as a backend. Both directions translate words
// and hold no rule. Paths are those that the backend knows; `/` is all that can be read, since agents of deepagents begin there.

import type {
  BackendProtocolV2,
  DeleteResult,
  EditResult,
  ExecuteResponse,
  FileData,
  FileDownloadResponse,
  FileInfo as ProtocolFileInfo,
  FileOperationError,
  FileUploadResponse,
  GlobResult,
  GrepResult,
  LsResult,
  ReadRawResult,
  ReadResult,
  SandboxBackendProtocolV2,
  WriteResult,
} from 'deepagents'

import {
  CompositeBackend,
  FileNotFoundError,
  GloveportError,
  NotAFileError,
  PermissionDeniedError,
} from '../../index.js'
import type { Backend, FileInfo, UserBackend } from '../../index.js'

/** 500 lines: what deepagents reads when it names no limit. */
const READ_LINES = 500

/** Bytes that are handed on as they are, by suffix; everything else that is no text is `application/octet-stream`. */
const MIME_TYPES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.pdf': 'application/pdf',
  '.mp3': 'audio/mpeg',
  '.wav': 'audio/wav',
  '.mp4': 'video/mp4',
}

/** A backend as deepagents sees it, without commands. */
class FilesForDeepagents implements BackendProtocolV2 {
  readonly id: string
  protected readonly backend: CompositeBackend

  constructor(backend: CompositeBackend) {
    this.backend = backend
    this.id = backend.id
  }

  async ls(path: string): Promise<LsResult> {
    return attempt(async () => {
      const listed = await Promise.all(this.#places(path).map((place) => this.backend.ls(place)))
      return { files: listed.flat().map(protocolInfo) }
    })
  }

  async read(filePath: string, offset = 0, limit = READ_LINES): Promise<ReadResult> {
    return attempt(async () => {
      try {
        const { content, lines, totalLines, nextOffset } = await this.backend.read(filePath, { offset, limit })
        return {
          content,
          mimeType: 'text/plain',
          startLine: offset + 1,
          endLine: offset + lines,
          ...(totalLines === null ? {} : { totalLines }),
          ...(nextOffset === undefined ? {} : { nextOffset }),
        }
      } catch (error) {
        if (codeOf(error) !== 'BINARY_FILE') throw error
        return { content: await this.backend.readBytes(filePath), mimeType: mimeType(filePath) }
      }
    })
  }

  async readRaw(filePath: string): Promise<ReadRawResult> {
    return attempt(async () => {
      const [bytes, found] = await Promise.all([this.backend.readBytes(filePath), this.backend.stat(filePath)])
      const text = decoded(bytes)
      const modified = (found?.modifiedAt ?? new Date(0)).toISOString()
      const data: FileData = {
        content: text ?? bytes,
        mimeType: text === undefined ? mimeType(filePath) : 'text/plain',
        created_at: modified,
        modified_at: modified,
      }
      return { data }
    })
  }

  async write(filePath: string, content: string): Promise<WriteResult> {
    return attempt(async () => ({ path: (await this.backend.write(filePath, content)).path, filesUpdate: null }))
  }

  async edit(filePath: string, oldString: string, newString: string, replaceAll = false): Promise<EditResult> {
    return attempt(async () => {
      const { path, replacements } = await this.backend.edit(filePath, { oldString, newString, replaceAll })
      return { path, occurrences: replacements, filesUpdate: null }
    })
  }

  async delete(filePath: string): Promise<DeleteResult> {
    return attempt(async () => {
      await this.backend.remove(filePath, { recursive: true })
      return { path: filePath, filesUpdate: null }
    })
  }

  /** The pattern is plain text, as deepagents says. Hidden and ignored files are searched too. */
  async grep(
    pattern: string,
    path?: string | null,
    glob?: string | null,
    maxCount?: number | null,
  ): Promise<GrepResult> {
    return attempt(async () => {
      const options = {
        literal: true,
        hidden: true,
        ignore: false,
        sort: 'path' as const,
        ...(glob ? { globs: [glob] } : {}),
        ...(maxCount ? { limit: maxCount } : {}),
      }
      const found = await Promise.all(
        this.#places(path ?? this.backend.workingDirectory).map((place) =>
          this.backend.grep(pattern, { ...options, path: place }),
        ),
      )
      const matches = found.flatMap((part) => part.matches)
      const most = maxCount ?? Number.POSITIVE_INFINITY
      return {
        matches: matches
          .slice(0, most)
          .map(({ path: file, lineNumber, line }) => ({ path: file, line: lineNumber, text: line })),
        ...(found.some((part) => part.truncated) || matches.length > most ? { truncated: true } : {}),
      }
    })
  }

  async glob(pattern: string, path = this.backend.workingDirectory): Promise<GlobResult> {
    return attempt(async () => {
      const options = { hidden: true, ignore: false, sort: 'path' } as const
      const found = await Promise.all(
        this.#places(path).map((place) => this.backend.glob(pattern, { ...options, path: place })),
      )
      return {
        files: found.flatMap((part) => part.files.map(protocolInfo)),
        ...(found.some((part) => part.truncated) ? { truncated: true } : {}),
      }
    })
  }

  async uploadFiles(files: [string, Uint8Array][]): Promise<FileUploadResponse[]> {
    return Promise.all(
      files.map(async ([path, content]) => {
        try {
          await this.backend.write(path, content)
          return { path, error: null }
        } catch (error) {
          return { path, error: transferError(error) }
        }
      }),
    )
  }

  async downloadFiles(paths: string[]): Promise<FileDownloadResponse[]> {
    return Promise.all(
      paths.map(async (path) => {
        try {
          return { path, content: await this.backend.readBytes(path), error: null }
        } catch (error) {
          return { path, content: null, error: transferError(error) }
        }
      }),
    )
  }

  /** Where a search or listing of `path` looks: `/` is all that can be read. */
  #places(path: string): readonly string[] {
    const roots = this.backend.readableRoots
    return path === '/' && !roots.includes('/') ? roots : [path]
  }
}

/** A backend as deepagents sees it. */
class SandboxForDeepagents extends FilesForDeepagents implements SandboxBackendProtocolV2 {
  async execute(command: string): Promise<ExecuteResponse> {
    try {
      const { output, exitCode, truncated, timedOut } = await this.backend.execute(command)
      return {
        output: timedOut ? `${output}\n(The command ran out of time and was ended.)` : output,
        exitCode,
        truncated,
      }
    } catch (error) {
      return { output: `Error: ${messageOf(error)}`, exitCode: 1, truncated: false }
    }
  }
}

/**
 * A backend of this package, or an object of yours, for `createDeepAgent({ backend })`. Where it runs commands it is a
 * `SandboxBackendProtocolV2`, so that the agent gets `execute`; otherwise a `BackendProtocolV2`.
 *
 * Nothing stands between the agent and the backend: no rules, no approvals. Where those are wanted, give the agent the tools
 * of a toolset (`gloveport/langchain`) instead.
 *
 * @example
 * const backend = new LocalBackend({ root: './project' })
 * const agent = createDeepAgent({ model, backend: deepagentsBackend(backend) })
 */
export function deepagentsBackend(backend: Backend | UserBackend): BackendProtocolV2 & { readonly id: string } {
  const whole = new CompositeBackend({ default: backend })
  return whole.executes ? new SandboxForDeepagents(whole) : new FilesForDeepagents(whole)
}

/**
 * A backend of deepagents for `createToolset` and for the routes of a `CompositeBackend`. What it lacks is derived.
 *
 * @example
 * const toolset = createToolset({ backend: fromDeepagents(new FilesystemBackend({ rootDir: './project', virtualMode: true })) })
 */
export function fromDeepagents(theirs: BackendProtocolV2 | SandboxBackendProtocolV2): UserBackend {
  const ours: UserBackend = {
    async ls(path) {
      const { error, files } = await theirs.ls(path)
      if (error !== undefined) throw refusal(error, path)
      return (files ?? []).map(({ path: file, is_dir: isDirectory, size, modified_at: modified }) => ({
        path: file,
        type: isDirectory || file.endsWith('/') ? ('directory' as const) : ('file' as const),
        size: size ?? 0,
        modifiedAt: modified ? new Date(modified) : undefined,
      }))
    },
    async readBytes(path) {
      const [downloaded] = (await theirs.downloadFiles?.([path])) ?? []
      if (downloaded?.content) return downloaded.content
      if (downloaded?.error) throw transferRefusal(downloaded.error, path)
      const { error, data } = await theirs.readRaw(path)
      if (error !== undefined || !data) throw refusal(error ?? 'no data', path)
      return Array.isArray(data.content) ? data.content.join('\n') : data.content
    },
    async write(path, content) {
      if (typeof content === 'string' || !theirs.uploadFiles) {
        if (typeof content !== 'string') throw refusal('it takes no bytes', path)
        const { error } = await theirs.write(path, content)
        if (error !== undefined) throw refusal(error, path)
        return
      }
      const [uploaded] = await theirs.uploadFiles([[path, content]])
      if (uploaded?.error) throw transferRefusal(uploaded.error, path)
    },
  }
  if (theirs.delete) {
    ours.remove = async (path) => {
      const { error } = await theirs.delete!(path)
      if (error !== undefined) throw refusal(error, path)
    }
  }
  if ('execute' in theirs && typeof theirs.execute === 'function') {
    ours.execute = async (command) => theirs.execute(command)
    ours.mkdir = async (path) => {
      const { exitCode, output } = await theirs.execute(`mkdir -p '${path.replaceAll("'", String.raw`'\''`)}'`)
      if (exitCode !== 0) throw refusal(output, path)
    }
  }
  return ours
}

function protocolInfo({ path, type, size, modifiedAt }: FileInfo): ProtocolFileInfo {
  const isDirectory = type === 'directory'
  return {
    path: isDirectory ? `${path}/` : path,
    is_dir: isDirectory,
    size,
    ...(modifiedAt ? { modified_at: modifiedAt.toISOString() } : {}),
  }
}

/** An error is a text in the answer: deepagents shows it to the model. */
async function attempt<T extends object>(work: () => Promise<T>): Promise<T | { readonly error: string }> {
  try {
    return await work()
  } catch (error) {
    return { error: messageOf(error) }
  }
}

function codeOf(error: unknown): string | undefined {
  return GloveportError.isInstance(error) ? error.code : undefined
}

function messageOf(error: unknown): string {
  return GloveportError.isInstance(error) ? error.message : 'The backend failed.'
}

function transferError(error: unknown): FileOperationError {
  switch (codeOf(error)) {
    case 'FILE_NOT_FOUND':
      return 'file_not_found'
    case 'NOT_A_FILE':
      return 'is_directory'
    case 'INVALID_INPUT':
    case 'NOT_A_DIRECTORY':
      return 'invalid_path'
    default:
      return 'permission_denied'
  }
}

function transferRefusal(error: FileOperationError, path: string): GloveportError {
  switch (error) {
    case 'file_not_found':
      return new FileNotFoundError(`'${path}' does not exist.`, { path })
    case 'is_directory':
      return new NotAFileError(`'${path}' is a directory, not a file.`, { path })
    default:
      return new PermissionDeniedError(`'${path}' cannot be used: ${error}.`, { path })
  }
}

/** An error that deepagents tells in words. */
function refusal(words: string, path: string): GloveportError {
  if (/not found|no such|does not exist/i.test(words)) return transferRefusal('file_not_found', path)
  if (/is a directory|not a file/i.test(words)) return transferRefusal('is_directory', path)
  return new GloveportError('IO', `The backend refused '${path}'.`, { path, details: { words } })
}

/** The text of bytes, where they are UTF-8 without NUL. */
function decoded(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

function mimeType(path: string): string {
  const suffix = /\.[^./]+$/.exec(path)?.[0].toLowerCase() ?? ''
  return MIME_TYPES[suffix] ?? 'application/octet-stream'
}
