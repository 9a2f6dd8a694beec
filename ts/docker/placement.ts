// Which engine a new session goes to. Nothing is awaited between a choice and its note: two sessions at once never pass a limit
// together.

import { describe } from '../encode.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { SessionLimitError } from '../errors/session-limit-error.js'
import type { DockerBackendOptions } from './backend.js'
import { checkCount } from './check-count.js'
import { engineRoom } from './engine-room.js'

/** An engine that sessions are placed on. */
export interface SessionHost {
  /** As the option `host` of a {@link DockerBackend}. */
  readonly host: string
  /** Sessions at once on it. Default: no limit. */
  readonly maxSessions?: number | undefined
}

/** The engine that a session is on, or is being tried on; where there are several, none until it was chosen. */
export interface Placed {
  host: SessionHost | undefined
}

/** A session that has a place, or is to get one. */
export interface Held {
  readonly placed: Placed
  /** The session, once it is there. */
  readonly made?: unknown
}

/** What each engine has left for sessions; nothing of one that does not say. */
type Left = ReadonlyMap<string, number>

/** The engines of a session manager. */
export class Placement {
  readonly #hosts: readonly SessionHost[]
  readonly #docker: Pick<DockerBackendOptions, 'memory' | 'cpus'> | undefined
  readonly #held: () => readonly Held[]
  /** What the engines leave, while they are asked: once for all who come meanwhile. */
  #looking: Promise<Left> | undefined

  /** `held` tells of all sessions of the manager. */
  constructor(
    hosts: unknown,
    docker: Pick<DockerBackendOptions, 'memory' | 'cpus'> | undefined,
    held: () => readonly Held[],
  ) {
    this.#hosts = checkHosts(hosts)
    this.#docker = docker
    this.#held = held
  }

  /** @throws {SessionLimitError} there are engines to choose from, and none may have one more */
  check(): void {
    if (this.#hosts.length === 0) return
    const room = this.#hosts.map((host) => Math.max(0, (host.maxSessions ?? Infinity) - this.#used(host)))
    const unplaced = this.#held().filter(({ placed }) => !placed.host).length
    if (room.reduce((sum, some) => sum + some, -unplaced) <= 0) throw this.#full()
  }

  /** What each engine leaves for our sessions, beside what others run there; asked only where there is a choice. */
  async look(): Promise<Left> {
    if (this.#hosts.length < 2) return new Map()
    this.#looking ??= this.#ask().finally(() => (this.#looking = undefined))
    return await this.#looking
  }

  async #ask(): Promise<Left> {
    const asked = this.#hosts.map(async (host): Promise<[string, number][]> => {
      const ours = this.#held().filter(({ placed, made }) => placed.host === host && made !== undefined).length
      const room = await engineRoom(host.host, this.#docker)
      return room ? [[host.host, room.holds - Math.max(0, room.running - ours)]] : []
    })
    return new Map((await Promise.all(asked)).flat())
  }

  /**
   * The host of a session that has none; undefined where there is nothing to choose from.
   *
   * @throws {SessionLimitError} none may have one more
   */
  first(left: Left): SessionHost | undefined {
    const host = this.next([], left)
    if (this.#hosts.length > 0 && !host) throw this.#full()
    return host
  }

  /**
   * The host with the most room, without those that were tried in vain. One that says nothing of its room comes behind those that do;
   * where nothing is known the one that has fewest of ours. Each that is placed counts for the next.
   */
  next(tried: readonly { readonly host: string }[], left: Left): SessionHost | undefined {
    const places = (host: SessionHost): number => (host.maxSessions ?? Number.MAX_SAFE_INTEGER) - this.#used(host)
    const room = (host: SessionHost): number =>
      Math.min(places(host), (left.get(host.host) ?? Infinity) - this.#used(host))
    return this.#hosts
      .filter((host) => places(host) > 0 && !tried.some((other) => other.host === host.host))
      .toSorted((one, other) => Number(left.has(other.host)) - Number(left.has(one.host)) || room(other) - room(one))[0]
  }

  #used(host: SessionHost): number {
    return this.#held().filter(({ placed }) => placed.host === host).length
  }

  #full(): SessionLimitError {
    const message = 'Every host has as many sessions as it may have; release one first.'
    return new SessionLimitError(message, { details: { limit: this.#hosts.map((host) => host.maxSessions) } })
  }
}

function checkHosts(hosts: unknown): readonly SessionHost[] {
  if (hosts === undefined) return []
  const wrong = 'must be a list of addresses, or of objects with `host` and perhaps `maxSessions`, none of them twice'
  if (!Array.isArray(hosts) || hosts.length === 0) throw new InvalidInputError(`\`hosts\` ${wrong}.`)
  const checked = hosts.map((given: unknown): SessionHost => {
    const host = typeof given === 'string' ? { host: given } : given
    if (typeof host !== 'object' || host === null || typeof (host as SessionHost).host !== 'string') {
      throw new InvalidInputError(`\`hosts\` ${wrong}, not ${describe(given)}.`)
    }
    checkCount((host as SessionHost).maxSessions, 'maxSessions')
    return { ...(host as SessionHost) }
  })
  if (new Set(checked.map(({ host }) => host)).size < checked.length) throw new InvalidInputError(`\`hosts\` ${wrong}.`)
  return checked
}
