// What the systems that gloveport follows ask of a backend, by the number of the requirement; what the contract of every
// backend and the suites of the single backends hold already is not repeated here.

import { mkdir, readdir, readFile, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import {
  type Backend,
  CompositeBackend,
  createToolset,
  LocalBackend,
  ShellBackend,
  StateBackend,
  type UserBackend,
  type UserExecuteResult,
} from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { localBackend, project, rejection, toolsetOver } from './support.js'

/** A shell that is a local backend's, with what it was asked. */
async function shellBackend(files: Readonly<Record<string, string>> = {}) {
  const local = await localBackend(files)
  const asked: { readonly command: string; readonly timeout: number | undefined }[] = []
  const execute = async (command: string, options: { timeout?: number; cwd?: string } = {}) => {
    asked.push({ command, timeout: options.timeout })
    const { stdout, stderr, exitCode } = await local.execute(command, options)
    return { stdout, stderr, exitCode } satisfies UserExecuteResult
  }
  return {
    backend: new ShellBackend({ execute: execute as never, workingDirectory: local.workingDirectory }),
    asked,
    local,
  }
}

const METHODS = [
  'ls',
  'stat',
  'read',
  'readBytes',
  'write',
  'append',
  'edit',
  'mkdir',
  'remove',
  'move',
  'copy',
  'glob',
  'grep',
] as const

test('facts of an entry, and none that is not known (BE-1)', async () => {
  const local = await localBackend({ 'd/é.txt': 'é\n' })
  expect(await local.stat('d/é.txt')).toEqual({
    name: 'é.txt',
    path: `${local.workingDirectory}/d/é.txt`,
    type: 'file',
    size: 3,
    modifiedAt: expect.any(Date),
  })
  const own: UserBackend = { ls: () => [{ name: 'a', type: 'file', size: 1 }], read: () => 'a' }
  const composite = new CompositeBackend({ default: own })
  expect(await composite.ls('/')).toEqual([{ name: 'a', path: '/a', type: 'file', size: 1 }])
})

test('what a write, an edit, a search and a command answer (BE-2)', async () => {
  const backend = new StateBackend()
  expect(await backend.write('/a', 'one\n')).toEqual({
    path: '/a',
    bytes: 4,
    created: true,
    diff: '--- /dev/null\n+++ /a\n@@ -0,0 +1 @@\n+one\n',
  })
  expect(await backend.edit('/a', { oldString: 'one', newString: 'two' })).toEqual({
    path: '/a',
    replacements: 1,
    diff: '--- /a\n+++ /a\n@@ -1 +1 @@\n-one\n+two\n',
    summary: 'replaced 1 occurrence(s)',
    rebased: false,
  })
  expect((await backend.grep('two')).matches).toEqual([{ path: '/a', lineNumber: 1, line: 'two' }])
  const { exitCode, output, truncated } = await (await localBackend()).execute('echo out')
  expect({ exitCode, output, truncated }).toEqual({ exitCode: 0, output: 'out\n', truncated: false })
})

test('a document is plain JSON: half a character never gets in (BE-3, D15)', async () => {
  const backend = new StateBackend()
  expect(await rejection(backend.write('/a', 'x\uD800'))).toMatchObject({ code: 'INVALID_INPUT' })
  expect(backend.toJSON()).toEqual({})
  // Bytes that are no text stay bytes (D15), and those that are text are lines (BE-42).
  await backend.write('/b', Uint8Array.of(0xff, 0x00))
  await backend.write('/c', new TextEncoder().encode('é\n'))
  const document = backend.toJSON()
  expect(document['/b']).toMatchObject({ encoding: 'base64', content: ['/wA='] })
  expect(document['/c']).toMatchObject({ content: ['é', ''] })
  expect(document['/c']).not.toHaveProperty('encoding')
  expect(JSON.stringify(document).isWellFormed()).toBe(true)
})

test('a tool answers every failure, a backend rejects with an error of a class (BE-6, TS-43)', async () => {
  const backend = await localBackend({ 'a.txt': 'one\n', 'a.bin': '\u0000' })
  const toolset = createToolset({ backend, tools: ['console', 'files'] })
  onTestFinished(() => toolset.close())
  const table: [string, string, object, () => Promise<unknown>][] = [
    ['FILE_NOT_FOUND', 'read_file', { path: 'x' }, () => backend.read('x')],
    ['NOT_A_FILE', 'read_file', { path: '.' }, () => backend.read('.')],
    ['BINARY_FILE', 'read_file', { path: 'a.bin' }, () => backend.read('a.bin')],
    ['PATH_NOT_IN_SANDBOX', 'read_file', { path: '../x' }, () => backend.read('../x')],
    ['FILE_NOT_FOUND', 'ls', { path: 'x' }, () => backend.ls('x')],
    ['INVALID_INPUT', 'grep', { pattern: '(' }, () => backend.grep('(')],
    [
      'EDIT_FAILED',
      'edit_file',
      { path: 'a.txt', old_string: 'x', new_string: 'y' },
      () => backend.edit('a.txt', { oldString: 'x', newString: 'y' }),
    ],
    ['ALREADY_EXISTS', 'move_file', { source: 'a.txt', destination: 'a.bin' }, () => backend.move('a.txt', 'a.bin')],
  ]
  for (const [code, tool, input, act] of table) {
    const answer = await toolset.call(tool, input)
    expect({ isError: answer.isError, code: answer.code }, `${tool} ${JSON.stringify(input)}`).toEqual({
      isError: true,
      code,
    })
    expect(answer.text).toMatch(/^Error: /)
    expect(answer.text).not.toContain('Error: Error')
    expect(await rejection(act()), tool).toMatchObject({ code })
  }
})

test('every backend has every method, and none throws before it answers (BE-7, BE-10, BE-11)', async () => {
  const { backend: shell } = await shellBackend()
  const backends: Backend[] = [
    await localBackend(),
    new StateBackend(),
    new CompositeBackend({ default: new StateBackend() }),
    shell,
  ]
  for (const backend of backends) {
    for (const method of METHODS) {
      const answer = (backend[method] as (...args: unknown[]) => unknown).call(backend, 7, Symbol.iterator)
      expect(answer, method).toBeInstanceOf(Promise)
      expect(await rejection(answer as Promise<unknown>), method).toMatchObject({ code: 'INVALID_INPUT' })
    }
  }
})

test('only what is a file inside is one (BE-8)', async () => {
  const backend = await localBackend({ 'd/a.txt': '' })
  const root = backend.workingDirectory
  await symlink('loop', join(root, 'loop'))
  await symlink('/etc/passwd', join(root, 'out'))
  await symlink('d/a.txt', join(root, 'in'))
  const kinds: [string, string | undefined][] = [
    ['d/a.txt', 'file'],
    ['in', 'file'],
    ['d', 'directory'],
    ['missing', undefined],
    ['out', 'symlink'],
  ]
  for (const [path, type] of kinds) expect((await backend.stat(path))?.type, path).toBe(type)
  expect(await rejection(backend.stat('loop'))).toMatchObject({
    code: 'IO',
    message: expect.stringContaining('never end'),
  })
  expect(await rejection(backend.stat('a\0b'))).toMatchObject({ code: 'INVALID_INPUT' })
  expect(await rejection(backend.stat('/etc/passwd'))).toMatchObject({ code: 'PATH_NOT_IN_SANDBOX' })
})

test('commands that last hold no file operation up (BE-13)', async () => {
  const backend = await localBackend()
  const waiting = Array.from({ length: 24 }, (_, index) =>
    backend.execute(`echo > up.${index}; until [ -e go ]; do sleep 0.02; done; echo ${index}`),
  )
  // Each of these would wait for ever if the commands held what does the work.
  let up = 0
  while (up < waiting.length) up = (await backend.glob('up.*')).total
  await backend.write('go', '')
  expect((await Promise.all(waiting)).map(({ stdout }) => Number(stdout))).toEqual(waiting.map((_, index) => index))
})

test('a root is the first directory that is allowed, and what is allowed is a wall (BE-20, BE-21, BE-22)', async () => {
  const [one, two] = [await project({ 'a.txt': '1' }), await project({ 'b.txt': '2', '~/c.txt': '3' })]
  const backend = new LocalBackend({ allowedDirectories: [one, two] })
  onTestFinished(() => backend.close())
  expect(backend.workingDirectory).toBe(one)
  expect((await backend.read('a.txt')).content).toBe('1')
  expect((await backend.read(`${two}/b.txt`)).content).toBe('2')
  // A tilde is a name like any other.
  expect((await backend.read(`${two}/~/c.txt`)).content).toBe('3')
  const error = await rejection(backend.read(`${dirname(one)}/other`))
  expect(error).toMatchObject({
    code: 'PATH_NOT_IN_SANDBOX',
    message: expect.stringContaining(`${dirname(one)}/other`),
  })
  expect(error).toMatchObject({ message: expect.stringContaining(one) })
  expect(backend.id).not.toBe(new LocalBackend({ root: one }).id)
})

test('names in memory are names (BE-40, D12, BE-45)', async () => {
  const backend = new StateBackend()
  for (const name of ['ok..name', '..x', '~', '~root', 'C:', 'a:b', '...', 'constructor']) {
    await backend.write(`/${name}`, 'é')
    expect(await backend.stat(name), name).toMatchObject({ name, path: `/${name}`, size: 2 })
  }
  await backend.write('./d//./e', '')
  expect(await backend.stat('/d/e')).toMatchObject({ type: 'file', size: 0 })
  for (const root of ['/', '', '.', './', '//', 'd/..']) {
    expect((await backend.ls(root)).length, JSON.stringify(root)).toBe(9)
  }
  expect(await rejection(backend.read('../x'))).toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringContaining('above'),
  })
})

test('a file in memory keeps the time it was made (BE-43)', async () => {
  const made = '2020-01-01T00:00:00Z'
  const backend = new StateBackend({ files: { '/a': { content: ['one'], created_at: made, modified_at: made } } })
  await backend.write('/a', 'two')
  await backend.edit('/a', { oldString: 'two', newString: 'three' })
  const file = backend.toJSON()['/a'] as { created_at: string; modified_at: string }
  expect(new Date(file.created_at)).toEqual(new Date(made))
  expect(new Date(file.modified_at).getFullYear()).toBeGreaterThan(2020)
})

test('a name is a file or a directory, and the root is none to write (D14)', async () => {
  const backend = new StateBackend({ files: { '/y/z': '1' } })
  const before = backend.toJSON()
  for (const path of ['/', '', '.', '/y', '/y/z/w']) {
    expect(await rejection(backend.write(path, 'x')), path).toMatchObject({
      code: expect.stringMatching(/^(NOT_A_FILE|NOT_A_DIRECTORY|INVALID_INPUT)$/),
    })
  }
  expect(backend.toJSON()).toEqual(before)
})

test('the error of a part is that of the search over all, and no part is left out in silence (BE-53)', async () => {
  const broken: UserBackend = {
    ls: () => Promise.reject(new Error('the disk is on fire')),
    read: () => Promise.reject(new Error('the disk is on fire')),
  }
  const backend = new CompositeBackend({
    default: new StateBackend({ files: { '/a': 'needle', '/d/a': 'needle' } }),
    routes: { '/b': broken },
  })
  const toolset = createToolset({ backend })
  onTestFinished(() => toolset.close())
  for (const path of ['/', '', '.']) {
    for (const [tool, input] of [
      ['grep', { pattern: 'needle', path }],
      ['glob', { pattern: '**', path }],
    ] as const) {
      const found = await toolset.call(tool, input)
      expect({ isError: found.isError, code: found.code }, `${tool} '${path}'`).toEqual({
        isError: true,
        code: 'BACKEND_UNAVAILABLE',
      })
      // Half an answer would be taken for a whole one; and what the application said is for its author.
      expect(found.text).not.toMatch(/needle|on fire/)
    }
  }
  expect(await rejection(backend.grep('needle'))).toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
  expect(await rejection(backend.glob('**'))).toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
  // Who asks a part that works gets what it has, and a look at the root shows that there is another.
  expect((await backend.grep('needle', { path: '/d' })).files).toEqual([{ path: '/d/a', count: 1 }])
  expect((await backend.ls('/')).map(({ path }) => path)).toEqual(['/b', '/d', '/a'])
})

test('routes inside routes are listed and searched (D16, BE-54)', async () => {
  const deep: UserBackend = {
    ls: (path) => (path === '/mem/deep' ? [{ path: '/mem/deep/c', type: 'file', size: 6 }] : []),
    stat: (path) => (path === '/mem/deep/c' ? { path, type: 'file', size: 6 } : { path, type: 'directory' }),
    read: async () => 'needle',
  }
  const backend = new CompositeBackend({
    default: new StateBackend({ files: { '/a': 'needle' } }),
    routes: { '/mem': new StateBackend({ files: { '/mem/b': 'needle' } }), '/mem/deep': deep },
  })
  expect((await backend.ls('/mem')).map(({ path }) => path)).toEqual(['/mem/deep', '/mem/b'])
  expect((await backend.glob('**', { path: '/mem', sort: 'path' })).files.map(({ path }) => path)).toEqual([
    '/mem/b',
    '/mem/deep/c',
  ])
  expect((await backend.grep('needle', { sort: 'path' })).files.map(({ path }) => path)).toEqual([
    '/a',
    '/mem/b',
    '/mem/deep/c',
  ])
})

test('odd names go through a shell and back (BE-60, BE-61, D17)', async () => {
  const { backend } = await shellBackend()
  const names = [
    'l -> sub',
    'two  blanks',
    '-rf',
    '--help',
    'a=b',
    'x:1:y',
    '*',
    '$HOME',
    "it's",
    '"',
    '\\',
    'new\nline',
    ' lead',
    'é',
  ]
  for (const name of names) {
    await backend.write(`d/${name}`, `${name}\n`)
    expect((await backend.read(`d/${name}`)).content, name).toBe(`${name}\n`)
  }
  expect((await backend.ls('d')).map(({ name }) => name).toSorted()).toEqual(names.toSorted())
  expect((await backend.glob('*', { path: 'd' })).total).toBe(names.length)
  expect((await backend.grep('-rf', { path: 'd', literal: true })).files).toEqual([
    { path: `${backend.workingDirectory}/d/-rf`, count: 1 },
  ])
  for (const name of names) await backend.remove(`d/${name}`)
  expect(await backend.ls('d')).toEqual([])
})

test('each spelling of the working directory is searched from there (BE-63)', async () => {
  const { backend } = await shellBackend({ 'a.ts': '', 'd/b.ts': '' })
  for (const path of [undefined, '.', './', 'd/..', backend.workingDirectory]) {
    const { files } = await backend.glob('**/*.ts', { ...(path === undefined ? {} : { path }), sort: 'path' })
    expect(
      files.map((file) => file.path),
      path,
    ).toEqual(['a.ts', 'd/b.ts'].map((name) => `${backend.workingDirectory}/${name}`))
  }
})

test('what is derived from commands asks for an end of them (BE-64)', async () => {
  const { backend, asked } = await shellBackend({ 'a.ts': 'needle' })
  await backend.read('a.ts')
  await backend.write('b', 'x'.repeat(1000))
  await backend.glob('*')
  await backend.grep('needle')
  expect(asked.length).toBeGreaterThan(3)
  for (const { command, timeout } of asked) {
    expect(timeout, command.slice(0, 80)).toBeGreaterThan(0)
    expect(timeout, command.slice(0, 80)).toBeLessThanOrEqual(120_000)
  }
})

test('a toolset is entered once, left once, and takes its folder with it (TS-40, TS-41)', async () => {
  const backend = await localBackend({ 'a.txt': '' })
  let kept = ''
  let toolset
  {
    await using entered = createToolset({ backend })
    toolset = entered
    kept = await entered.keep('report.txt', 'text')
    expect(await entered.call('read_file', { path: kept })).toMatchObject({ isError: false })
    expect(entered.instructions).toContain(backend.workingDirectory)
  }
  expect(await toolset.call('read_file', { path: 'a.txt' }).catch((error: unknown) => error)).toMatchObject({
    code: 'CLOSED',
  })
  await toolset.close()
  const other = await toolsetOver({})
  expect(await other.call('read_file', { path: kept })).toMatchObject({ isError: true })
  expect(await readdir(backend.workingDirectory)).toEqual(['a.txt'])
})

test('a part of a file, an appended one, and each change of a tree (TS-42)', async () => {
  const backend = await localBackend({ 'a.txt': '1\n2\n3\n' })
  expect((await backend.read('a.txt', { offset: 1, limit: 1 })).content).toBe('2\n')
  await backend.append('log/b.txt', 'one\n')
  await backend.append('log/b.txt', Uint8Array.of(255))
  expect(Buffer.from(await backend.readBytes('log/b.txt'))).toEqual(Buffer.from([...Buffer.from('one\n'), 255]))
  await backend.mkdir('x/y')
  await backend.copy('a.txt', 'x/y/a.txt')
  await backend.move('x/y', 'z')
  await backend.remove('x')
  expect((await backend.ls('.', { depth: 2 })).map(({ name, type }) => `${name} ${type}`)).toEqual([
    'log directory',
    'b.txt file',
    'z directory',
    'a.txt file',
    'a.txt file',
  ])
  await mkdir(join(backend.workingDirectory, 'empty'))
  expect(await readFile(join(backend.workingDirectory, 'z/a.txt'), 'utf8')).toBe('1\n2\n3\n')
})
