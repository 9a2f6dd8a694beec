import { checkOptions, encodeJson } from '../encode.js'
import { errorFromNative } from '../errors/from-native.js'
import { builtinRuntimesJson, defineRuntimeNative, type NativeOutcome } from '../native.js'

/** An image described by what is in it. */
export interface RuntimeConfig {
  /** Letters, digits, `_`, `.` and `-`. */
  readonly name: string
  /** For people. */
  readonly description?: string | undefined
  /** An image used as it is. Not together with `baseImage`. */
  readonly image?: string | undefined
  /** The image that packages and set-up come on top of. */
  readonly baseImage?: string | undefined
  /** Packages as their manager names them: `numpy>=1.26,<3`, `git+https://…`, `@types/react`. No shell reads them. */
  readonly packages?: readonly string[] | undefined
  /** Default `pip`. */
  readonly packageManager?: 'pip' | 'npm' | 'apt' | 'cargo' | undefined
  /** Commands of a shell, run before the packages are installed. */
  readonly setupCommands?: readonly string[] | undefined
  /** Variables of the image. */
  readonly envVars?: Readonly<Record<string, string>> | undefined
  /** Where commands run. Default `/workspace`. */
  readonly workDir?: string | undefined
  /** Whether an image that was built before is used again. Default true. */
  readonly cacheImage?: boolean | undefined
  /** A user that is not root, by number. */
  readonly runAsUid?: number | undefined
}

/** A {@link RuntimeConfig} that was checked. */
export interface Runtime extends RuntimeConfig {
  readonly packages: readonly string[]
  readonly workDir: string
}

/**
 * A runtime of your own, checked: what cannot be built, or would inject something into the build, is an error here.
 *
 * @example
 * const runtime = defineRuntime({ name: 'science', baseImage: 'python:3.12-slim', packages: ['numpy>=1.26,<3'] })
 * const backend = new DockerBackend({ runtime })
 *
 * @throws {InvalidInputError} names what cannot be taken
 */
export function defineRuntime(config: RuntimeConfig): Runtime {
  const json = encodeJson(checkOptions(config, 'config'), 'config')
  return decode<{ runtime: Runtime }>(defineRuntimeNative(json)).runtime
}

/**
 * A runtime that comes along, such as `python-minimal` or `node-typescript`.
 *
 * @throws {InvalidInputError} lists the names
 */
export function getRuntime(name: string): Runtime {
  return decode<Runtime>(builtinRuntimesJson(String(name)))
}

/** All runtimes that come along. */
export function builtinRuntimes(): readonly Runtime[] {
  return decode<Runtime[]>(builtinRuntimesJson())
}

function decode<T>({ value, error }: NativeOutcome): T {
  if (error) throw errorFromNative(error)
  return withoutNulls(JSON.parse(value ?? 'null') as T)
}

/** The core says null where nothing was said; here the field is absent. */
function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, field]) => field !== null)
  return Object.fromEntries(entries.map(([name, field]) => [name, withoutNulls(field)])) as T
}
