// Backends that an application wrote: what they lack is derived, and nothing that they do crashes or hangs a toolset.

import { CompositeBackend, createToolset, InvalidInputError, StateBackend, type UserBackend } from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { rejection } from './support.js'

/** Three methods over a map: no directories, no times, no listing of what is below. */
function keyValue(files: Record<string, string>): UserBackend & { readonly map: Map<string, string> } {
  const map = new Map(Object.entries(files))
  return {
    map,
    read(path) {
      const content = map.get(path)
      if (content === undefined) throw Object.assign(new Error('gone'), { code: 'ENOENT' })
      return content
    },
    write: (path, content) => map.set(path, content as string),
  }
}

function toolsetOf(backend: UserBackend, errors: unknown[] = []) {
  const toolset = createToolset({
    backend,
    tools: ['console', 'files'],
    onError: (error) => errors.push(error),
    requireExecuteApproval: false,
  })
  onTestFinished(() => toolset.close())
  return toolset
}

test('two methods are enough for reading, writing, appending and editing', async () => {
  const backend = keyValue({ '/a.txt': 'one\r\ntwo\r\n' })
  const toolset = toolsetOf(backend)
  expect(await toolset.call('read_file', { path: 'a.txt', offset: 1 })).toMatchObject({
    isError: false,
    text: expect.stringContaining('2\ttwo'),
  })
  expect(await toolset.call('edit_file', { path: '/a.txt', old_string: 'two', new_string: '2' })).toMatchObject({
    isError: false,
  })
  expect(backend.map.get('/a.txt')).toBe('one\r\n2\r\n')
  expect(await toolset.call('write_file', { path: '/b/c.txt', content: 'new' })).toMatchObject({ isError: false })
  expect(backend.map.get('/b/c.txt')).toBe('new')
  expect(await toolset.call('read_file', { path: '/missing' })).toMatchObject({ code: 'FILE_NOT_FOUND' })
  for (const [tool, input] of [
    ['ls', {}],
    ['glob', { pattern: '**' }],
    ['delete_file', { path: '/a.txt' }],
  ] as const) {
    expect(await toolset.call(tool, input), tool).toMatchObject({ code: 'UNSUPPORTED' })
  }
})

test('twenty edits of one file at once are all applied', async () => {
  const lines = Array.from({ length: 20 }, (_, line) => `line ${line};\n`)
  const backend = keyValue({ '/a.txt': lines.join('') })
  const { read, write } = backend
  // Slow enough that each edit would overwrite the others' if they did not take turns.
  backend.read = async (path) => {
    await new Promise(setImmediate)
    return read!.call(backend, path)
  }
  backend.write = async (path, content) => {
    await new Promise(setImmediate)
    return write!.call(backend, path, content)
  }
  const toolset = toolsetOf(backend)
  await Promise.all(
    lines.map((_, line) =>
      toolset.call('edit_file', { path: '/a.txt', old_string: `line ${line};`, new_string: `done ${line};` }),
    ),
  )
  expect(backend.map.get('/a.txt')).toBe(lines.join('').replaceAll('line', 'done'))
})

test('searches and moves are derived from listing, reading, writing and removing', async () => {
  const state = new StateBackend({
    files: { '/src/a.ts': 'needle\n', '/src/.hidden/b.ts': 'needle\n', '/c.md': 'x\n' },
  })
  const backend: UserBackend = {
    ls: (path) => state.ls(path),
    readBytes: (path) => state.readBytes(path),
    write: (path, content) => state.write(path, content),
    mkdir: (path) => state.mkdir(path),
    remove: (path, options) => state.remove(path, options),
  }
  const toolset = toolsetOf(backend)
  expect((await toolset.call('glob', { pattern: '**/*.ts' })).text).toContain('/src/a.ts')
  expect(await toolset.call('grep', { pattern: 'need.e', output_mode: 'content' })).toMatchObject({
    text: expect.stringMatching(/\/src\/a\.ts/),
  })
  expect(await toolset.call('move_file', { source: '/src', destination: '/lib/src' })).toMatchObject({ isError: false })
  expect(await toolset.call('copy_file', { source: '/c.md', destination: '/lib/c.md' })).toMatchObject({
    isError: false,
  })
  expect(Object.keys(state.toJSON())).toEqual(['/c.md', '/lib/c.md', '/lib/src/.hidden/b.ts', '/lib/src/a.ts'])
})

test('a rule holds in a search and in a move of a directory', async () => {
  const state = new StateBackend({ files: { '/a/secret.pem': 'needle', '/a/b.txt': 'needle' } })
  const backend: UserBackend = {
    ls: (path) => state.ls(path),
    read: async (path) => (await state.read(path)).content,
    write: (path, content) => state.write(path, content),
    remove: (path, options) => state.remove(path, options),
    mkdir: (path) => state.mkdir(path),
  }
  const rules = { rules: [{ pattern: '**/*.pem', action: 'deny' as const }] }
  const toolset = createToolset({
    backend,
    tools: ['console', 'files'],
    permissions: { default: 'allow', read: rules, delete: rules },
  })
  const found = await toolset.call('grep', { pattern: 'needle', output_mode: 'content' })
  expect(found.text).toContain('b.txt')
  expect(found.text).not.toContain('secret')
  expect(await toolset.call('move_file', { source: '/a', destination: '/b' })).toMatchObject({
    code: 'PERMISSION_DENIED',
  })
  expect(await toolset.call('delete_file', { path: '/a', recursive: true })).toMatchObject({ isError: true })
  expect(Object.keys(state.toJSON())).toEqual(['/a/b.txt', '/a/secret.pem'])
})

test('an object is a route of a composite, and its own `this`', async () => {
  class Memories {
    #content = 'kept\n'
    read(path: string): string {
      if (path !== '/notes.md') throw Object.assign(new Error(), { code: 'ENOENT' })
      return this.#content
    }
    write(_path: string, content: string | Uint8Array): void {
      this.#content = content as string
    }
  }
  const backend = new CompositeBackend({ default: new StateBackend(), routes: { '/m': new Memories() }, strip: true })
  expect((await backend.read('/m/notes.md')).content).toBe('kept\n')
  await backend.edit('/m/notes.md', { oldString: 'kept', newString: 'changed' })
  await backend.copy('/m/notes.md', '/copy.md')
  expect((await backend.read('/copy.md')).content).toBe('changed\n')
  expect(await rejection(backend.read('/m/other'))).toMatchObject({ code: 'FILE_NOT_FOUND', path: '/m/other' })
})

test('what a command reads comes as text where it is UTF-8, and else as bytes', async () => {
  const given: unknown[] = []
  const user: UserBackend = {
    execute: (_, options) => {
      given.push(options?.stdin)
      return { exitCode: 0 }
    },
  }
  const backend = new CompositeBackend({ default: user })
  for (const stdin of ['é\0', '', Buffer.from('text'), Buffer.from([0x41, 0xff]), undefined]) {
    await backend.execute('cat', { stdin })
  }
  expect(given).toEqual(['é\0', '', 'text', new Uint8Array([0x41, 0xff]), undefined])
  await backend.close()
})

test('what a method throws reaches the author, and never the model', async () => {
  const mine = new Error('password=hunter2 at /home/me')
  const backend: UserBackend = {
    read: () => {
      throw mine
    },
  }
  const errors: unknown[] = []
  const result = await toolsetOf(backend, errors).call('read_file', { path: '/a' })
  expect(result).toMatchObject({ isError: true, code: 'BACKEND_UNAVAILABLE' })
  expect(result.text).not.toMatch(/hunter2|home/)
  expect(errors).toContain(mine)
  const composite = new CompositeBackend({ default: backend })
  expect(await rejection(composite.read('/a'))).toMatchObject({ code: 'BACKEND_UNAVAILABLE', cause: mine })
})

const never = new Promise<never>(() => {})
const wrong = (value: unknown): never => value as never
const file = { name: 'a.txt', type: 'file', size: 1 }
const bomb = new Proxy(
  {},
  {
    get(_target, name) {
      if (name === 'then') return undefined
      throw new Error('touched')
    },
  },
)

const HOSTILE: readonly [string, UserBackend][] = [
  ['throws nothing at all', { read: () => Promise.reject(wrong(undefined)) }],
  ['throws a string', { read: () => Promise.reject(wrong('x')) }],
  ['throws an object whose fields throw', { read: () => Promise.reject(bomb as Error) }],
  ['reads a number', { read: () => wrong(5) }],
  ['reads nothing', { read: () => wrong(undefined) }],
  ['reads an object without content', { read: () => wrong({ text: 'x' }) }],
  ['reads pages that never end', { read: () => ({ content: 'x', truncated: true, nextOffset: 1 }) }],
  ['reads a page and does not say where to read on', { read: () => ({ content: 'x', truncated: true }) }],
  ['reads an object whose fields throw', { read: () => bomb as never }],
  ['reads a detached view', { readBytes: () => wrong(new DataView(new ArrayBuffer(1)).getInt8) }],
  ['lists a string', { read: () => 'x', ls: () => wrong('a.txt') }],
  ['lists null', { read: () => 'x', ls: () => wrong([null]) }],
  ['lists names that lead out', { read: () => 'x', ls: () => wrong([{ ...file, name: '../a.txt' }]) }],
  ['lists paths outside', { read: () => 'x', ls: () => wrong([{ ...file, path: '/etc/passwd/x' }]) }],
  ['lists a NaN size', { read: () => 'x', ls: () => wrong([{ ...file, size: NaN }]) }],
  ['lists a negative size', { read: () => 'x', ls: () => wrong([{ ...file, size: -1 }]) }],
  ['lists a size beyond numbers', { read: () => 'x', ls: () => wrong([{ ...file, size: 1e300 }]) }],
  ['lists an unknown type', { read: () => 'x', ls: () => wrong([{ ...file, type: 'dir' }]) }],
  ['lists a time that is none', { read: () => 'x', ls: () => wrong([{ ...file, modifiedAt: new Date(NaN) }]) }],
  ['lists a BigInt', { read: () => 'x', ls: () => wrong([{ ...file, size: 1n }]) }],
  ['lists far too much', { read: () => 'x', ls: () => wrong(Array.from({ length: 200_000 }, () => file)) }],
  ['lists an array that lies', { read: () => 'x', ls: () => wrong(Object.assign([], { map: () => [1] })) }],
  ['tells facts that are a number', { read: () => 'x', stat: () => wrong(7) }],
  ['runs to a number', { execute: () => wrong(1) }],
  ['runs and prints a number', { execute: () => wrong({ stdout: 5 }) }],
  ['runs to an exit code that is none', { execute: () => ({ stdout: '', exitCode: NaN }) }],
  ['runs and prints junk', { execute: () => ({ output: 'welcome!\n'.repeat(10_000), exitCode: 0 }) }],
  ['runs and prints half a surrogate pair', { execute: () => ({ output: '\uD800', exitCode: 0 }) }],
]

test.each(HOSTILE)('a backend that %s gets errors, and the next call is answered', async (_name, backend) => {
  const toolset = toolsetOf(backend)
  const results = await Promise.all([
    toolset.call('read_file', { path: '/a.txt' }),
    toolset.call('ls', { path: '/' }),
    toolset.call('grep', { pattern: 'x', path: '/' }),
    toolset.call('write_file', { path: '/a.txt', content: 'x' }),
  ])
  const codes = results.map((result) => result.code)
  expect(codes.some((code) => code !== undefined)).toBe(true)
  expect(codes).not.toContain('INTERNAL')
  for (const { text } of results) expect(text).not.toMatch(/touched|\bat .*\.ts/)
})

test('a method that never answers is given up, told so, and holds nobody else', async () => {
  const signals: AbortSignal[] = []
  const backend: UserBackend = {
    read: (path, options) => {
      if (path !== '/hangs') return 'x'
      signals.push(options!.signal!)
      return never
    },
    stat: (path) => ({ name: path.slice(1), type: 'file', size: 1 }),
    write: () => never,
  }
  const toolset = toolsetOf(backend)
  const controller = new AbortController()
  const hanging = toolset.call('read_file', { path: '/hangs' }, { signal: controller.signal })
  while (!signals.length) await new Promise(setImmediate)
  expect(await toolset.call('read_file', { path: '/b' })).toMatchObject({ isError: false })
  controller.abort()
  expect(await rejection(hanging)).toMatchObject({ code: 'ABORTED' })
  while (!signals[0]!.aborted) await new Promise(setImmediate)
  const writing = new AbortController()
  const stuck = toolset.call('write_file', { path: '/c', content: 'x' }, { signal: writing.signal })
  const behind = toolset.call('write_file', { path: '/c', content: 'y' }, { signal: AbortSignal.timeout(50) })
  expect(await rejection(behind)).toMatchObject({ code: 'ABORTED' })
  writing.abort()
  expect(await rejection(stuck)).toMatchObject({ code: 'ABORTED' })
})

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a string', '/tmp'],
  ['an array', []],
  ['a function', () => {}],
  ['an object without methods', {}],
  ['an object that only writes', { write: () => {} }],
  ['a method that is none', { read: 'a' }],
  ['a proxy that throws', bomb],
  ['a working directory that is relative', { read: () => '', workingDirectory: 'src' }],
  ['a working directory that is a number', { read: () => '', workingDirectory: 5 }],
])('%s is no backend', (_name, backend) => {
  expect(() => createToolset({ backend: wrong(backend) })).toThrow(InvalidInputError)
  expect(() => new CompositeBackend({ default: new StateBackend(), routes: { '/a': wrong(backend) } })).toThrow(
    InvalidInputError,
  )
})
