// What a backend is to TypeScript: the interface, and the values that it takes and gives.

import type { OnOutput } from '../output.js'
import type { RunningCommand } from './running-command.js'
import type { TerminalOptions, TerminalSession } from './terminal-session.js'

/** The last parameter of every method. */
export interface CallSignal {
  /** Ends the call; it rejects with `AbortError`. */
  readonly signal?: AbortSignal | undefined
}

/**
 * A place with files, and perhaps a shell. Paths are those that the agent sees; relative ones are relative to the working
 * directory. No method throws synchronously; failures reject with the error classes of this package.
 */
export interface Backend {
  /** Names the backend in logs; unique within the process. */
  readonly id: string
  /** The entries below a directory, `depth` levels deep (default 1): directories first, then by name. A file lists itself. */
  ls(path: string, options?: LsOptions): Promise<LsResult>
  /** Facts about one entry, or null when nothing has that name. */
  stat(path: string, options?: CallSignal): Promise<FileInfo | null>
  /** A window of lines of a text file, exactly as they are. Default: the whole file, up to 64 MiB. */
  read(path: string, options?: ReadOptions): Promise<ReadResult>
  /** A whole file of at most 64 MiB. */
  readBytes(path: string, options?: CallSignal): Promise<Uint8Array>
  /** Creates or replaces a file atomically, with its parents. */
  write(path: string, content: string | Uint8Array, options?: CallSignal): Promise<WriteResult>
  /** Adds to the end of a file, creating it with its parents. */
  append(path: string, content: string | Uint8Array, options?: CallSignal): Promise<WriteResult>
  /** Replaces parts of a file: all of the edits, or none. */
  edit(path: string, edit: Edit | readonly Edit[], options?: CallSignal): Promise<EditResult>
  /** Makes a directory with its parents; an existing one is no error. */
  mkdir(path: string, options?: CallSignal): Promise<void>
  /** Removes a file or link, an empty directory, or with `recursive` a directory and all in it. */
  remove(path: string, options?: RemoveOptions): Promise<void>
  /** Moves to a name that does not exist yet. */
  move(from: string, to: string, options?: CallSignal): Promise<void>
  /** Copies one regular file to a name that does not exist yet. */
  copy(from: string, to: string, options?: CallSignal): Promise<void>
  /** Names by pattern. */
  glob(pattern: string, options?: GlobOptions): Promise<GlobResult>
  /** Lines by regular expression (linear time) or plain text. */
  grep(pattern: string, options?: GrepOptions): Promise<GrepResult>
  /** Files by what is remembered of their path, best fit first: letters in order, with gaps; one in five may be wrong. */
  find?(query: string, options?: FindOptions): Promise<FindResult>
  /** Runs a command line in a shell to its end. A command that fails is no error. */
  execute?(command: string, options?: ExecuteOptions): Promise<ExecuteResult>
  /** Runs a command, or a shell, on a terminal of its own. */
  openTerminal?(options?: TerminalOptions): Promise<TerminalSession>
  /** Ends what the backend started; later calls reject with `ClosedError`. A second close does nothing. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Facts about one entry. */
export interface FileInfo {
  /** The last name of the path; bytes that are not UTF-8 are shown as `\xNN`. */
  readonly name: string
  readonly path: string
  /** `symlink`: its target is missing or lies outside. `other`: a pipe, socket or device, never opened. */
  readonly type: 'file' | 'directory' | 'symlink' | 'other'
  /** Bytes; 0 for what is not a regular file. */
  readonly size: number
  readonly modifiedAt?: Date
}

export interface ReadStreamOptions extends CallSignal {
  /** Bytes to skip; default 0. */
  readonly offset?: number | undefined
  /** Bytes to read; default all. */
  readonly length?: number | undefined
}

/** Pieces of a file: a web stream, a Node stream, a generator, an array. */
export type StreamSource = AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>

export interface LsOptions extends CallSignal {
  /** Levels to descend; default 1. */
  readonly depth?: number | undefined
  /** Whether the files below each directory are counted, at any depth; default false. */
  readonly counts?: boolean | undefined
  /** Whether what `.gitignore` and `.ignore` exclude is left out; default only for more than one level, or with `counts`. */
  readonly ignore?: boolean | undefined
  /** Milliseconds after which a tree is returned as far as it is known with `truncated: true`; default and maximum 30,000. */
  readonly timeout?: number | undefined
}

/** An entry of a listing. */
export interface LsEntry extends FileInfo {
  /** Of a directory, with `counts`: the regular files below it, at any depth. */
  readonly files?: number
}

/** The entries, up to 10,000; of a larger tree the upper levels. `truncated` (not enumerable) says whether there are more. */
export type LsResult = readonly LsEntry[] & { readonly truncated?: boolean }

export interface ReadOptions extends CallSignal {
  /** Lines to skip; default 0. */
  readonly offset?: number | undefined
  /** Lines to return; default all. */
  readonly limit?: number | undefined
}

/** A window of a text file. */
export interface ReadResult {
  /** The lines as they are, each with its own line end. */
  readonly content: string
  /** Lines skipped. */
  readonly offset: number
  /** Lines in `content`. */
  readonly lines: number
  /** Lines of the whole file; null where the file is too large to count and its end was not reached. */
  readonly totalLines: number | null
  /** Bytes of the whole file. */
  readonly bytes: number
  /** Where to read on; absent at the end. */
  readonly nextOffset?: number
  /** Whether `content` ends before the file does. */
  readonly truncated: boolean
}

/** Replaces a string, which must occur once unless `replaceAll`. */
export interface StringEdit {
  readonly oldString: string
  readonly newString: string
  readonly replaceAll?: boolean | undefined
}

/** Replaces whole lines, named by number (from 1) and tag. */
export interface LineEdit {
  readonly startLine: number
  readonly startHash: string
  /** The new lines; empty deletes. */
  readonly newContent: string
  readonly endLine?: number | undefined
  readonly endHash?: string | undefined
  /** Inserts after `startLine` instead of replacing it. */
  readonly insertAfter?: boolean | undefined
}

export type Edit = StringEdit | LineEdit

/** What a write did. */
export interface WriteResult {
  readonly path: string
  /** Bytes of the whole file now. */
  readonly bytes: number
  readonly created: boolean
  /** Unified diff; empty where nothing changed or the content is not text. */
  readonly diff: string
}

/** What an edit did. */
export interface EditResult {
  readonly path: string
  readonly replacements: number
  readonly diff: string
  readonly summary: string
  /** Whether the file had moved on since it was read, and the edit was applied to what is there now. */
  readonly rebased: boolean
}

export interface RemoveOptions extends CallSignal {
  /** Whether a directory goes with all that is in it; default false. */
  readonly recursive?: boolean | undefined
}

export interface FindOptions extends CallSignal {
  /** Where to search; default the working directory. */
  readonly path?: string | undefined
  /** Whether names that begin with a dot are visited; default false. */
  readonly hidden?: boolean | undefined
  /** Whether `.gitignore` and `.ignore` files are honoured; default true. */
  readonly ignore?: boolean | undefined
  /** Results to skip; default 0. */
  readonly offset?: number | undefined
  /** Results to return; default 20, at most 10,000. */
  readonly limit?: number | undefined
  /** Milliseconds after which the search returns what it has, with `truncated: true`; default and maximum 30,000. */
  readonly timeout?: number | undefined
}

/** Files, best fit first. */
export interface FindResult {
  readonly files: readonly FileInfo[]
  /** All that fit; a lower bound when time cut the search short. */
  readonly total: number
  /** What `.gitignore` and `.ignore` files left out: files, and directories that were not looked into. */
  readonly ignored: number
  readonly truncated: boolean
  /** The `offset` of the next page; absent at the end. */
  readonly nextOffset?: number
}

export interface GlobOptions extends CallSignal {
  /** Where to search; default the working directory. */
  readonly path?: string | undefined
  /** Default `file`. */
  readonly type?: 'file' | 'directory' | 'any' | undefined
  /** Whether names that begin with a dot are visited; default false. */
  readonly hidden?: boolean | undefined
  /** Whether `.gitignore` and `.ignore` files are honoured; default true. */
  readonly ignore?: boolean | undefined
  /** `modified` (default): newest first. `path`: by name. */
  readonly sort?: 'modified' | 'path' | undefined
  /** The `nextCursor` of the page before: goes on behind it, whatever was added or changed meanwhile. */
  readonly cursor?: string | undefined
  /** Results to skip from there; default 0. */
  readonly offset?: number | undefined
  /** Results to return; default and maximum 10,000. */
  readonly limit?: number | undefined
  /** Links to what is inside, none of which is ever entered: `match` counts one as what it leads to, `skip` leaves it out. Default `match`. */
  readonly links?: 'match' | 'skip' | undefined
  /** Threads to use at most; default the machine's, up to 8. */
  readonly threads?: number | undefined
  /** Milliseconds after which the search returns what it has, with `truncated: true`; default and maximum 30,000. */
  readonly timeout?: number | undefined
}

export interface GlobResult {
  readonly files: readonly FileInfo[]
  /** All that matched; a lower bound when time cut the search short. */
  readonly total: number
  /** What `.gitignore` and `.ignore` files left out: files of matching names, and directories that were not looked into. */
  readonly ignored: number
  readonly truncated: boolean
  /** The `offset` of the next page; absent at the end. */
  readonly nextOffset?: number
  /** The `cursor` of the next page; absent at the end. */
  readonly nextCursor?: string
}

export interface GrepOptions extends CallSignal {
  /** A directory, or a file, which is always searched; default the working directory. */
  readonly path?: string | undefined
  /** Whether the pattern is plain text; default false. */
  readonly literal?: boolean | undefined
  /** Default `sensitive`. `smart`: insensitive unless the pattern holds an upper-case letter. */
  readonly case?: 'sensitive' | 'insensitive' | 'smart' | undefined
  /** Whether a match must be a whole word. */
  readonly word?: boolean | undefined
  /** Whether a match may span lines. */
  readonly multiline?: boolean | undefined
  /** Whether the pattern may look around and refer back, line by line and within a bound of steps. */
  readonly lookAround?: boolean | undefined
  /** Only files that match one of these; `!` excludes. */
  readonly globs?: readonly string[] | undefined
  /** Only files of one of these types, such as `ts`, `py`, `rust`, `md`. */
  readonly types?: readonly string[] | undefined
  readonly hidden?: boolean | undefined
  readonly ignore?: boolean | undefined
  /** Lines of context before a match; default 0. */
  readonly before?: number | undefined
  /** Lines of context after a match; default 0. */
  readonly after?: number | undefined
  /** Matching lines of one file before it is left. */
  readonly maxPerFile?: number | undefined
  /** Default `content`. */
  readonly mode?: 'content' | 'files_with_matches' | 'count' | undefined
  /** The order of files: `modified` (default), newest first, or `path`. */
  readonly sort?: 'modified' | 'path' | undefined
  /** Results to skip: matches, or files in the other modes. */
  readonly offset?: number | undefined
  /** Results to return; default and maximum 10,000. */
  readonly limit?: number | undefined
  /** Links to what is inside, none of which is ever entered: `match` counts one as what it leads to, `skip` leaves it out. Default `skip`. */
  readonly links?: 'match' | 'skip' | undefined
  /** Threads to use at most; default the machine's, up to 8. */
  readonly threads?: number | undefined
  /** Milliseconds after which the search returns what it has, with `truncated: true`; default and maximum 30,000. */
  readonly timeout?: number | undefined
}

export interface GrepLine {
  /** From 1. */
  readonly lineNumber: number
  /** Without its line end. */
  readonly line: string
}

export interface GrepMatch extends GrepLine {
  readonly path: string
  readonly before?: readonly GrepLine[]
  readonly after?: readonly GrepLine[]
}

export interface GrepFile {
  readonly path: string
  /** Matching lines; 1 in mode `files_with_matches`. */
  readonly count: number
}

export interface GrepResult {
  /** Empty in modes `files_with_matches` and `count`. */
  readonly matches: readonly GrepMatch[]
  readonly files: readonly GrepFile[]
  readonly totalMatches: number
  readonly totalFiles: number
  readonly searchedFiles: number
  /** What `.gitignore` and `.ignore` files left out: files, and directories that were not looked into. */
  readonly ignored: number
  readonly truncated: boolean
  /** The `offset` of the next page; absent at the end. */
  readonly nextOffset?: number
}

export interface ExecuteOptions extends CallSignal {
  /** Milliseconds after which the command and all it started is ended; default 120,000. */
  readonly timeout?: number | undefined
  /** Where it runs; default the working directory. */
  readonly cwd?: string | undefined
  /** Variables on top of the backend's. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** What the command reads; nothing when absent. */
  readonly stdin?: string | Uint8Array | undefined
  /** Is handed output as it comes. */
  readonly onOutput?: OnOutput | undefined
  /** Ceilings on what it uses; a backend that cannot enforce one refuses the command. */
  readonly limits?: ExecuteLimits | undefined
  /**
   * What becomes of processes that it leaves behind: `'end'` (the default) ends them before the result is there,
   * `'keep'` lets them live until the backend is closed. Of commands that keep some, 64 at once; the next one is `BUSY`.
   */
  readonly background?: 'end' | 'keep' | undefined
  /**
   * What happens when `timeout` is over: `'end'` (the default) ends the command with all it started, `'background'` lets
   * the same process run on as {@link ExecuteResult.process}. Its input is then a pipe that stays
   * open, unless `stdin` gave it all.
   */
  readonly onTimeout?: 'end' | 'background' | undefined
}

/** Ceilings for one command: memory, processor time and processes of all its processes together, files of each. */
export interface ExecuteLimits {
  /**
   * Bytes of address space of each process. Programs that reserve much and use little (Node.js, Java, Go) need gigabytes. And
   * bytes of memory that all of them use together, shared pages once: a look every 50 ms finds more and ends the command.
   */
  readonly memoryBytes?: number
  /**
   * Milliseconds of processor time, rounded up to whole seconds: a process alone gets `SIGXCPU`; a second later it is killed, or
   * all together are.
   */
  readonly cpuMs?: number
  /** Processes that live at once; default 2,048. A command that has more is ended. */
  readonly processes?: number
  /** Bytes of the largest file that it may write. */
  readonly fileBytes?: number
  readonly openFiles?: number
}

/** How a command ended. Captured output is bounded: head and tail are kept, with an honest marker between. */
export interface ExecuteResult {
  /**
   * Both streams as they arrived. They are two pipes: the order within each is exact, the order between the two is near, and what
   * is printed to both within a moment may change places. `2>&1` in the command makes one of them.
   */
  readonly output: string
  readonly stdout: string
  readonly stderr: string
  /** Null when a signal ended the shell. */
  readonly exitCode: number | null
  /** Such as `SIGKILL`. */
  readonly signal?: string
  readonly timedOut: boolean
  readonly truncated: boolean
  readonly durationMs: number
  /** Processes that the command left behind and that were ended. */
  readonly processesLeft?: number
  /** Process numbers of what the command left behind and is kept (`background: 'keep'`). */
  readonly processesKept?: readonly number[]
  /**
   * Bytes of memory at the peak, where the backend knows: of the largest process, or of all together where a look (after 50 ms,
   * then every second; every 50 ms with a ceiling on memory) showed more.
   */
  readonly peakMemoryBytes?: number
  /**
   * The ceiling of {@link ExecuteLimits} for which it was ended. `'cpuTime'` beside an `exitCode`: it ended by itself, and its
   * processes used the time up, so that some of them may have been ended.
   */
  readonly ceiling?: 'processes' | 'memory' | 'cpuTime'
  /**
   * The command ended the program that ends its processes (`kill -9 $PPID`): those that were found were ended, others may
   * live on.
   */
  readonly supervisorLost?: true
  /** Where the agent can read the whole output, when it did not fit; only in the `data` of a tool's result. */
  readonly spillPath?: string
  /** Where the file at `spillPath` holds only the beginning of the output: so many bytes. */
  readonly spillBytes?: number
  /** What the exit code means, where that is well known: `no line matched` for the 1 of `grep`. */
  readonly exitMeaning?: string
  /** The command itself, where `onTimeout: 'background'` let it run on. */
  readonly process?: RunningCommand
}
