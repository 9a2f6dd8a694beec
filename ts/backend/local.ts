import { checkOptions, encodeJson } from '../encode.js'
import { NativeBackend } from '../native.js'
import { nativeSandboxOf, type Sandbox } from '../sandbox/sandbox.js'
import { NativeFiles } from './native-files.js'
import type { ExecuteLimits } from './types.js'

/** What an author sets on a {@link LocalBackend}. */
export interface LocalBackendOptions {
  /**
   * The directory that relative paths are relative to and that the agent may use. Default: the first of
   * `allowedDirectories`, else the current directory.
   */
  readonly root?: string | undefined
  /** Further directories that the agent may use, by their own absolute paths. */
  readonly allowedDirectories?: readonly string[] | undefined
  /** Mounts instead of directories: the agent sees their paths and nothing else. Not together with `root`. */
  readonly sandbox?: Sandbox | undefined
  /** `ro`: nothing can be written. Default `rw`. */
  readonly mode?: 'ro' | 'rw' | undefined
  /**
   * Whether commands may run. They run with the rights of this process's user. Default true; on a `sandbox` they are
   * refused all the same, unless `confinement` is `none`, because nothing would hold them inside the mounts.
   */
  readonly execute?: boolean | undefined
  /**
   * Variables for commands, on top of a short list that is always passed on. Nothing else of this process's environment is, and
   * of its `PATH` no directory in which the agent may write; a `PATH` that stands here is taken as it is.
   */
  readonly env?: Readonly<Record<string, string>> | undefined
  /**
   * Ceilings for every command, those of tools, the background and terminals included; what a call asks for can only be lower.
   * Of these a command has 2,048 processes at the most where nothing is said. Refused, with the command, where they cannot be
   * enforced (on other systems than Linux).
   */
  readonly commandLimits?: ExecuteLimits | undefined
  /**
   * Whether the shell of the next command is started ahead, on Linux with glibc: commands start in two thirds of the time. It is held by a
   * library of gloveport's in memory (`LD_PRELOAD`), which a monitor of the machine may remark on. Default true.
   */
  readonly startAhead?: boolean | undefined
  /** What holds a command inside the same walls as the file tools. `none` accepts that nothing does. */
  readonly confinement?: 'auto' | 'none' | undefined
  /** What a write waits for: nothing, its bytes on the disk, or its name too. Default `data`. */
  readonly durability?: 'none' | 'data' | 'full' | undefined
}

/**
 * A directory of this machine. File tools cannot be led out of it: links, `..` and concurrent renames included. Commands
 * can: `execute` runs with your user's rights.
 *
 * @example
 * const backend = new LocalBackend({ root: './project' })
 * const { content } = await backend.read('README.md')
 * await backend.close()
 *
 * @throws {InvalidInputError} an option has the wrong type or is not known
 * @throws {FileNotFoundError} a directory does not exist
 */
export class LocalBackend extends NativeFiles {
  constructor(options?: LocalBackendOptions) {
    const { sandbox, ...rest } = checkOptions(options)
    const native = sandbox === undefined ? null : nativeSandboxOf(sandbox)
    super(NativeBackend.local(encodeJson(rest, 'options'), native))
  }
}
