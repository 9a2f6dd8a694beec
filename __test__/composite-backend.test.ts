// Several backends as one tree.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { CompositeBackend, createToolset, LocalBackend, StateBackend } from 'gloveport'
import { expect, test } from 'vitest'

import { project, rejection } from './support.js'

const names = (entries: readonly { path: string }[]): string[] => entries.map((entry) => entry.path)

test('the longest route wins on whole names, and every route shows', async () => {
  const [rest, mem, deep] = ['default', 'mem', 'deep'].map(
    (name) => new StateBackend({ files: { [`/mem/deep/${name}.txt`]: name, '/memory/x.txt': name } }),
  ) as [StateBackend, StateBackend, StateBackend]
  const backend = new CompositeBackend({ default: rest, routes: { '/mem/': mem, 'mem/deep': deep, '/a/b/c': mem } })
  expect(names(await backend.ls('/'))).toEqual(['/a', '/mem', '/memory'])
  expect(names(await backend.ls('/a', { depth: 2 }))).toEqual(['/a/b', '/a/b/c'])
  expect(names(await backend.ls('/mem', { depth: 2 }))).toEqual(['/mem/deep', '/mem/deep/deep.txt'])
  expect((await backend.read('/memory/x.txt')).content).toBe('default')
  const { files } = await backend.glob('**/*.txt', { path: '/', sort: 'path' })
  expect(names(files)).toEqual(['/mem/deep/deep.txt', '/memory/x.txt'])
  expect(backend.workingDirectory).toBe('/')
})

test('strip gives a route its own paths, and moves lead across', async () => {
  const root = await project({ 'a.txt': 'on disk\n' })
  const memory = new StateBackend()
  const disk = new LocalBackend({ root })
  const backend = new CompositeBackend({ default: memory, routes: { '/disk': disk }, strip: ['/disk'] })
  await backend.move('/disk/a.txt', '/in-memory.txt')
  expect((await memory.read('/in-memory.txt')).content).toBe('on disk\n')
  await backend.copy('/in-memory.txt', '/disk/back/b.txt')
  expect(await readFile(join(root, 'back/b.txt'), 'utf8')).toBe('on disk\n')
  expect(await rejection(backend.read('/disk/missing'))).toMatchObject({
    code: 'FILE_NOT_FOUND',
    path: '/disk/missing',
    message: expect.not.stringContaining(root),
  })
  const { files } = await backend.grep('on disk', { sort: 'path' })
  expect(files.map((file) => file.path)).toEqual(['/disk/back/b.txt', '/in-memory.txt'])
  await disk.close()
})

test('commands run on the default', async () => {
  const root = await project({})
  const disk = new LocalBackend({ root })
  const backend = new CompositeBackend({ default: disk, routes: { '/mem': new StateBackend() } })
  expect((await backend.execute('pwd')).stdout).toBe(`${root}\n`)
  const other = new CompositeBackend({ default: new StateBackend(), routes: { [root]: disk } })
  expect(await rejection(other.execute('pwd'))).toMatchObject({ code: 'UNSUPPORTED' })
  await disk.close()
})

test('closing leaves the parts open', async () => {
  const memory = new StateBackend({ files: { '/a': '1' } })
  const backend = new CompositeBackend({ default: memory })
  await backend.close()
  expect(await rejection(backend.read('/a'))).toMatchObject({ code: 'CLOSED' })
  expect((await memory.read('/a')).content).toBe('1')
})

test('rules hold in a route as they are written', async () => {
  const backend = new CompositeBackend({
    default: new StateBackend({ files: { '/a.txt': 'secret' } }),
    routes: { '/mem': new StateBackend({ files: { '/key.pem': 'secret' } }) },
    strip: true,
  })
  const toolset = createToolset({
    backend,
    permissions: { default: 'allow', read: { rules: [{ pattern: '/mem/*.pem', action: 'deny' }] } },
  })
  expect(await toolset.call('read_file', { path: '/mem/key.pem' })).toMatchObject({ code: 'PERMISSION_DENIED' })
  expect(await toolset.call('read_file', { path: '/a.txt' })).toMatchObject({ isError: false })
})

const wrong = (value: unknown): never => value as never
const state = new StateBackend()

test.each<[string, () => unknown]>([
  ['no options', () => new CompositeBackend(wrong(undefined))],
  ['no default', () => new CompositeBackend(wrong({ routes: {} }))],
  ['a default that is a string', () => new CompositeBackend(wrong({ default: '/' }))],
  ['a route that is no backend', () => new CompositeBackend(wrong({ default: state, routes: { '/a': 1 } }))],
  ['routes that are a list', () => new CompositeBackend(wrong({ default: state, routes: [state] }))],
  ['the route /', () => new CompositeBackend({ default: state, routes: { '/': state } })],
  ['a route named twice', () => new CompositeBackend({ default: state, routes: { '/a': state, 'a/': state } })],
  ['a route with half a surrogate pair', () => new CompositeBackend({ default: state, routes: { '\uD800': state } })],
  ['strip of no route', () => new CompositeBackend({ default: state, strip: ['/a'] })],
  ['strip that is a number', () => new CompositeBackend(wrong({ default: state, strip: 1 }))],
  ['an unknown option', () => new CompositeBackend(wrong({ default: state, route: {} }))],
])('%s throws InvalidInputError', (_name, make) => {
  expect(make).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
})
