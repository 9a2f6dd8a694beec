import { checkOptions } from '../encode.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { NativeFiles } from './native-files.js'
import { nativeOfUser } from './user.js'
import type { UserBackend } from './user-types.js'

/** What an author sets on a {@link ShellBackend}. */
export interface ShellBackendOptions {
  /** Runs a command line with a POSIX shell (`sh -c`), and answers with what it printed. */
  readonly execute: NonNullable<UserBackend['execute']>
  /** What relative paths of the file operations are relative to; default `/`. */
  readonly workingDirectory?: string | undefined
}

/**
 * Files and commands of anything that runs a command line: a container, a machine over ssh, a remote sandbox. Every file
 * operation goes through POSIX tools (those of busybox do), correctly quoted, exact for bytes, of any size. No walls but those
 * of the shell itself: whatever it can reach, the file tools can.
 *
 * @example
 * const backend = new ShellBackend({
 *   execute: async (command) => {
 *     const { stdout, stderr, code } = await container.run(['sh', '-c', command])
 *     return { stdout, stderr, exitCode: code }
 *   },
 * })
 *
 * @throws {InvalidInputError} `execute` is no function, or an option is not known
 */
export class ShellBackend extends NativeFiles {
  /** Held for as long as this object lives; see `nativeOfUser`. */
  protected readonly target: UserBackend

  constructor(options: ShellBackendOptions) {
    const { execute, workingDirectory, ...unknown } = checkOptions(options) as ShellBackendOptions
    if (typeof execute !== 'function') throw new InvalidInputError('`execute` must be a function that runs a command.')
    const [name] = Object.keys(unknown)
    if (name !== undefined) {
      throw new InvalidInputError(`\`options.${name}\` is not known; there are \`execute\` and \`workingDirectory\`.`)
    }
    const target: UserBackend = { execute: (command, given) => execute.call(options, command, given), workingDirectory }
    super({ backend: nativeOfUser(target, ['execute'], 'options') }, [target])
    this.target = target
  }
}
