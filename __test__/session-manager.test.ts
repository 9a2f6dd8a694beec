// Sessions over objects of the application: the recorded scenarios, and what went wrong in the systems before (D31).

import { once } from 'node:events'
import { mkdir, readdir, symlink } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'

import {
  AbortError,
  BackendUnavailableError,
  ClosedError,
  DockerBackend,
  InvalidInputError,
  type Session,
  type SessionContext,
  type SessionHost,
  SessionLimitError,
  SessionManager,
} from 'gloveport'
import { describe, expect, onTestFinished, test, vi } from 'vitest'

import recorded from './vectors/session_manager.json' with { type: 'json' }
import { project, rejection } from './support.js'

/** A session that writes down what happens to it. */
class Recorder implements Session {
  alive = true
  idleMs: number | undefined = 0
  idleTimeout: number | undefined
  failsToStop = false

  constructor(
    readonly id: string,
    readonly events: string[],
    readonly word = '',
  ) {
    events.push(`new ${id}`)
  }

  async start(): Promise<void> {
    this.events.push(this.word ? `${this.word} start` : `start ${this.id}`)
  }

  touch(): void {
    this.events.push(`touch ${this.id}`)
  }

  async stop(): Promise<void> {
    this.events.push(this.word ? `${this.word} stop` : `stop ${this.id}`)
    if (this.failsToStop) throw new Error('does not stop')
  }

  async isAlive(): Promise<boolean> {
    return this.alive
  }
}

function manager(options: Partial<ConstructorParameters<typeof SessionManager<Recorder>>[0]> = {}, word = '') {
  const events: string[] = []
  const create = (id: string) => new Recorder(id, events, word)
  return { events, sessions: new SessionManager<Recorder>({ create, ...options }) }
}

/** What came of a scenario, which is then not asked for again. */
const scenario = (label: string) => {
  const found = left.find((each) => each.label.startsWith(label))
  if (!found) throw new Error(`no scenario ${label}`)
  left.splice(left.indexOf(found), 1)
  return { results: found.results, events: found.events }
}

const left = [...recorded.scenarios]

describe('as recorded', () => {
  test('a session is used again, and released once', async () => {
    const { events, sessions } = manager()
    const first = await sessions.getOrCreate('u1')
    const results = {
      same: (await sessions.getOrCreate('u1')) === first,
      count: sessions.size,
      len: sessions.sessions.size,
      contains: ['u1', 'u2'].map((id) => sessions.has(id)),
      release: await sessions.release('u1'),
      release_again: await sessions.release('u1'),
    }
    expect({ results, events }).toEqual(scenario('reuse'))
  })

  test('a dead session is stopped and replaced', async () => {
    const { events, sessions } = manager()
    const first = await sessions.getOrCreate('a')
    first.alive = false
    const results = { replaced: (await sessions.getOrCreate('a')) !== first }
    expect({ results, events }).toEqual(scenario('dead'))
  })

  test("a session's own timeout beats the default, and `maxIdle` beats both", async () => {
    const released: string[] = []
    const { events, sessions } = manager({ idleTimeout: 1000, onRelease: (id) => void released.push(id) })
    const short = await sessions.getOrCreate('short')
    const long = await sessions.getOrCreate('long')
    Object.assign(short, { idleTimeout: 10, idleMs: 500 })
    Object.assign(long, { idleMs: 500 })
    const cleaned_1 = await sessions.cleanupIdle()
    long.idleMs = 2000
    const cleaned_2 = await sessions.cleanupIdle()
    const z = await sessions.getOrCreate('z')
    Object.assign(z, { idleTimeout: 100_000, idleMs: 5 })
    const results = { cleaned_1, cleaned_2, cleaned_max_idle_1: await sessions.cleanupIdle(1), on_release: released }
    expect({ results, events }).toEqual(scenario('idle'))
  })

  test('a shutdown stops all, also where one does not stop', async () => {
    const errors: unknown[] = []
    const { events, sessions } = manager({ onError: (error) => void errors.push(error) })
    await sessions.getOrCreate('a')
    ;(await sessions.getOrCreate('b')).failsToStop = true
    await sessions.getOrCreate('c')
    const results = { stopped: await sessions.shutdown(), left: sessions.size }
    expect({ results, events }).toEqual(scenario('shutdown'))
    expect(errors).toMatchObject([{ message: 'does not stop' }])
    expect(await rejection(sessions.getOrCreate('d'))).toBeInstanceOf(ClosedError)
  })

  test('sessions may be asynchronous', async () => {
    const { events, sessions } = manager({}, 'async')
    const first = await sessions.getOrCreate('x')
    const results = (await sessions.getOrCreate('x')) === first
    await sessions.release('x')
    expect({ results, events }).toEqual(scenario('async'))
  })

  test('no recorded scenario is left', () => {
    expect([left, recorded.scenarios.length]).toEqual([[], 5])
  })
})

test('a session is idle after an hour, and is looked for every five minutes, unless something else is said', async () => {
  const intervals = vi.spyOn(globalThis, 'setInterval')
  onTestFinished(() => intervals.mockRestore())
  const { sessions } = manager()
  const session = await sessions.getOrCreate('a')
  session.idleMs = 3_600_000
  expect(await sessions.cleanupIdle()).toBe(0)
  session.idleMs = 3_600_001
  expect(await sessions.cleanupIdle()).toBe(1)
  sessions.startCleanupLoop()
  sessions.stopCleanupLoop()
  expect(intervals.mock.calls.map(([, every]) => every)).toEqual([300_000])
})

test('the default runtime is that of every session that asks for no other one', async () => {
  const made: [string, SessionContext][] = []
  const { sessions } = manager({
    defaultRuntime: 'python-web',
    create: (id, context) => {
      made.push([id, context])
      return new Recorder(id, [])
    },
  })
  await sessions.getOrCreate('a')
  await sessions.getOrCreate('b', { runtime: 'node-minimal' })
  // One that is there keeps what it runs.
  await sessions.getOrCreate('b')
  expect(made).toEqual([
    ['a', { runtime: 'python-web', sandbox: undefined, host: undefined }],
    ['b', { runtime: 'node-minimal', sandbox: undefined, host: undefined }],
  ])
})

test('who hears of a release hears of what has stopped, and may ask for it again (BE-142)', async () => {
  const again: Recorder[] = []
  const { events, sessions } = manager({
    onRelease: async (id) => {
      events.push(`released ${id}`)
      if (again.length === 0) again.push(await sessions.getOrCreate(id))
    },
  })
  const first = await sessions.getOrCreate('a')
  expect(await sessions.release('a')).toBe(true)
  expect(events).toEqual(['new a', 'start a', 'stop a', 'released a', 'new a', 'start a'])
  expect([again[0] === first, sessions.sessions.get('a') === again[0]]).toEqual([false, true])
  // What is handed out is a copy.
  ;(sessions.sessions as Map<string, Recorder>).clear()
  expect([sessions.size, sessions.has('a')]).toEqual([1, true])
})

test('calls at the same time make one session', async () => {
  const { events, sessions } = manager()
  const all = await Promise.all(Array.from({ length: 20 }, () => sessions.getOrCreate('a')))
  expect(new Set(all).size).toBe(1)
  expect(events.filter((event) => event === 'new a')).toHaveLength(1)
})

// Two ids that started at once could pass the limit together (D31).
test('the limit holds for ids that come at once', async () => {
  const { sessions } = manager({ maxSessions: 3 })
  const results = await Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map((id) => sessions.getOrCreate(id)))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
  const error = await rejection(sessions.getOrCreate('f'))
  expect(error).toBeInstanceOf(SessionLimitError)
  expect((error as SessionLimitError).limit).toBe(3)
  expect(await sessions.getOrCreate('a')).toBeDefined()
  await sessions.release('a')
  expect(await sessions.getOrCreate('f')).toBeDefined()
})

test('a start that fails is stopped, forgotten, and told', async () => {
  const events: string[] = []
  let fails = true
  const sessions = new SessionManager<Recorder>({
    maxSessions: 1,
    create: (id) => {
      const session = new Recorder(id, events)
      if (fails) session.start = () => Promise.reject(new Error('no start'))
      return session
    },
  })
  expect(await rejection(sessions.getOrCreate('a'))).toMatchObject({ message: 'no start' })
  expect([events, sessions.size, sessions.has('a')]).toEqual([['new a', 'stop a'], 0, false])
  fails = false
  expect(await sessions.getOrCreate('a')).toBeDefined()
})

// `../../x` led out of the workspace root (D31).
test('an id is a plain name', async () => {
  const { sessions } = manager()
  for (const id of ['', '.', '..', '../x', 'a/b', 'a\\b', 'a\0', ' a', 'ü', 'x'.repeat(129), 1, null, undefined]) {
    expect(await rejection(sessions.getOrCreate(id as string)), String(id)).toBeInstanceOf(InvalidInputError)
  }
})

// Idle cleanup reaped a session in which a command ran (D31).
test('what is busy, or does not tell, is not evicted', async () => {
  const { sessions } = manager()
  await sessions.getOrCreate('busy')
  ;(await sessions.getOrCreate('silent')).idleMs = undefined
  expect(await sessions.cleanupIdle(0)).toBe(0)
})

// A lost engine was taken for the end of a session, whose files then went with it.
test('a session whose state cannot be known is kept, and the caller is told', async () => {
  const { events, sessions } = manager()
  const first = await sessions.getOrCreate('a')
  const lost = new BackendUnavailableError('The container engine was lost.')
  first.isAlive = () => Promise.reject(lost)
  expect(await rejection(sessions.getOrCreate('a'))).toBe(lost)
  expect(sessions.sessions.get('a')).toBe(first)
  first.isAlive = () => Promise.resolve(true)
  expect(await sessions.getOrCreate('a')).toBe(first)
  expect(events).toEqual(['new a', 'start a', 'touch a'])
})

describe('a session that knows better whether it is idle', () => {
  class Asked extends Recorder {
    answer: (stopped: boolean | Promise<never>) => void = () => {}
    override idleMs: number | undefined = 9_999

    stopIfIdle(milliseconds: number): Promise<boolean> {
      this.events.push(`idle for ${milliseconds}? ${this.id}`)
      return new Promise((resolve) => (this.answer = resolve))
    }
  }

  const asked = async () => {
    const events: string[] = []
    const sessions = new SessionManager<Asked>({ create: (id) => new Asked(id, events), idleTimeout: 1000 })
    return { events, sessions, session: await sessions.getOrCreate('a') }
  }

  test('is kept when it says that it is not, and handed out only then', async () => {
    const { events, sessions, session } = await asked()
    const cleaned = sessions.cleanupIdle()
    const again = sessions.getOrCreate('a')
    session.answer(false)
    expect([await cleaned, await again]).toEqual([0, session])
    expect(events).toEqual(['new a', 'start a', 'idle for 1000? a', 'touch a'])
  })

  test('is not handed out when it has stopped', async () => {
    const { events, sessions, session } = await asked()
    const cleaned = sessions.cleanupIdle(5)
    const again = sessions.getOrCreate('a')
    session.answer(true)
    expect(await cleaned).toBe(1)
    expect(await again).not.toBe(session)
    expect(events).toEqual(['new a', 'start a', 'idle for 5? a', 'stop a', 'new a', 'start a'])
  })

  test('goes when it fails to stop, and whoever listens hears why', async () => {
    const errors: unknown[] = []
    const events: string[] = []
    const sessions = new SessionManager<Asked>({
      create: (id) => new Asked(id, events),
      onError: (error) => void errors.push(error),
    })
    const session = await sessions.getOrCreate('a')
    const cleaned = sessions.cleanupIdle(0)
    const failure = new Error('refused')
    session.answer(Promise.reject(failure))
    expect([await cleaned, sessions.has('a'), errors]).toEqual([1, false, [failure]])
  })
})

test('a session is not made again before its old one is gone', async () => {
  const { events, sessions } = manager()
  const first = await sessions.getOrCreate('a')
  let finish = () => {}
  const stopped = new Promise<void>((resolve) => (finish = resolve))
  first.stop = async () => {
    events.push('stopping')
    await stopped
    events.push('stopped')
  }
  const released = sessions.release('a')
  const again = sessions.getOrCreate('a')
  finish()
  await Promise.all([released, again])
  expect(events).toEqual(['new a', 'start a', 'stopping', 'stopped', 'new a', 'start a'])
})

// They ended one after the other: a container that was slow to stop held up all behind it (38).
test('sessions end side by side', async () => {
  for (const end of ['shutdown', 'cleanupIdle'] as const) {
    const { sessions } = manager()
    let stopping = 0
    let bothStop = () => {}
    const both = new Promise<void>((resolve) => (bothStop = resolve))
    for (const id of ['a', 'b']) {
      const session = await sessions.getOrCreate(id)
      session.idleMs = 1000
      // Ends only once the other is being stopped too.
      session.stop = async () => {
        stopping += 1
        if (stopping === 2) bothStop()
        await both
      }
    }
    expect(await (end === 'shutdown' ? sessions.shutdown() : sessions.cleanupIdle(1)), end).toBe(2)
    expect(sessions.size).toBe(0)
  }
})

test('the cleanup loop goes on after a failure', async () => {
  const errors: unknown[] = []
  let heard = () => {}
  const twice = new Promise<void>((resolve) => (heard = resolve))
  const { sessions } = manager({
    onRelease: () => {
      throw new Error('release fails')
    },
    onError: (error) => {
      errors.push(error)
      if (errors.length === 2) heard()
    },
  })
  ;(await sessions.getOrCreate('a')).idleMs = Infinity
  ;(await sessions.getOrCreate('b')).idleMs = 1
  sessions.startCleanupLoop(5)
  // The second becomes idle only after the first was released.
  while (errors.length === 0) await new Promise(setImmediate)
  sessions.sessions.get('b')!.idleMs = Infinity
  await twice
  sessions.stopCleanupLoop()
  expect([errors.length, sessions.size]).toEqual([2, 0])
})

test('each session has its own workspace, and no link in its place', async () => {
  const root = await project()
  const seen: (string | undefined)[] = []
  const sessions = new SessionManager<Recorder>({
    workspaceRoot: root,
    create: (id, { sandbox }) => {
      seen.push(sandbox?.writableRoots[0])
      return new Recorder(id, [])
    },
  })
  await sessions.getOrCreate('u1')
  await sessions.getOrCreate('u2')
  expect(seen).toEqual(['/workspace', '/workspace'])
  expect((await readdir(root)).toSorted()).toEqual(['u1', 'u2'])
  await mkdir(join(root, 'u3'))
  await symlink(join(root, 'u1'), join(root, 'u3', 'workspace'))
  expect(await rejection(sessions.getOrCreate('u3'))).toBeInstanceOf(InvalidInputError)
})

test('what all sessions would share is refused', () => {
  expect(() => new SessionManager({ docker: { image: 'x', container: 'one' } as never })).toThrow(/docker\.container/)
  expect(() => new SessionManager({ docker: { image: 'x', sandbox: {} } as never })).toThrow(/docker\.sandbox/)
  expect(() => new SessionManager({ docker: { image: 'x', sessionId: 'a' } as never })).toThrow(/docker\.sessionId/)
  expect(() => new SessionManager({ docker: 'x' as never })).toThrow(InvalidInputError)
})

// Node takes an interval beyond 2^31 - 1 ms for one of 1 ms.
test('an interval of a month is not one of a millisecond', () => {
  const intervals = vi.spyOn(globalThis, 'setInterval')
  onTestFinished(() => intervals.mockRestore())
  const { sessions } = manager()
  sessions.startCleanupLoop(30 * 24 * 3_600_000)
  sessions.stopCleanupLoop()
  expect(intervals.mock.calls.map(([, every]) => every)).toEqual([2 ** 31 - 1])
})

describe.skipIf(process.platform === 'win32')('an engine that pulls', () => {
  /**
   * An engine that lacks an image and pulls it: `pulls` says what comes of that, `pulling` when it is asked, and `images` for which.
   */
  async function pulling(pulls: 'fails' | 'never ends') {
    const root = await project()
    let asked = () => {}
    const images: Record<string, string>[] = []
    const pulling = new Promise<void>((resolve) => (asked = resolve))
    const server = createServer((request, response) => {
      const [path, query] = (request.url ?? '').replace(/^\/v1\.\d+/, '').split('?')
      response.setHeader('Api-Version', '1.44')
      if (path === '/_ping') response.end('OK')
      else if (path === '/images/create') {
        response.write('{"status":"half of it"}\n')
        images.push(Object.fromEntries(new URLSearchParams(query)))
        asked()
        if (pulls === 'fails') response.end('{"error":"no room"}\n')
      } else {
        response.statusCode = path === '/containers/create' ? 404 : 200
        response.end('{}')
      }
    })
    const socket = join(root, 'engine.sock')
    await once(server.listen(socket), 'listening')
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    return { host: `unix://${socket}`, pulling, images }
  }

  test('an image is pulled by its digest, by its tag, or as the latest, and the default runtime by its image', async () => {
    const { host, images } = await pulling('fails')
    const digest = `sha256:${'0a'.repeat(32)}`
    for (const image of [`registry.test:5000/a/b@${digest}`, `b:1@${digest}`, 'registry.test:5000/a/b:1', 'b']) {
      const backend = new DockerBackend({ host, image })
      expect(await rejection(backend.start())).toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
      await backend.close()
    }
    const sessions = new SessionManager({ docker: { host, image: 'other' }, defaultRuntime: 'node-minimal' })
    expect(await rejection(sessions.getOrCreate('a'))).toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
    expect(await rejection(sessions.getOrCreate('a', { runtime: 'deno' }))).toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
    })
    expect(images).toEqual([
      { fromImage: `registry.test:5000/a/b@${digest}` },
      { fromImage: `b:1@${digest}` },
      { fromImage: 'registry.test:5000/a/b', tag: '1' },
      { fromImage: 'b', tag: 'latest' },
      { fromImage: 'node', tag: '20-slim' },
      { fromImage: 'denoland/deno', tag: 'alpine' },
    ])
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('mine')
      },
    ],
    ['rejects', () => Promise.reject(new Error('mine'))],
  ])('an `onProgress` that %s ends no pull, and its author is told', async (_, onProgress) => {
    const { host } = await pulling('fails')
    const warned = new Promise<Error>((resolve) => {
      // The engine is of a processor that there is no guest for, which is told as well.
      const hear = (warning: Error): void => void (warning.message.includes('onProgress') && resolve(warning))
      process.on('warning', hear)
      onTestFinished(() => void process.off('warning', hear))
    })
    const backend = new DockerBackend({ host, image: 'x', onProgress })
    expect(await rejection(backend.start())).toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      details: { message: 'no room' },
    })
    expect(await warned).toMatchObject({ code: 'GLOVEPORT_DOCKER', message: '`onProgress` failed: mine' })
    await backend.close()
  })

  test('who gives up to wait for a start is told so at once', async () => {
    const { host, pulling: asked } = await pulling('never ends')
    const backend = new DockerBackend({ host, image: 'x' })
    const abort = new AbortController()
    const starting = rejection(backend.start({ signal: abort.signal }))
    await asked
    abort.abort()
    expect(await starting).toBeInstanceOf(AbortError)
    await backend.close()
  })

  test('who releases a session, or shuts down, does not wait for a pull', async () => {
    for (const way of ['release', 'shutdown'] as const) {
      const engine = await pulling('never ends')
      const sessions = new SessionManager({ docker: { host: engine.host, image: 'x' } })
      const made = rejection(sessions.getOrCreate('a'))
      await engine.pulling
      await (way === 'release' ? sessions.release('a') : sessions.shutdown())
      expect(await made).toBeInstanceOf(ClosedError)
    }
  })

  test('a session that is released before it was started is not started', async () => {
    const { events, sessions } = manager()
    const made = rejection(sessions.getOrCreate('a'))
    await sessions.release('a')
    expect(await made).toBeInstanceOf(ClosedError)
    expect(events).toEqual(['new a', 'stop a'])
  })
})

describe('several hosts', () => {
  /** Sessions that say where they are; the hosts of `lost` do not answer. */
  function onHosts(hosts: readonly (string | SessionHost)[], lost: string[] = []) {
    const places = new Map<string, string | undefined>()
    const create = (id: string, { host }: SessionContext) => {
      if (host !== undefined && lost.includes(host)) throw new BackendUnavailableError(`${host} does not answer.`)
      places.set(id, host)
      return new Recorder(id, [])
    }
    return { places, lost, sessions: new SessionManager<Recorder>({ create, hosts }) }
  }

  test('a session goes where most room is left, also when all come at once', async () => {
    const { places, sessions } = onHosts([
      { host: 'a', maxSessions: 1 },
      { host: 'b', maxSessions: 3 },
    ])
    await Promise.all(['1', '2', '3', '4'].map((id) => sessions.getOrCreate(id)))
    expect([...places.values()].toSorted()).toEqual(['a', 'b', 'b', 'b'])
    expect(await rejection(sessions.getOrCreate('5'))).toBeInstanceOf(SessionLimitError)
    const freed = [...places].find(([, host]) => host === 'a')![0]
    await sessions.release(freed)
    await sessions.getOrCreate('5')
    expect(places.get('5')).toBe('a')
    const even = onHosts(['a', 'b'])
    await Promise.all(['1', '2', '3', '4'].map((id) => even.sessions.getOrCreate(id)))
    expect([...even.places.values()].toSorted()).toEqual(['a', 'a', 'b', 'b'])
  })

  /** An engine that says what it has; `memory` and `cpus` of a session are 2 GiB and 2. */
  async function engineThatHolds(sessions: number, others: number, places: ReadonlyMap<string, string | undefined>) {
    const socket = join(await project(), 'engine.sock')
    const host = `unix://${socket}`
    const server = createServer((request, response) => {
      const running = others + [...places.values()].filter((place) => place === host).length
      const info = { NCPU: 2 * sessions, MemTotal: 64 * 2 ** 30, ContainersRunning: running }
      response.setHeader('Api-Version', '1.41')
      response.end(request.url?.endsWith('/info') ? JSON.stringify(info) : 'OK')
    })
    await new Promise<void>((resolve) => server.listen(socket, resolve))
    onTestFinished(() => void server.close())
    return host
  }

  test('a session goes where the engine has most room beside what others run there', async () => {
    const places = new Map<string, string | undefined>()
    const [busy, free] = [await engineThatHolds(8, 5, places), await engineThatHolds(2, 0, places)]
    const create = (id: string, { host }: SessionContext) => {
      places.set(id, host)
      return new Recorder(id, [])
    }
    // Nobody listens at the first: it says nothing, and is asked for a session last.
    const hosts = [`unix://${join(await project(), 'none.sock')}`, free, busy]
    const sessions = new SessionManager<Recorder>({ create, hosts })
    // 2 and 3 are left, then 2 and 2, 1 and 2, 1 and 1, 0 and 1, 0 and 0: where it is the same the first is taken.
    for (const id of ['1', '2', '3', '4', '5', '6']) await sessions.getOrCreate(id)
    expect([...places.values()]).toEqual([busy, free, busy, free, busy, free])
    await sessions.shutdown()
    places.clear()
    const bounded = [{ host: busy, maxSessions: 1 }, free]
    const atOnce = new SessionManager<Recorder>({ create, hosts: bounded })
    await Promise.all(['1', '2', '3', '4'].map((id) => atOnce.getOrCreate(id)))
    // More than an engine holds is no reason to refuse.
    expect([...places.values()].toSorted()).toEqual([busy, free, free, free].toSorted())
    await atOnce.shutdown()
  })

  test('a host that is lost is passed by, and named when there is no other', async () => {
    const { places, lost, sessions } = onHosts(['a', 'b'], ['a'])
    await sessions.getOrCreate('1')
    await sessions.getOrCreate('2')
    expect([...places.values()]).toEqual(['b', 'b'])
    lost.push('b')
    expect(await rejection(sessions.getOrCreate('3'))).toMatchObject({
      code: 'BACKEND_UNAVAILABLE',
      message: "None of 2 hosts can take the session. 'a': a does not answer. 'b': b does not answer.",
      details: { hosts: [{ host: 'a' }, { host: 'b' }] },
    })
    expect(sessions.size).toBe(2)
    expect(() => new SessionManager({ hosts: [] })).toThrow(InvalidInputError)
    expect(() => new SessionManager({ hosts: ['a', 'a'] })).toThrow(InvalidInputError)
    expect(() => new SessionManager({ hosts: [{ maxSessions: 1 }] as never })).toThrow(InvalidInputError)
  })
})
