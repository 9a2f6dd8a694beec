// What an application's own backend may look like: looser than `Backend`, since its answers are checked anyway.

import type { ExecuteOptions, FileInfo, LsOptions, ReadOptions, RemoveOptions, CallSignal } from './types.js'

type Awaitable<T> = T | Promise<T>

/** An entry that an application's backend names: by its path, or by its name alone. */
export interface UserFileInfo {
  readonly name?: string | undefined
  readonly path?: string | undefined
  readonly type: FileInfo['type']
  /** Bytes; needed for files. */
  readonly size?: number | undefined
  readonly modifiedAt?: Date | undefined
}

/** How a command of an application's backend ended. Streams that were not told apart go into `output`. */
export interface UserExecuteResult {
  readonly output?: string | undefined
  readonly stdout?: string | undefined
  readonly stderr?: string | undefined
  readonly exitCode?: number | null | undefined
  readonly signal?: string | null | undefined
  readonly timedOut?: boolean | undefined
  readonly truncated?: boolean | undefined
}

/**
 * Any object with the methods that it can offer; at the least `read`, `readBytes` or `execute`. What it lacks is derived:
 * edits from reading and writing, searches from listing and reading, moves and copies from both, and all file operations
 * from `execute` where nothing can be read. Searches and edits are always done by this package, so that rules hold in them.
 *
 * Paths are absolute. An error with a code of this package or of Node (`ENOENT`, …) is understood; any other one is a failure
 * of the backend. Each call ends after 30 s, a command with its timeout, whether the method answers or not.
 */
export interface UserBackend {
  /** What relative paths are relative to; default `/`. */
  readonly workingDirectory?: string | undefined
  ls?(path: string, options?: LsOptions): Awaitable<readonly UserFileInfo[]>
  stat?(path: string, options?: CallSignal): Awaitable<UserFileInfo | null | undefined>
  /** The text, or a window of it with `nextOffset` where more follows. */
  read?(
    path: string,
    options?: ReadOptions,
  ): Awaitable<
    | string
    | Uint8Array
    | {
        readonly content: string
        readonly truncated?: boolean | undefined
        readonly nextOffset?: number | null | undefined
      }
  >
  readBytes?(path: string, options?: CallSignal): Awaitable<Uint8Array | string>
  /** Creates or replaces, with parents. Content that is UTF-8 comes as a string. */
  write?(path: string, content: string | Uint8Array, options?: CallSignal): Awaitable<unknown>
  append?(path: string, content: string | Uint8Array, options?: CallSignal): Awaitable<unknown>
  mkdir?(path: string, options?: CallSignal): Awaitable<unknown>
  remove?(path: string, options?: RemoveOptions): Awaitable<unknown>
  /** To a free name whose parent exists. */
  move?(from: string, to: string, options?: CallSignal): Awaitable<unknown>
  copy?(from: string, to: string, options?: CallSignal): Awaitable<unknown>
  /** Runs a command line with a POSIX shell. `stdin` that is UTF-8 comes as a string. */
  execute?(command: string, options?: ExecuteOptions): Awaitable<UserExecuteResult>
}
