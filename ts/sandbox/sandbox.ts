import { checkOptions, describe, encodeJson } from '../encode.js'
import { errorFromNative } from '../errors/from-native.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { type NativeError, type NativeOutcome, NativeSandbox } from '../native.js'
import type { DeriveOptions, PathConfig, SandboxConfig, SandboxOptions } from './types.js'

/** The addon's side of each sandbox; kept apart so that nothing of it shows on the object. */
const NATIVE = new WeakMap<object, NativeSandbox>()

/** The addon's side of a sandbox; an error that says what was given instead for any other value. */
export function nativeSandboxOf(sandbox: unknown): NativeSandbox {
  const native = typeof sandbox === 'object' && sandbox !== null ? NATIVE.get(sandbox) : undefined
  if (native) return native
  throw new InvalidInputError(
    `\`sandbox\` must be a Sandbox, not ${describe(sandbox)}; make one with new Sandbox({ mounts }).`,
  )
}

/**
 * A table of mounts: the agent sees their paths and nothing else. All methods are synchronous; `can*`, `needs*` and
 * `checkSuffix` judge the table alone and never look at the disk.
 *
 * Mount points may lie within each other: the most specific one wins. Host directories may not.
 *
 * @example
 * const sandbox = new Sandbox({
 *   mounts: [
 *     { hostPath: './docs', mountPoint: '/docs', suffixes: ['.md'] },
 *     { hostPath: './out', mountPoint: '/out', mode: 'rw', writeApproval: false },
 *   ],
 * })
 * const backend = new LocalBackend({ sandbox })
 *
 * @throws {InvalidInputError} no mount, one mount point twice, or host directories that overlap; both are named
 */
export class Sandbox {
  constructor(config: SandboxConfig, options?: SandboxOptions) {
    const { basePath, ...unknown } = checkOptions(options)
    NATIVE.set(
      this,
      made(NativeSandbox.create(encodeJson({ ...checkOptions(config, 'config'), basePath, ...unknown }, 'config'))),
    )
  }

  /**
   * Where a path lies on the host, links followed as far as they exist. For display and set-up only.
   *
   * @throws {PathNotInSandboxError} the path lies in no mount, or leads out of it
   */
  resolve(path: string): string {
    return answer(nativeSandboxOf(this).resolve(text(path))).text ?? ''
  }

  /** Whether a path may be read; false for what is no path. */
  canRead(path: string): boolean {
    return isText(path) && nativeSandboxOf(this).canRead(path)
  }

  /** Whether a path may be written; false for what is no path. */
  canWrite(path: string): boolean {
    return isText(path) && nativeSandboxOf(this).canWrite(path)
  }

  /** Whether somebody is asked before a read; false for what may not be read anyway. */
  needsReadApproval(path: string): boolean {
    return isText(path) && nativeSandboxOf(this).needsReadApproval(path)
  }

  /** Whether somebody is asked before a write; false for what may not be written anyway. */
  needsWriteApproval(path: string): boolean {
    return isText(path) && nativeSandboxOf(this).needsWriteApproval(path)
  }

  /**
   * A sandbox over the same mounts that can do at most what this one can.
   *
   * @throws {PathNotInSandboxError} an entry that this sandbox may not read
   * @throws {PathNotWritableError} an entry of `allowWrite` that this sandbox may not write
   * @throws {InvalidInputError} an entry with `..`, or one that is a file
   */
  derive(options?: DeriveOptions): Sandbox {
    const derived = Object.create(Sandbox.prototype) as Sandbox
    NATIVE.set(derived, made(nativeSandboxOf(this).derive(encodeJson(checkOptions(options), 'options'))))
    return derived
  }

  /**
   * The mount of a path.
   *
   * @throws {PathNotInSandboxError} the path lies in no mount
   * @throws {PathNotWritableError} `op` is `write` and the mount is read-only
   */
  getPathConfig(path: string, op: 'read' | 'write'): PathConfig {
    if (op !== 'read' && op !== 'write') throw new InvalidInputError("`op` must be 'read' or 'write'.")
    return JSON.parse(
      answer(nativeSandboxOf(this).pathConfig(text(path), op === 'write')).value ?? 'null',
    ) as PathConfig
  }

  /** @throws {SuffixNotAllowedError} the mount of the path does not take its suffix */
  checkSuffix(path: string): void {
    answer(nativeSandboxOf(this).checkSuffix(text(path)))
  }

  /** @throws {FileTooLargeError} a file lies at the path and is larger than its mount takes */
  checkSize(path: string): void {
    answer(nativeSandboxOf(this).checkSize(text(path)))
  }

  /** The paths that can be read: mount points, longest first, or the entries of a derived sandbox in their order. */
  get readableRoots(): readonly string[] {
    return nativeSandboxOf(this).readableRoots
  }

  /** The paths that can be written. */
  get writableRoots(): readonly string[] {
    return nativeSandboxOf(this).writableRoots
  }
}

function made(result: { readonly sandbox?: NativeSandbox; readonly error?: NativeError }): NativeSandbox {
  if (result.sandbox) return result.sandbox
  throw errorFromNative(result.error ?? { code: 'INTERNAL', message: 'The sandbox could not be made.' })
}

function answer(outcome: NativeOutcome): NativeOutcome {
  if (outcome.error) throw errorFromNative(outcome.error)
  return outcome
}

function isText(path: unknown): path is string {
  return typeof path === 'string' && path.isWellFormed()
}

function text(path: unknown): string {
  if (isText(path)) return path
  throw new InvalidInputError(`\`path\` must be a string of whole characters, not ${describe(path)}.`)
}
