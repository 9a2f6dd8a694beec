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

import { engine } from './support.js'

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

/** Where each regression case of the systems that gloveport follows is held: in the contract, or in a suite of its own. */
const ELSEWHERE: Readonly<Record<number, string>> = {
  2: 'toolset: a denied operation leaves out all its tools (crates/core/src/toolset/tests.rs)',
  5: 'Docker: sessions',
  9: 'remote, local: a listing survives an entry that vanishes (crates/core/src/backend/local/tests)',
  10: 'search: a walk survives an entry that vanishes (crates/core/src/search/tests/walking.rs)',
  14: 'memory: a document survives JSON (__test__/state-backend.test.ts)',
  15: 'composite: errors of a part are those of the search (crates/core/src/backend/composite/tests.rs)',
  16: 'composite: the longest route wins on whole names (__test__/composite-backend.test.ts)',
  20: 'commands: a timeout of 0 ends at once (crates/core/src/backend/local/shell/tests.rs)',
  21: 'Docker: a failed upload',
  22: 'Docker: no zombies',
  23: 'Docker: git in a mounted workspace',
  24: 'commands: a command that was ended returns what it printed (__test__/local-backend.test.ts)',
  25: 'Docker: npm packages',
  26: 'Docker: injection into an image recipe',
  29: 'shell: a cut answer is an error (__test__/shell-backend.test.ts)',
  34: 'reads of bytes reject with typed errors (the contract: FILE_NOT_FOUND)',
  35: 'toolset: an unknown key of descriptions is an error (crates/core/src/toolset/mod.rs: known)',
  36: 'toolset: hashline_edit judged as edit (crates/core/src/tool)',
  37: 'every method is asynchronous: there is nothing to detect',
  38: 'Docker: sessions end side by side',
}

test('each of the 38 regression cases is in the contract or named with its suite', () => {
  const named = contractCases.flatMap(({ name }) =>
    [...(/\(([^)]*)\)$/.exec(name)?.[1] ?? '').matchAll(/\b\d+\b/g)].map(Number),
  )
  const held = [...named, ...Object.keys(ELSEWHERE).map(Number)].toSorted((one, other) => one - other)
  expect([...new Set(held)]).toEqual(Array.from({ length: 38 }, (_, index) => index + 1))
})
