// The package with a real engine, as `npm test -- docker` starts it.

import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'

import {
  createToolset,
  DockerBackend,
  Sandbox,
  SessionManager,
  type TerminalSession,
  Terminals,
  terminalTakeover,
} from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { engine as started, project } from '../support.js'

if (!started) throw new Error('no engine: use `npm test -- docker`')
const engine = started

/** The numbers of all containers of the engine. */
const containers = (): string[] =>
  execFileSync('docker', ['--host', String(engine.host), 'ps', '--all', '--quiet', '--no-trunc'], { encoding: 'utf8' })
    .split('\n')
    .filter(Boolean)

test('a toolset works in a container', async () => {
  const backend = new DockerBackend(engine)
  onTestFinished(() => backend.close())
  const toolset = createToolset({ backend, permissions: 'permissive' })
  await toolset.call('write_file', { path: 'a.txt', content: 'one\r\ntwo\r\n' })
  await toolset.call('edit_file', { path: 'a.txt', old_string: 'two', new_string: 'three' })
  const { text } = await toolset.call('execute', { command: 'od -An -c a.txt; pwd; exit 4' })
  expect(text).toContain('/workspace')
  expect(text.replaceAll(/\s+/g, '')).toContain('one\\r\\nthree\\r\\n')
  expect((await toolset.call('read_file', { path: 'a.txt' })).text).toContain('three')
  expect((await toolset.call('grep', { pattern: 'thr.e' })).text).toContain('a.txt')
  expect((await toolset.call('read_file', { path: 'missing' })).code).toBe('FILE_NOT_FOUND')
  await toolset.close()
})

test('output comes as it arises, and an abort ends the command', async () => {
  const backend = new DockerBackend(engine)
  onTestFinished(() => backend.close())
  const abort = new AbortController()
  const chunks: string[] = []
  const running = backend.execute('echo first; sleep 1000', {
    signal: abort.signal,
    onOutput: ({ text }) => {
      chunks.push(text)
      abort.abort(new Error('enough'))
    },
  })
  await expect(running).rejects.toMatchObject({ code: 'ABORTED', details: { partial: { stdout: 'first\n' } } })
  expect(chunks.join('')).toBe('first\n')
  expect((await backend.execute('ps | grep -c "[s]leep 1000"')).stdout).toBe('0\n')
  expect(await backend.usage()).toMatchObject({ memoryLimitBytes: 2 * 1024 ** 3 })
})

test('a command whose time is over runs on in the container, and takes input', async () => {
  const backend = new DockerBackend(engine)
  onTestFinished(() => backend.close())
  const left = await backend.execute('echo begun; read line; echo "got $line"', {
    timeout: 500,
    onTimeout: 'background',
  })
  expect(left.timedOut).toBe(true)
  await left.process!.write('it\n')
  let rest = ''
  for await (const text of left.process!) rest += text
  // How much of it came in time is the machine's business.
  expect(left.output + rest).toBe('begun\ngot it\n')
  expect(await left.process!.wait()).toMatchObject({ exitCode: 0 })

  const toolset = createToolset({ backend, tools: ['background'], permissions: 'permissive' })
  const begun = await toolset.call('run_in_background', { command: 'echo out; sleep 1000' })
  const shell_id = (begun.data as { shellId: string }).shellId
  expect((await toolset.call('read_output', { shell_id, wait: 10 })).text).toContain('out')
  expect((await toolset.call('kill_shell', { shell_id })).isError).toBe(false)
  expect((await backend.execute('ps | grep -c "[s]leep 1000"')).stdout).toBe('0\n')
  await toolset.close()
})

/** Waits until a terminal shows `text`. */
async function shown(terminal: TerminalSession, text: string | RegExp): Promise<string> {
  for (let since: number | undefined; ;) {
    const { lines, position, ended } = await terminal.painting({ since })
    const all = lines.join('\n')
    if (all.search(text) >= 0 || ended) return all
    since = position
  }
}

test('a terminal in a container is drawn, resized, and taken over by a person', async () => {
  const backend = new DockerBackend(engine)
  onTestFinished(() => backend.close())
  const terminal = await backend.openTerminal({
    command: 'stty size; read x; stty size; exit 4',
    columns: 60,
    rows: 12,
  })
  // A line may come in pieces.
  let first = ''
  while (!first.endsWith('\n')) first += (await terminal.read()).text
  expect(first).toBe('12 60\r\n')
  await terminal.resize(80, 20)
  await terminal.write('go\r')
  let rest = ''
  for await (const text of terminal) rest += text
  expect(rest).toBe('go\r\n20 80\r\n')
  expect(await terminal.wait()).toMatchObject({ exitCode: 4 })

  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 60, rows: 10 })
  output.resume()
  const takeover = terminalTakeover({ input, output })
  const session = await backend.openTerminal({ command: "printf 'rea%s\\n' dy; cat -v" })
  await shown(session, 'ready')
  const over = takeover({ sessionId: 's', prompt: 'x' } as never, { session } as never)
  await shown(session, 'ready')
  input.write('typed\r')
  expect(await shown(session, /typed\ntyped/)).toContain('typed\ntyped')
  input.write('\u001D')
  await over
  await session.kill()
})

test('sessions of terminals keep their state in a container (TT-6)', async () => {
  const backend = new DockerBackend(engine)
  onTestFinished(() => backend.close())
  await using terminals = new Terminals({ backend, requireExecuteApproval: false })
  await terminals.exec('s', 'mkdir d; cd d; kept=here')
  expect((await terminals.exec('s', 'pwd; echo "$kept"')).text).toBe('/workspace/d\nhere')
  expect((await terminals.exec('other', 'pwd')).text).toBe('/workspace')
})

test('a container that takes no program is used all the same, and the author is told', async () => {
  const docker = (...args: string[]) => execFileSync('docker', ['--host', engine.host, ...args], { encoding: 'utf8' })
  const noexec = ['--read-only', '--tmpfs=/tmp:noexec', '--tmpfs=/workspace:noexec']
  const container = docker('run', '--detach', '--rm', '--network=none', ...noexec, engine.image, 'sleep', '1000').trim()
  const warned = once(process, 'warning')
  const backend = new DockerBackend({ host: engine.host, container })
  await backend.write('/workspace/a.txt', 'text')
  expect((await backend.execute('cat a.txt')).stdout).toBe('text')
  const [warning] = (await warned) as [Error & { code: string }]
  expect(warning).toMatchObject({ name: 'GloveportWarning', code: 'GLOVEPORT_DOCKER' })
  expect(warning.message).toContain('through its shell')
  await backend.close()
  docker('kill', container)
})

test('mounts have the same paths inside and outside', async () => {
  const root = await project({ 'work/a.txt': 'text' })
  const sandbox = new Sandbox({ mounts: [{ hostPath: join(root, 'work'), mountPoint: '/work', mode: 'rw' }] })
  const backend = new DockerBackend({ ...engine, sandbox })
  onTestFinished(() => backend.close())
  expect((await backend.execute('pwd; cat a.txt; echo made > b.txt')).stdout).toBe('/work\ntext')
  expect((await backend.read('/work/b.txt')).content).toBe('made\n')
  // A relative path is the same file to both (it was one of `/` to file tools, which is in no mount).
  expect([backend.workingDirectory, (await backend.read('b.txt')).content]).toEqual(['/work', 'made\n'])
  await expect(backend.execute('pwd', { cwd: '/etc' })).rejects.toMatchObject({ code: 'PATH_NOT_IN_SANDBOX' })
})

test('a session is kept through a pause and a lost engine, and with it its files', async () => {
  const root = await project()
  const socket = join(root, 'engine.sock')
  const place = () => symlink(engine.host.replace('unix://', ''), socket)
  await place()
  await using sessions = new SessionManager({ docker: { ...engine, host: `unix://${socket}` } })
  const session = await sessions.getOrCreate('a')
  await session.write('/workspace/kept', 'text')
  const id = await session.containerId()
  execFileSync('docker', ['--host', engine.host, 'pause', id!])
  expect(await sessions.getOrCreate('a')).toBe(session)
  execFileSync('docker', ['--host', engine.host, 'unpause', id!])
  // What listens is gone; connections that are there stay.
  await rm(socket)
  await expect(sessions.getOrCreate('a')).rejects.toMatchObject({
    code: 'BACKEND_UNAVAILABLE',
    details: { engine: `unix://${socket}` },
  })
  await place()
  expect(await sessions.getOrCreate('a')).toBe(session)
  expect((await session.read('/workspace/kept')).content).toBe('text')
})

test('sessions are spread over hosts, and one that is lost takes only its own along', async () => {
  const root = await project()
  const hosts = ['one.sock', 'two.sock'].map((name) => join(root, name))
  for (const host of hosts) await symlink(engine.host.replace('unix://', ''), host)
  const [one, two] = hosts.map((host) => ({ host: `unix://${host}`, maxSessions: 1 }))
  await using sessions = new SessionManager({ docker: engine, hosts: [one!, two!] })
  const opened = await Promise.all(['a', 'b'].map((id) => sessions.getOrCreate(id)))
  await Promise.all(opened.map((session, index) => session.write('/workspace/me', String(index))))
  await expect(sessions.getOrCreate('c')).rejects.toMatchObject({ name: 'SessionLimitError' })
  await rm(hosts[1]!)
  const asked = await Promise.allSettled(['a', 'b'].map((id) => sessions.getOrCreate(id)))
  const lost = asked.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []))
  expect(lost).toMatchObject([{ code: 'BACKEND_UNAVAILABLE', details: { engine: two!.host } }])
  const kept = asked.findIndex((result) => result.status === 'fulfilled')
  expect((await opened[kept]!.read('/workspace/me')).content).toBe(String(kept))
  // Room on the other one is found again, and what is lost is not waited for.
  await sessions.release(['a', 'b'][kept]!)
  expect((await (await sessions.getOrCreate('c')).execute('echo there')).stdout).toBe('there\n')
  await symlink(engine.host.replace('unix://', ''), hosts[1]!)
  const id = ['b', 'a'][kept]!
  expect((await (await sessions.getOrCreate(id)).read('/workspace/me')).content).toBe(String(1 - kept))
})

test('a call that has just been made is not ended as idle', async () => {
  await using sessions = new SessionManager({ docker: engine })
  const session = await sessions.getOrCreate('a')
  const running = session.execute('sleep 0.3; echo whole')
  expect(session.idleMs).toBe(0)
  expect([await sessions.cleanupIdle(0), await session.stopIfIdle(0)]).toEqual([0, false])
  expect((await running).stdout).toBe('whole\n')
  const toolset = createToolset({ backend: session, permissions: 'permissive' })
  const called = toolset.call('execute', { command: 'sleep 0.3; echo whole' })
  expect(await session.stopIfIdle(0)).toBe(false)
  expect((await called).text).toContain('whole')
  await toolset.close()
})

test('fifty sessions at once are used, evicted, and none is left or mixed up', async () => {
  const root = await project()
  await mkdir(join(root, 'w'))
  const sessions = new SessionManager({ docker: engine, workspaceRoot: join(root, 'w'), maxSessions: 50 })
  onTestFinished(async () => void (await sessions.shutdown()))
  const ids = Array.from({ length: 50 }, (_, index) => `user-${index}`)
  const backends = await Promise.all(
    ids.map(async (id) => {
      const backend = await sessions.getOrCreate(id)
      expect((await backend.execute(`echo ${id} > me; cat me`)).stdout).toBe(`${id}\n`)
      return backend
    }),
  )
  expect(sessions.size).toBe(50)
  const made = await Promise.all(backends.map((backend) => backend.containerId()))
  expect(made.filter((id) => containers().includes(String(id)))).toHaveLength(50)
  for (const id of ids) expect(await readFile(join(root, 'w', id, 'workspace', 'me'), 'utf8')).toBe(`${id}\n`)
  expect(await sessions.cleanupIdle(0)).toBe(50)
  expect(sessions.size).toBe(0)
  expect((await Promise.all(backends.map((backend) => backend.isAlive()))).some(Boolean)).toBe(false)
  // What the engine says counts, not what we think of it.
  expect(made.filter((id) => containers().includes(String(id)))).toEqual([])
  // A session that comes back finds its workspace.
  expect((await (await sessions.getOrCreate('user-7')).execute('cat me')).stdout).toBe('user-7\n')
})

// Eviction and release in the middle of use: a command runs whole or not at all, and is its own session's.
test('sessions that are evicted while others are made and used lose no command', async () => {
  const root = await project()
  await mkdir(join(root, 'w'))
  const sessions = new SessionManager({ docker: engine, workspaceRoot: join(root, 'w') })
  onTestFinished(async () => void (await sessions.shutdown()))
  const seen = new Set<string>()
  const turn = async (id: string): Promise<void> => {
    for (;;) {
      try {
        const session = await sessions.getOrCreate(id)
        const outcome = await session.execute(`echo ${id} >> me; wc -l < me`)
        expect(outcome.exitCode).toBe(0)
        seen.add(String(await session.containerId()))
        return
      } catch (error) {
        // Ended between two calls: then nothing was run.
        if ((error as { code?: string }).code !== 'CLOSED') throw error
      }
    }
  }
  const used = new AbortController()
  const evicting = (async () => {
    let evicted = 0
    while (!used.signal.aborted) {
      evicted += await sessions.cleanupIdle(0)
      await new Promise(setImmediate)
    }
    return evicted
  })()
  const ids = Array.from({ length: 8 }, (_, index) => `user-${index}`)
  await Promise.all(
    ids.map(async (id, index) => {
      for (let round = 0; round < 3; round += 1) {
        await turn(id)
        if (index % 2 === 0) await sessions.release(id)
      }
    }),
  )
  used.abort()
  await evicting
  await sessions.shutdown()
  for (const id of ids) {
    expect(await readFile(join(root, 'w', id, 'workspace', 'me'), 'utf8')).toBe(`${id}\n`.repeat(3))
  }
  // More than one container for some of them; none of any is left.
  expect(seen.size).toBeGreaterThan(ids.length)
  expect(containers().filter((id) => seen.has(id))).toEqual([])
})

test('what an author sets reaches the container', async () => {
  const backend = new DockerBackend({
    ...engine,
    memory: 128 * 1024 ** 2,
    memorySwap: 192 * 1024 ** 2,
    cpus: 0.5,
    cpuShares: 512,
    pids: 99,
    fileSize: 1024 ** 2,
    capabilities: ['CHOWN'],
    tmpfs: { '/workspace': 'uid=1234,gid=1234,size=8m' },
    readOnlyRoot: true,
    user: '1234:1234',
    env: { GREETING: 'hello' },
  })
  onTestFinished(() => backend.close())
  const outcome = await backend.execute(
    'id -u; touch /x 2>/dev/null || echo no; echo $GREETING; touch made && echo made',
  )
  expect(outcome.stdout).toBe('1234\nno\nhello\nmade\n')
  const id = String(await backend.containerId())
  const said = execFileSync('docker', ['--host', engine.host, 'inspect', '--format', '{{json .HostConfig}}', id])
  expect(JSON.parse(said.toString())).toMatchObject({
    Memory: 128 * 1024 ** 2,
    MemorySwap: 192 * 1024 ** 2,
    CpuQuota: 50_000,
    CpuShares: 512,
    PidsLimit: 99,
    NetworkMode: 'none',
    IpcMode: 'private',
    CapAdd: [expect.stringMatching(/^(CAP_)?CHOWN$/)],
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges'],
    ReadonlyRootfs: true,
    LogConfig: { Type: 'none' },
    Tmpfs: { '/workspace': 'uid=1234,gid=1234,size=8m,exec' },
  })
})

test('a session is found by its id, from inside the program and from outside (BE-125)', async () => {
  await using sessions = new SessionManager({ docker: engine })
  const session = await sessions.getOrCreate('user-42')
  expect(session.sessionId).toBe('user-42')
  const filter = ['--no-trunc', '--quiet', '--filter', 'label=dev.gloveport.id=user-42']
  const found = execFileSync('docker', ['--host', engine.host, 'ps', ...filter], { encoding: 'utf8' })
  expect(found.trim()).toBe(await session.containerId())
})

test('a search inside finds the newest first, and those of one age by path', async () => {
  const backend = new DockerBackend(engine)
  onTestFinished(() => backend.close())
  const made = await backend.execute(
    "mkdir sub; for name in old.txt sub/b.txt a.txt; do echo needle >$name; touch -d '2024-01-01 00:00' $name; done; " +
      "touch -d '2023-01-01 00:00' old.txt; echo needle >z-new.txt; touch -d '2024-06-01 00:00' z-new.txt",
  )
  expect(made.stderr).toBe('')
  const expected = ['z-new.txt', 'a.txt', 'sub/b.txt', 'old.txt'].map((path) => `/workspace/${path}`)
  const paths = (files: readonly { readonly path: string }[]) => files.map(({ path }) => path)
  expect(paths((await backend.glob('**')).files)).toEqual(expected)
  const found = await backend.grep('needle')
  expect(paths(found.files)).toEqual(expected)
  expect(paths(found.matches)).toEqual(expected)
  expect(paths((await backend.grep('needle', { sort: 'path' })).files)).toEqual(expected.toSorted())
})
