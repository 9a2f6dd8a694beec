// One container a session. The lifetimes of JavaScript objects that a function of the application may make: the only
// state of this package that lives in TypeScript. Everything that could go wrong between two awaits is decided before the
// first one: an id that is being made is in the table already.

import { mkdirSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'

import { checkOptions, describe } from '../encode.js'
import { BackendUnavailableError } from '../errors/backend-unavailable-error.js'
import { ClosedError } from '../errors/closed-error.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { SessionLimitError } from '../errors/session-limit-error.js'
import { Sandbox } from '../sandbox/sandbox.js'
import { DockerBackend, type DockerBackendOptions } from './backend.js'
import { checkCount } from './check-count.js'
import { Placement, type Placed, type SessionHost } from './placement.js'
import type { RuntimeConfig } from './runtime.js'

/** One hour, as containers that people forget should not live for a day. */
const DEFAULT_IDLE_TIMEOUT = 3_600_000
/** Five minutes between two looks for idle sessions. */
const CLEANUP_INTERVAL = 300_000
/** 2^31 - 1 ms, some 25 days: Node takes a longer interval for one of 1 ms. */
const MAX_INTERVAL = 2 ** 31 - 1
/** 128 characters: an id becomes a directory and part of a name. */
const ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

/** What a session is: a {@link DockerBackend}, or an object of the application with these methods. */
export interface Session {
  start(): Promise<void> | void
  stop(): Promise<void> | void
  /** Whether it goes on being used; false replaces it. Where that cannot be known it throws, and the session stays. */
  isAlive(): Promise<boolean> | boolean
  /** Milliseconds since the last use, 0 while something runs; without it the session is never evicted. */
  readonly idleMs?: number | undefined
  /** Milliseconds; wins over the manager's default. */
  readonly idleTimeout?: number | undefined
  /** Called each time the session is handed out again. */
  touch?(): void
  /**
   * Stops unless something runs or has run within so many milliseconds, and says whether it did; asked before `stop`
   * where an idle session is evicted. Only the session itself knows of a call that has just begun.
   */
  stopIfIdle?(milliseconds: number): Promise<boolean> | boolean
}

/** What the session of an id is made with. */
export interface SessionContext {
  readonly runtime?: RuntimeConfig | string | undefined
  /** Its workspace folder, where the manager has a `workspaceRoot`. */
  readonly sandbox?: Sandbox | undefined
  /** The engine that it is placed on, where the manager has `hosts`. */
  readonly host?: string | undefined
}

/** Makes the session of an id. */
export type SessionFactory<S extends Session> = (id: string, context: SessionContext) => S | Promise<S>

/** What an author sets on a {@link SessionManager}. */
export interface SessionManagerOptions<S extends Session> {
  /** Makes sessions. Default: a {@link DockerBackend} with the options of `docker`. */
  readonly create?: SessionFactory<S> | undefined
  /** Options of the containers that are made by default. */
  readonly docker?: Omit<DockerBackendOptions, 'container' | 'sandbox' | 'sessionId'> | undefined
  /**
   * Engines to place sessions on: each new one goes where most room is left, and to the next where that engine cannot be
   * reached. Room is what its `maxSessions` and the engine's memory and processors leave, beside all containers that run there, whoever
   * made them. Nothing is refused for memory and processors alone. Default: the one of `docker`.
   */
  readonly hosts?: readonly (string | SessionHost)[] | undefined
  /** What runs in a session that asks for nothing. */
  readonly defaultRuntime?: RuntimeConfig | string | undefined
  /** Milliseconds of idleness. Default one hour. */
  readonly idleTimeout?: number | undefined
  /** A folder of this machine; each session gets `{root}/{id}/workspace` as its `/workspace`, and finds it again. */
  readonly workspaceRoot?: string | undefined
  /** Sessions at once. Default: no limit. */
  readonly maxSessions?: number | undefined
  /** Called after a session was stopped. What it throws is given to `onError`. */
  readonly onRelease?: ((id: string) => void | Promise<void>) | undefined
  /** Hears what went wrong where nobody waits: in a release, or in the cleanup loop. */
  readonly onError?: ((error: unknown) => void) | undefined
}

interface Entry<S> {
  /** Made and started; rejects where that failed. */
  readonly session: Promise<S>
  readonly begun: Begun<S>
  /** The value of `session`, once it is there. */
  made?: S
  readonly placed: Placed
  /** While it is asked to stop if it is idle: whether it has. */
  evicted?: Promise<boolean> | undefined
}

/** How far an entry has come that is not made. */
interface Begun<S> {
  /** What is being started. */
  session?: S
  /** Nobody wants it any more. */
  given: boolean
}

/**
 * Sessions by id, each made once and handed out until it is released, idle for too long, or dead.
 *
 * @example
 * const sessions = new SessionManager({ docker: { image: 'python:3.12-slim' }, maxSessions: 50 })
 * const backend = await sessions.getOrCreate('user-42')
 * await backend.execute('python --version')
 * await sessions.shutdown()
 */
export class SessionManager<S extends Session = DockerBackend> {
  readonly #options: SessionManagerOptions<S>
  readonly #entries = new Map<string, Entry<S>>()
  /** Sessions that are being stopped: an id is free again once its old one is gone. */
  readonly #leaving = new Map<string, Promise<unknown>>()
  /** The entries of {@link #leaving}: until they are gone they have their place. */
  readonly #ending = new Set<Entry<S>>()
  readonly #root: string | undefined
  readonly #placement: Placement
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(options?: SessionManagerOptions<S>) {
    this.#options = checkOptions(options) as SessionManagerOptions<S>
    checkCount(this.#options.maxSessions, 'maxSessions')
    checkCount(this.#options.idleTimeout, 'idleTimeout')
    for (const name of ['create', 'onRelease', 'onError'] as const) {
      const given: unknown = this.#options[name]
      if (given !== undefined && typeof given !== 'function') {
        throw new InvalidInputError(`\`${name}\` must be a function, not ${describe(given)}.`)
      }
    }
    checkShared(this.#options.docker)
    this.#placement = new Placement(this.#options.hosts, this.#options.docker, () => this.#held)
    this.#root = this.#options.workspaceRoot === undefined ? undefined : resolve(this.#options.workspaceRoot)
  }

  /**
   * The session of an id, made and started when there is none that lives. Calls at the same time get the same one.
   *
   * @throws {BackendUnavailableError} no engine has room, or the one of a session that is open does not answer: that is kept
   * @throws {SessionLimitError} as many as `maxSessions` are open
   * @throws {InvalidInputError} the id is no plain name
   */
  async getOrCreate(id: string, options?: { readonly runtime?: RuntimeConfig | string | undefined }): Promise<S> {
    const { runtime = this.#options.defaultRuntime } = checkOptions(options)
    checkId(id)
    for (;;) {
      if (this.#closed) throw new ClosedError('The session manager was shut down; make a new one.')
      const entry = this.#entries.get(id)
      if (!entry) return await this.#begin(id, runtime)
      const session = await entry.session
      await entry.evicted
      if (this.#entries.get(id) !== entry) continue
      if (await session.isAlive()) {
        // Handed out while it is looked at whether it goes, it might be gone by then.
        if (this.#entries.get(id) !== entry || entry.evicted) continue
        session.touch?.()
        return session
      }
      if (this.#entries.get(id) === entry) await this.#end(id, entry, false)
    }
  }

  /**
   * Stops the session of an id; false when there was none. A container that is only being started is given up, and who
   * asked for it gets a `ClosedError`.
   */
  async release(id: string): Promise<boolean> {
    const entry = this.#entries.get(id)
    if (!entry) return false
    await this.#end(id, entry, true)
    return true
  }

  /**
   * Stops what was idle for longer than `maxIdle`, else than its own or the manager's timeout. A session in which something
   * runs is not idle, and one that does not tell is never stopped. Resolves to how many were stopped.
   */
  async cleanupIdle(maxIdle?: number): Promise<number> {
    checkCount(maxIdle, 'maxIdle')
    const idle = [...this.#entries].filter(([, { made }]) => made !== undefined && this.#isIdle(made, maxIdle))
    const ended = await Promise.all(
      idle.map(async ([id, entry]) => {
        // Somebody may have used it while others were stopped.
        if (this.#entries.get(id) !== entry || !entry.made || !this.#isIdle(entry.made, maxIdle)) return false
        return await this.#evict(id, entry, entry.made, maxIdle)
      }),
    )
    return ended.filter(Boolean).length
  }

  /** Calls {@link cleanupIdle} from time to time; the timer does not keep the process alive. */
  startCleanupLoop(intervalMs: number = CLEANUP_INTERVAL): void {
    checkCount(intervalMs, 'intervalMs')
    this.stopCleanupLoop()
    const every = Math.min(intervalMs, MAX_INTERVAL)
    this.#timer = setInterval(() => void this.cleanupIdle().catch((error) => this.#report(error)), every)
    this.#timer.unref()
  }

  /** Ends the loop. */
  stopCleanupLoop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Stops all sessions at the same time, also where one fails to stop, and opens none any more. */
  async shutdown(): Promise<number> {
    this.#closed = true
    this.stopCleanupLoop()
    const entries = [...this.#entries]
    await Promise.all(entries.map(([id, entry]) => this.#end(id, entry, true)))
    await Promise.all(this.#leaving.values())
    return entries.length
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shutdown()
  }

  /** Whether a session of that id is open. */
  has(id: string): boolean {
    return this.#entries.get(id)?.made !== undefined
  }

  /** The open sessions, by id; a copy. */
  get sessions(): ReadonlyMap<string, S> {
    return new Map([...this.#entries].flatMap(([id, { made }]) => (made === undefined ? [] : [[id, made] as const])))
  }

  /** How many sessions are open. */
  get size(): number {
    return this.sessions.size
  }

  /** Nothing is awaited between the look and the entry: two ids at once never pass the limit together. */
  #begin(id: string, runtime: RuntimeConfig | string | undefined): Promise<S> {
    const { maxSessions } = this.#options
    const held = new Set([...this.#entries.keys(), ...this.#leaving.keys()])
    held.delete(id)
    if (maxSessions !== undefined && held.size >= maxSessions) {
      const message = `There are ${maxSessions} sessions already, and that is the limit; release one first.`
      throw new SessionLimitError(message, { details: { limit: maxSessions } })
    }
    this.#placement.check()
    const placed: Placed = { host: undefined }
    const begun: Begun<S> = { given: false }
    const entry: Entry<S> = { session: this.#make(id, placed, begun, runtime), begun, placed }
    this.#entries.set(id, entry)
    entry.session.then(
      (made) => (entry.made = made),
      () => this.#entries.get(id) === entry && this.#entries.delete(id),
    )
    return entry.session
  }

  async #make(id: string, placed: Placed, begun: Begun<S>, runtime: RuntimeConfig | string | undefined): Promise<S> {
    await this.#leaving.get(id)
    const sandbox = this.#root === undefined ? undefined : workspace(this.#root, id)
    const lost: { host: string; message: string }[] = []
    const left = await this.#placement.look()
    placed.host = this.#placement.first(left)
    for (;;) {
      const host = placed.host?.host
      try {
        return await this.#start(await this.#create(id, { runtime, sandbox, host }), begun)
      } catch (error) {
        if (host === undefined || !(error instanceof BackendUnavailableError)) throw error
        lost.push({ host, message: error.message })
        placed.host = this.#placement.next(lost, left)
        if (placed.host) continue
        if (lost.length === 1) throw error
        const tried = lost.map(({ host, message }) => `'${host}': ${message}`).join(' ')
        const message = `None of ${lost.length} hosts can take the session. ${tried}`
        throw new BackendUnavailableError(message, { cause: error, details: { hosts: lost } })
      }
    }
  }

  async #start(session: S, begun: Begun<S>): Promise<S> {
    try {
      if (begun.given) throw new ClosedError('The session was released before it had started.')
      begun.session = session
      await session.start()
      return session
    } catch (error) {
      await this.#stop(session)
      throw error
    }
  }

  /** Who has a place, or is to get one. */
  get #held(): readonly Entry<S>[] {
    return [...new Set([...this.#entries.values(), ...this.#ending])]
  }

  async #create(id: string, context: SessionContext): Promise<S> {
    if (this.#options.create) return await this.#options.create(id, context)
    const { image, runtime, host, ...rest } = this.#options.docker ?? {}
    const what = context.runtime === undefined ? { image, runtime } : { runtime: context.runtime }
    // Without a function of the application, sessions are containers.
    const options = { ...rest, ...what, sessionId: id, host: context.host ?? host, sandbox: context.sandbox }
    return new DockerBackend(options) as Session as S
  }

  /** Takes an entry out of the table and stops its session; never rejects. */
  async #end(id: string, entry: Entry<S>, released: boolean): Promise<void> {
    if (this.#entries.get(id) === entry) this.#entries.delete(id)
    const ended = (async () => {
      entry.begun.given = true
      // A container that is being started may be waiting for a pull of many minutes; nobody waits for that.
      const { session: starting } = entry.begun
      if (!entry.made && starting instanceof DockerBackend) await starting.close().catch((error) => this.#report(error))
      const session = await entry.session.catch(() => undefined)
      if (session) await this.#stop(session)
    })()
    const leaving = Promise.all([this.#leaving.get(id), ended])
    this.#leaving.set(id, leaving)
    this.#ending.add(entry)
    await leaving
    this.#ending.delete(entry)
    if (this.#leaving.get(id) === leaving) this.#leaving.delete(id)
    if (!released) return
    try {
      await this.#options.onRelease?.(id)
    } catch (error) {
      this.#report(error)
    }
  }

  async #stop(session: S): Promise<void> {
    try {
      await session.stop()
    } catch (error) {
      this.#report(error)
    }
  }

  /** Ends a session that seems idle, unless it knows better. */
  async #evict(id: string, entry: Entry<S>, session: S, maxIdle: number | undefined): Promise<boolean> {
    let ended: Promise<void> | undefined
    if (entry.evicted) return false
    entry.evicted = (async () => {
      const stopped = await this.#stopIdle(session, this.#mostIdle(session, maxIdle))
      if (!stopped || this.#entries.get(id) !== entry) return false
      ended = this.#end(id, entry, true)
      return true
    })()
    const evicted = await entry.evicted
    entry.evicted = undefined
    await ended
    return evicted
  }

  /** Whether it has stopped, or is to be stopped. One that fails to stop has ended all the same. */
  async #stopIdle(session: S, most: number): Promise<boolean> {
    if (!session.stopIfIdle) return true
    try {
      return await session.stopIfIdle(most)
    } catch (error) {
      this.#report(error)
      return true
    }
  }

  #isIdle(session: S, maxIdle: number | undefined): boolean {
    const { idleMs } = session
    return idleMs !== undefined && idleMs > this.#mostIdle(session, maxIdle)
  }

  #mostIdle(session: S, maxIdle: number | undefined): number {
    return maxIdle ?? session.idleTimeout ?? this.#options.idleTimeout ?? DEFAULT_IDLE_TIMEOUT
  }

  #report(error: unknown): void {
    try {
      this.#options.onError?.(error)
    } catch {
      // Whoever hears of errors and fails has heard of this one.
    }
  }
}

function checkId(id: unknown): void {
  if (typeof id === 'string' && ID.test(id)) return
  throw new InvalidInputError(
    'A session id has up to 128 letters, digits, `_`, `.` and `-`, and begins with a letter or a digit.',
  )
}

/** What would be one for all sessions: each would read and end what another one does. */
function checkShared(docker: unknown): void {
  const given = checkOptions(docker as object | undefined, 'docker') as Record<string, unknown>
  for (const [name, instead] of [
    ['container', 'each session has a container of its own'],
    ['sandbox', 'with `workspaceRoot` each session has a folder of its own'],
    ['sessionId', 'each session has its own'],
  ] as const) {
    if (given[name] !== undefined) {
      throw new InvalidInputError(`\`docker.${name}\` would be shared by all sessions; ${instead}.`)
    }
  }
}

/** The folder of a session as its `/workspace`. A link in the place of the folder would lead elsewhere. */
function workspace(root: string, id: string): Sandbox {
  const folder = join(root, id, 'workspace')
  mkdirSync(folder, { recursive: true })
  // As the system names it, also where letters of either size are one name: two ids have two folders, or one is refused.
  const hostPath = realpathSync.native(folder)
  if (hostPath !== join(realpathSync.native(root), id, 'workspace')) {
    throw new InvalidInputError(
      'The workspace of the session is a link, or that of an id that differs in the size of letters only; remove it, or ' +
        'take another id.',
    )
  }
  return new Sandbox({ mounts: [{ hostPath, mountPoint: '/workspace', mode: 'rw', writeApproval: false }] })
}
