// Files in memory: one document out, the same files in.

import { createToolset, StateBackend } from 'gloveport'
import { expect, test } from 'vitest'

import { rejection } from './support.js'

const BYTES = Uint8Array.of(0, 255, 128, 10, 13)

test('files are text, bytes, or files of a document', async () => {
  const backend = new StateBackend({
    files: {
      '/a.txt': 'one\ntwo\n',
      'src/b.bin': BYTES,
      '/c.md': { content: ['# C', ''], created_at: '2020-01-01T00:00:00Z', modified_at: '2021-01-01T00:00:00Z' },
      '/empty/': '',
      ['__proto__']: 'a name like any other',
    },
  })
  expect((await backend.ls('/', { depth: 2 })).map(({ path, type }) => `${path} ${type}`)).toEqual([
    '/empty directory',
    '/src directory',
    '/src/b.bin file',
    '/__proto__ file',
    '/a.txt file',
    '/c.md file',
  ])
  expect(await backend.readBytes('/src/b.bin')).toEqual(BYTES)
  expect((await backend.read('/c.md')).content).toBe('# C\n')
  expect((await backend.stat('/c.md'))?.modifiedAt).toEqual(new Date('2021-01-01T00:00:00Z'))
  expect(await rejection(backend.execute('true'))).toMatchObject({ code: 'UNSUPPORTED' })
  await backend.close()
})

test('a document survives JSON, with times, bytes and empty directories', async () => {
  const backend = new StateBackend({ files: { '/a.bin': BYTES, '/d/': '' } })
  await backend.write('/new.txt', 'ü 🦀\r\nlast')
  const document = backend.toJSON()
  expect(document['/new.txt']).toEqual({
    content: ['ü 🦀\r', 'last'],
    created_at: expect.stringMatching(/^\d{4}-/),
    modified_at: expect.stringMatching(/Z$|\+00:00$/),
  })
  expect(document['/a.bin']).toMatchObject({ encoding: 'base64' })
  for (const again of [StateBackend.fromJSON(document), StateBackend.fromJSON(JSON.stringify(backend))]) {
    expect(again.toJSON()).toEqual(document)
    expect(await again.readBytes('/a.bin')).toEqual(BYTES)
  }
  await backend.close()
  expect(backend.toJSON(), 'of a closed backend').toEqual(document)
})

test('a document of more lines than options may hold values loads', () => {
  const content = Array.from({ length: 1_100_000 }, () => 'x')
  const again = StateBackend.fromJSON({ '/long.txt': { content } })
  expect(again.toJSON()['/long.txt']).toMatchObject({ content: { length: content.length } })
})

test('a clone and its origin part ways at the first change', async () => {
  const backend = new StateBackend({ files: { '/a': '1', '/b': '2' } })
  const clone = backend.clone()
  expect(clone).toBeInstanceOf(StateBackend)
  expect(clone.id).not.toBe(backend.id)
  await backend.write('/a', 'changed')
  await clone.remove('/b')
  expect((await clone.read('/a')).content).toBe('1')
  expect((await backend.read('/b')).content).toBe('2')
  await backend.close()
  expect((await clone.read('/a')).content).toBe('1')
})

test('limits refuse what goes beyond and change nothing', async () => {
  const backend = new StateBackend({ limits: { totalBytes: 10, fileBytes: 6, entries: 2, depth: 2 } })
  await backend.write('/a', '123456')
  expect(await rejection(backend.write('/b', '1234567'))).toMatchObject({ code: 'FILE_TOO_LARGE', path: '/b' })
  expect(await rejection(backend.write('/b', '12345'))).toMatchObject({ code: 'IO', path: '/b' })
  expect(await rejection(backend.write('/x/y/z', ''))).toMatchObject({ code: 'INVALID_INPUT' })
  await backend.write('/b', '1234')
  expect(await rejection(backend.write('/c', ''))).toMatchObject({ code: 'IO' })
  expect(Object.keys(backend.toJSON())).toEqual(['/a', '/b'])
  const limits = { totalBytes: 1 }
  expect(() => StateBackend.fromJSON({ '/a': { content: 'ab' } }, { limits })).toThrow(/at most 1/)
})

test('a toolset works on memory and offers no command', async () => {
  const backend = new StateBackend({ files: { '/src/a.ts': 'export const a = 1\n' } })
  const toolset = createToolset({ backend, tools: ['console', 'files'] })
  expect(toolset.tools.map((tool) => tool.name)).not.toContain('execute')
  expect(await toolset.call('grep', { pattern: 'export', output_mode: 'content' })).toMatchObject({
    isError: false,
    text: expect.stringContaining('/src/a.ts'),
  })
  expect(await toolset.call('edit_file', { path: 'src/a.ts', old_string: '1', new_string: '2' })).toMatchObject({
    isError: false,
  })
  expect((await backend.read('/src/a.ts')).content).toBe('export const a = 2\n')
  await toolset.close()
})

test('a name is never both file and directory (D14)', () => {
  const make = (files: Record<string, string>) => () => new StateBackend({ files })
  expect(make({ a: '', 'a/b': '' })).toThrow(expect.objectContaining({ code: 'NOT_A_DIRECTORY', path: '/a/b' }))
  expect(make({ 'a/b': '', a: 'x' })).toThrow(expect.objectContaining({ code: 'NOT_A_FILE', path: '/a' }))
})

const wrong = (value: unknown): never => value as never
const cycle: Record<string, unknown> = {}
cycle['self'] = cycle

test.each<[string, () => unknown]>([
  ['options that are no object', () => new StateBackend(wrong(5))],
  ['an unknown option', () => new StateBackend(wrong({ fils: {} }))],
  ['files that are no object', () => new StateBackend(wrong({ files: 'a' }))],
  ['a list of files', () => new StateBackend(wrong({ files: ['a'] }))],
  ['a file that is a number', () => new StateBackend(wrong({ files: { a: 1 } }))],
  ['a file without content', () => new StateBackend(wrong({ files: { a: {} } }))],
  ['a path above /', () => new StateBackend({ files: { '/../a': '' } })],
  ['a path with NUL', () => new StateBackend({ files: { 'a\0': '' } })],
  ['half a surrogate pair', () => new StateBackend({ files: { a: '\uD800' } })],
  ['a file named twice', () => new StateBackend({ files: { a: '1', './a': '2' } })],
  ['broken base64', () => new StateBackend({ files: { a: { content: '???', encoding: 'base64' } } })],
  ['an unknown encoding', () => new StateBackend(wrong({ files: { a: { content: '', encoding: 'utf-7' } } }))],
  ['a time that is none', () => new StateBackend({ files: { a: { content: '', modified_at: 'today' } } })],
  ['a limit that is negative', () => new StateBackend({ limits: { totalBytes: -1 } })],
  ['a limit that is NaN', () => new StateBackend({ limits: { totalBytes: NaN } })],
  ['an unknown limit', () => new StateBackend(wrong({ limits: { bytes: 1 } }))],
  ['a document that contains itself', () => StateBackend.fromJSON(wrong(cycle))],
  ['a document that is null', () => StateBackend.fromJSON(wrong(null))],
  ['a document that is a function', () => StateBackend.fromJSON(wrong(() => 1))],
  ['text that is no JSON', () => StateBackend.fromJSON('{')],
  ['JSON that is no document', () => StateBackend.fromJSON('[1]')],
  ['an unknown option of fromJSON', () => StateBackend.fromJSON('{}', wrong({ limit: 1 }))],
])('%s throws InvalidInputError', (_name, make) => {
  expect(make).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
})
