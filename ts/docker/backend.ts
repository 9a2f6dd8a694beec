import { checkOptions, describe, encodeJson } from '../encode.js'
import { errorFromNative } from '../errors/from-native.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { runNative } from '../native-call.js'
import { NativeDocker } from '../native.js'
import { NativeFiles } from '../backend/native-files.js'
import type { CallSignal, ExecuteLimits } from '../backend/types.js'
import { nativeSandboxOf, type Sandbox } from '../sandbox/sandbox.js'
import { guestPrograms } from './guest.js'
import { getRuntime, type RuntimeConfig } from './runtime.js'

/** What an author sets on a {@link DockerBackend}. */
export interface DockerBackendOptions {
  /**
   * The engine: `unix:///path`, `tcp://host:port`, `ssh://user@host` or `npipe://…`. Default: `DOCKER_HOST`, the current
   * Docker context, then the sockets where Docker and Podman usually are.
   */
  readonly host?: string | undefined
  /** The image. Not together with `runtime`. */
  readonly image?: string | undefined
  /** An image described by its packages, or the name of one that comes along; built when it is not there. */
  readonly runtime?: RuntimeConfig | string | undefined
  /** Whether a missing image is pulled. Default `missing`: yes. */
  readonly pull?: 'missing' | 'never' | undefined
  /**
   * Who builds the image of a `runtime`. Default `auto`: BuildKit where the engine has it (Docker since 20.10), which keeps what
   * package managers download for the next build of that runtime, as Podman's builder does; else the classic builder, which
   * makes the same image and keeps nothing. `buildkit` is an error where there is none.
   */
  readonly builder?: 'auto' | 'buildkit' | 'classic' | undefined
  /** The network of a build: `none`, `bridge`, or the name of a network of the engine. Default: the engine's usual one. */
  readonly buildNetwork?: string | undefined
  /**
   * A container by name or id: attached to when it exists, whether it runs, is paused or stopped; made under this name
   * otherwise, if there is an image. It is kept when it stops, with its files.
   */
  readonly container?: string | undefined
  /**
   * Whose container it is, in your own words: a plain name, and the label `dev.gloveport.id` of one that is made. A `SessionManager`
   * gives each session's.
   */
  readonly sessionId?: string | undefined
  /** Where commands run and what relative paths are relative to. Default `/workspace`, or the runtime's or first mount's. */
  readonly workDir?: string | undefined
  /** Directories of this machine, seen inside under the agent's paths. File tools then see the mounts and nothing else. */
  readonly sandbox?: Sandbox | undefined
  /** Variables for everything inside. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Default `none`; `bridge`, or the name of a network of the engine. */
  readonly network?: string | undefined
  /** Bytes of memory. Default 2 GiB. */
  readonly memory?: number | undefined
  /** Bytes of memory and swap together. Default: `memory`, so no swap. */
  readonly memorySwap?: number | undefined
  /** Processors' worth of time. Default 2. */
  readonly cpus?: number | undefined
  /** Weight against other containers. */
  readonly cpuShares?: number | undefined
  /** Processes and threads. Default 256. */
  readonly pids?: number | undefined
  /**
   * Bytes that the container's own files may take. An engine whose storage cannot hold them to it refuses (`UNSUPPORTED`): `overlay2`
   * can on XFS with project quotas, `btrfs` and `zfs` can. Default: no bound but the engine's disk.
   */
  readonly disk?: number | undefined
  /** Bytes of one file that a command writes. Default 16 GiB. */
  readonly fileSize?: number | undefined
  /**
   * Ceilings for every command, those of tools, in the background and in terminals as well; what a call asks for by `limits` can only be
   * lower. Where the container is served through its shell, `fileBytes` and `openFiles` alone can be had; with another one commands are
   * refused there (`UNSUPPORTED`). Default: none but the container's own.
   */
  readonly commandLimits?: ExecuteLimits | undefined
  /** Capabilities that are not dropped. Default: none. */
  readonly capabilities?: readonly string[] | undefined
  /** File systems in memory: path → options, such as `uid=1000,size=64m`; root's unless `uid` says otherwise. */
  readonly tmpfs?: Readonly<Record<string, string>> | undefined
  /** Whether only mounts, `tmpfs` and `/tmp` can be written. */
  readonly readOnlyRoot?: boolean | undefined
  /**
   * The user inside, as `uid`, `uid:gid` or name. Default: the runtime's `runAsUid`, else the image's; with mounts that can be written
   * this process's user, or where that is root the one who owns them all.
   */
  readonly user?: string | undefined
  /** Another runtime of the engine, such as `runsc`. */
  readonly ociRuntime?: string | undefined
  /** Milliseconds without a call after which the container is stopped. Default: never. */
  readonly idleTimeout?: number | undefined
  /** Hears what pulls and builds say. */
  readonly onProgress?: ((text: string) => void) | undefined
}

/** Tells the application's author what no call fails for, as Node tells of such things. */
function warn(text: string): void {
  process.emitWarning(text, { type: 'GloveportWarning', code: 'GLOVEPORT_DOCKER' })
}

/** `onProgress` of the application: where it fails, a pull and a build go on, and the author is told. */
function heard(onProgress: ((text: string) => unknown) | undefined): ((text: string) => void) | undefined {
  if (!onProgress) return undefined
  const failed = (error: unknown): void =>
    warn(`\`onProgress\` failed: ${error instanceof Error ? error.message : describe(error)}`)
  return (text) => {
    try {
      Promise.resolve(onProgress(text)).catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}

/** What a container uses at a moment. */
export interface DockerUsage {
  readonly memoryBytes?: number
  readonly memoryLimitBytes?: number
  /** 100 is one processor. */
  readonly cpuPercent?: number
  readonly processes?: number
}

/**
 * A container with files and a shell, started by the first call that needs it. Hardened unless told otherwise: no network,
 * no capabilities, no new privileges; memory, processors and processes bounded. It ends with this process, however that
 * ends.
 *
 * @example
 * const backend = new DockerBackend({ image: 'python:3.12-slim' })
 * await backend.write('hello.py', 'print("hello")\n')
 * const { stdout } = await backend.execute('python hello.py')
 * await backend.close() // the container is gone
 *
 * @throws {InvalidInputError} an option is not right, or would open the wall
 */
export class DockerBackend extends NativeFiles {
  /** What its image is described by, where that is not an image alone. */
  readonly runtime: RuntimeConfig | undefined
  /** Milliseconds without a call after which it is stopped; undefined is never. */
  readonly idleTimeout: number | undefined
  /** Whose it is; undefined where nobody said. */
  readonly sessionId: string | undefined
  readonly #docker: NativeDocker

  constructor(options?: DockerBackendOptions) {
    const { sandbox, onProgress, runtime, ...rest } = checkOptions(options)
    if (onProgress !== undefined && typeof onProgress !== 'function') {
      throw new InvalidInputError(`\`onProgress\` must be a function, not ${describe(onProgress)}.`)
    }
    const described = typeof runtime === 'string' ? getRuntime(runtime) : runtime
    const json = encodeJson({ ...rest, runtime: described }, 'options')
    const native = sandbox === undefined ? null : nativeSandboxOf(sandbox)
    const { docker, error } = NativeDocker.create(json, native, ...guestPrograms(), heard(onProgress), warn)
    if (!docker) throw errorFromNative(error ?? { code: 'INTERNAL', message: 'The container could not be made.' })
    super({ backend: docker.backend() })
    this.#docker = docker
    this.runtime = described
    this.idleTimeout = rest.idleTimeout
    this.sessionId = rest.sessionId
  }

  /**
   * Starts the container now, and resolves when it answers. Who gives up gets an `AbortError`; what was begun, such as a pull,
   * goes on for the next call, until it is stopped.
   *
   * @throws {BackendUnavailableError} no engine, no image, or no start; says what was tried
   */
  async start(options?: CallSignal): Promise<void> {
    await runNative(checkOptions(options), (cancel) => this.#docker.invoke('start', cancel))
  }

  /** Stops it: gone with its files, but kept when it has a name and `purge` is not set. Twice is once. */
  async stop(options?: { readonly purge?: boolean | undefined } & CallSignal): Promise<void> {
    const { purge, ...rest } = checkOptions(options)
    await runNative(rest, (cancel) => this.#docker.invoke(purge === true ? 'purge' : 'stop', cancel))
  }

  /**
   * Stops it, as {@link DockerBackend.stop} does, unless a call runs or has run within so many milliseconds, and says whether it did.
   * A call that was made before this one keeps it.
   */
  async stopIfIdle(milliseconds: number): Promise<boolean> {
    if (typeof milliseconds !== 'number' || !(milliseconds >= 0)) {
      throw new InvalidInputError(`The idle time is a number that is not negative, not ${describe(milliseconds)}.`)
    }
    const { value } = await runNative({}, () => this.#docker.stopIfIdle(milliseconds))
    return value === 'true'
  }

  /**
   * Whether the container runs, or goes on at the next call as one that is paused does. Starts nothing.
   *
   * @throws {BackendUnavailableError} its engine does not say; the container may well run
   */
  async isAlive(): Promise<boolean> {
    const { value } = await runNative({}, () => this.#docker.invoke('alive'))
    return value === 'true'
  }

  /** The engine's number of the container while it runs. For people and logs, never for a model. */
  async containerId(): Promise<string | null> {
    const { value } = await runNative({}, () => this.#docker.invoke('id'))
    return JSON.parse(value ?? 'null') as string | null
  }

  /** Milliseconds since the last call ended, and parts of them; 0 only while one runs. Any call counts. */
  get idleMs(): number {
    return this.#docker.idleMs()
  }

  /** Counts as a call: it is not idle from now. */
  touch(): void {
    this.#docker.touch()
  }

  /** What it uses, or null where it does not run. */
  async usage(options?: CallSignal): Promise<DockerUsage | null> {
    const { value } = await runNative(checkOptions(options), (cancel) => this.#docker.invoke('usage', cancel))
    return JSON.parse(value ?? 'null') as DockerUsage | null
  }
}
