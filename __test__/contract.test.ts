// The contract on every backend, and how many cases each keeps, side by side.

import { execFile } from 'node:child_process'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import {
  type Backend,
  CompositeBackend,
  DockerBackend,
  LocalBackend,
  Sandbox,
  ShellBackend,
  StateBackend,
  type UserBackend,
  type UserExecuteResult,
} from 'gloveport'
import { contractCases, type ContractSubject, runContract, testBackend } from 'gloveport/testing'
import { afterAll, describe, expect, test } from 'vitest'

import { engine, type Held, missingTests } from './support.js'

async function folder(): Promise<{ root: string; dispose: () => Promise<void> }> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'gloveport-contract-')))
  return { root, dispose: () => rm(root, { recursive: true, force: true }) }
}

function run(command: string): Promise<UserExecuteResult> {
  return new Promise((resolve) => {
    execFile('sh', ['-c', command], { maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      resolve({ stdout, stderr, exitCode: error ? Number(error.code) : 0 })
    }).stdin?.end()
  })
}

/** An application's own backend: a map, and as few methods as there can be. */
function mapBackend(): UserBackend {
  const files = new Map<string, Buffer>()
  const directories = new Set(['/'])
  const missing = (): never => {
    throw Object.assign(new Error(), { code: 'ENOENT' })
  }
  return {
    ls: (path) => {
      const below = path === '/' ? '/' : `${path}/`
      const own = (name: string): boolean =>
        name.startsWith(below) && name !== '/' && !name.slice(below.length).includes('/')
      return [
        ...[...directories].filter(own).map((name) => ({ path: name, type: 'directory' as const })),
        ...[...files]
          .filter(([name]) => own(name))
          .map(([name, content]) => ({ path: name, type: 'file' as const, size: content.length })),
      ]
    },
    readBytes: (path) => files.get(path) ?? missing(),
    write(path, content) {
      for (let at = path.indexOf('/', 1); at > 0; at = path.indexOf('/', at + 1)) directories.add(path.slice(0, at))
      files.set(path, Buffer.from(content as string))
    },
    mkdir(path) {
      for (let at = path.indexOf('/', 1); at > 0; at = path.indexOf('/', at + 1)) directories.add(path.slice(0, at))
      directories.add(path)
    },
    remove(path) {
      const gone = (name: string): boolean => name === path || name.startsWith(`${path}/`)
      for (const name of [...files.keys()].filter(gone)) files.delete(name)
      for (const name of [...directories].filter(gone)) directories.delete(name)
    },
  }
}

/** Every method of a backend of ours, behind an object that is none. */
function wrapped(backend: Backend): UserBackend {
  return {
    ls: (path) => backend.ls(path),
    stat: (path) => backend.stat(path),
    read: (path, options) => backend.read(path, options),
    readBytes: (path) => backend.readBytes(path),
    write: (path, content) => backend.write(path, content),
    append: (path, content) => backend.append(path, content),
    mkdir: (path) => backend.mkdir(path),
    remove: (path, options) => backend.remove(path, options),
    move: (from, to) => backend.move(from, to),
    copy: (from, to) => backend.copy(from, to),
  }
}

const SUBJECTS: Readonly<Record<string, () => ContractSubject | Promise<ContractSubject>>> = {
  local: async () => {
    const { root, dispose } = await folder()
    return { backend: new LocalBackend({ root }), dispose }
  },
  'local, mounted': async () => {
    const { root, dispose } = await folder()
    const sandbox = new Sandbox({
      mounts: [{ hostPath: root, mountPoint: '/work', mode: 'rw', writeApproval: false }],
    })
    return { backend: new LocalBackend({ sandbox }), base: '/work', dispose }
  },
  memory: () => ({ backend: new StateBackend() }),
  'composite, default': () => ({
    backend: new CompositeBackend({ default: new StateBackend(), routes: { '/.other': new StateBackend() } }),
    base: '/work',
  }),
  'composite, route': () => ({
    backend: new CompositeBackend({ default: new StateBackend(), routes: { '/mem': new StateBackend() }, strip: true }),
    base: '/mem',
  }),
  shell: async () => {
    const { root, dispose } = await folder()
    return { backend: new ShellBackend({ execute: run, workingDirectory: root }), dispose }
  },
  'user-made, five methods': () => ({ backend: mapBackend() }),
  'user-made, ten methods': () => ({ backend: wrapped(new StateBackend()) }),
}

/** One container for all cases, each in a directory of its own; and one that is made for its mounts. */
function containers(): Readonly<Record<string, () => ContractSubject | Promise<ContractSubject>>> {
  if (!engine) return {}
  const shared = new DockerBackend(engine)
  afterAll(() => shared.close())
  let cases = 0
  return {
    docker: async () => {
      const base = `/workspace/case-${(cases += 1)}`
      await shared.mkdir(base)
      return { backend: shared, base }
    },
    'docker, mounted': async () => {
      const { root, dispose } = await folder()
      const sandbox = new Sandbox({
        mounts: [{ hostPath: root, mountPoint: '/work', mode: 'rw', writeApproval: false }],
      })
      const backend = new DockerBackend({ ...engine, sandbox })
      return { backend, base: '/work', dispose: () => backend.close().then(dispose) }
    },
  }
}

const kept = new Map<string, number>()

for (const [name, make] of Object.entries({ ...SUBJECTS, ...containers() })) {
  testBackend(name, make, {
    describe,
    test: (title, body) =>
      test(title, async () => {
        await body()
        kept.set(name, (kept.get(name) ?? 0) + 1)
      }),
  })
}

afterAll(() => {
  const lines = [...kept].map(([name, count]) => `  ${name.padEnd(26)} ${count} of ${contractCases.length} cases`)
  process.stdout.write(`The contract:\n${lines.join('\n')}\n`)
})

test('a backend that breaks the contract is told where', async () => {
  const backend = new StateBackend()
  const { passed, failed } = await runContract(() => ({
    backend: { ...wrapped(backend), readBytes: async (path) => (await backend.readBytes(path)).slice(1) },
  }))
  expect(passed + failed.length).toBe(contractCases.length)
  expect(failed.map(({ name }) => name)).toContain('binary content is exact, and no text (6, 7, D15)')
  expect(failed[0]?.problem).toMatch(/read a\.txt .*\n {4}expected .*\n {4}answered /)
})

test('node:test runs the contract', async () => {
  const program = `
    import { describe, test } from 'node:test'
    import { StateBackend } from 'gloveport'
    import { testBackend } from 'gloveport/testing'
    testBackend('memory', () => ({ backend: new StateBackend() }), { describe, test })`
  const args = ['--test-reporter=tap', '--input-type=module', '-e', program]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: new URL('..', import.meta.url) })
  expect(stdout).toContain(`# pass ${contractCases.length}`)
  expect(stdout).toContain('# fail 0')
})

const CORE = 'crates/core/src/'
const COMPOSITE = `${CORE}backend/composite/tests.rs`
const IN_CONTAINERS = 'crates/guest/tests/docker/'
const SESSIONS = '__test__/session-manager.test.ts'
const TOOLSET = '__test__/toolset.test.ts'

/** Where each regression case of the systems that gloveport follows is held, unless it is one of the contract. */
const ELSEWHERE: Held = [
  ['2', TOOLSET, 'rules that deny all commands leave no tool that runs or watches them'],
  ['5', SESSIONS, 'a session is not made again before its old one is gone'],
  ['5', SESSIONS, 'calls at the same time make one session'],
  ['8', TOOLSET, 'edits by text and by tagged lines share the lock of a file'],
  ['9', `${CORE}backend/local/tests/odd.rs`, 'a_listing_goes_on_where_an_entry_vanishes'],
  ['10', `${CORE}search/tests/walking.rs`, 'a_search_goes_on_where_an_entry_vanishes'],
  ['14', '__test__/state-backend.test.ts', 'a document survives JSON, with times, bytes and empty directories'],
  ['15', COMPOSITE, 'an_error_of_any_part_is_the_error_of_the_search'],
  ['16', COMPOSITE, 'the_longest_route_wins_on_whole_names'],
  ['20', `${CORE}backend/local/shell/tests.rs`, 'no_time_is_a_timeout_and_starts_nothing'],
  [
    '21',
    `${CORE}backend/docker/life_tests.rs`,
    'a_container_that_does_not_take_the_guest_is_an_error_and_does_not_stay',
  ],
  ['22', `${IN_CONTAINERS}commands.rs`, 'orphans_are_buried'],
  ['23', `${IN_CONTAINERS}debian.rs`, 'git_and_python_work_in_debian_without_asking'],
  ['24', '__test__/local-backend.test.ts', 'a command that outlives its timeout resolves with what it printed'],
  [
    '25',
    '__test__/environment.test.ts',
    'a project of Node is made, and local packages and their programs are installed',
  ],
  ['26', `${CORE}backend/docker/runtime.rs`, 'nothing_injects_a_line_or_an_option'],
  ['29', '__test__/shell-backend.test.ts', 'a shell whose answers are cut is an error, never a shorter file'],
  // Here a read of bytes that fails is an error with a code, and never an empty file.
  [
    '34',
    '__test__/requirements.test.ts',
    'a tool answers every failure, a backend rejects with an error of a class (BE-6, TS-43)',
  ],
  ['35', `${CORE}toolset/tests.rs`, 'options_choose_name_and_describe_the_tools'],
  ['36', '__test__/console-capability.test.ts', 'every tool of the console has the operation whose rules judge it'],
  // Here every method is asynchronous: there is nothing to detect.
  [
    '37',
    '__test__/requirements.test.ts',
    'every backend has every method, and none throws before it answers (BE-7, BE-10, BE-11)',
  ],
  ['38', SESSIONS, 'sessions end side by side'],
]

test('each of the 38 regression cases is in the contract or held by a test that is there', async () => {
  const named = contractCases.flatMap(({ name }) =>
    [...(/\(([^)]*)\)$/.exec(name)?.[1] ?? '').matchAll(/\b\d+\b/g)].map(Number),
  )
  const held = [...named, ...ELSEWHERE.map(([id]) => Number(id))].toSorted((one, other) => one - other)
  expect([...new Set(held)]).toEqual(Array.from({ length: 38 }, (_, index) => index + 1))
  expect(await missingTests(ELSEWHERE)).toEqual([])
})
