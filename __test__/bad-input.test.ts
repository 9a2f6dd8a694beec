// Bad input of a program: a typed error that says what would work, nothing lost, nothing thrown synchronously.

import { runInNewContext } from 'node:vm'

import { GloveportError, LocalBackend } from 'gloveport'
import { expect, test } from 'vitest'

import { localBackend, rejection, toolsetOver } from './support.js'

const cycle: Record<string, unknown> = {}
cycle['self'] = cycle
const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) as unknown

const ARGUMENTS: readonly [string, unknown, RegExp][] = [
  ['NaN', { path: 'a.txt', offset: NaN }, /input\.offset.*NaN/],
  ['an infinity', { path: 'a.txt', limit: -Infinity }, /input\.limit.*-Infinity/],
  ['a BigInt', { path: 'a.txt', offset: 1n }, /input\.offset.*BigInt/],
  ['a function', { path: () => 'a.txt' }, /input\.path.*function/],
  ['a symbol', { path: Symbol('a') }, /input\.path.*symbol/],
  ['a cycle', cycle, /input\.self.*contains itself/],
  ['undefined in an array', { path: ['a', undefined] }, /input\.path\[1\].*undefined/],
  ['half a surrogate pair', { path: 'a\uD800' }, /input\.path.*surrogate/],
  ['a name with half a surrogate pair', { 'a\uDC00': 1 }, /surrogate/],
  ['a Map', { path: new Map() }, /input\.path.*Map/],
  ['a Date', { path: new Date(0) }, /input\.path.*Date/],
  ['deep nesting', deep, /nested deeper/],
  ['nothing', undefined, /`input`.*undefined/],
  [
    'a getter that throws',
    {
      get path() {
        throw new Error('mine')
      },
    },
    /input/,
  ],
]

test.each(ARGUMENTS)('an input that is or holds %s is refused with the place named', async (_name, input, message) => {
  const toolset = await toolsetOver({ 'a.txt': 'a' })
  const result = await toolset.call('read_file', input)
  expect(result).toMatchObject({ isError: true, code: 'INVALID_INPUT', text: expect.stringMatching(message) })
})

test('plain objects of another realm are plain, and a field that is undefined is absent', async () => {
  const toolset = await toolsetOver({ 'a.txt': 'a' })
  const input = runInNewContext('({ path: "a.txt", offset: undefined })') as unknown
  expect(await toolset.call('read_file', input)).toMatchObject({ isError: false })
})

const FROM_A_MODEL: readonly [string, string, unknown, string][] = [
  ['a wrong type', 'read_file', { path: 42 }, 'INVALID_INPUT'],
  ['an unknown field', 'read_file', { path: 'a.txt', colour: 'red' }, 'INVALID_INPUT'],
  ['a missing field', 'write_file', { path: 'a.txt' }, 'INVALID_INPUT'],
  ['a negative offset (D2)', 'read_file', { path: 'a.txt', offset: -1 }, 'INVALID_INPUT'],
  ['a fraction', 'read_file', { path: 'a.txt', offset: 0.5 }, 'INVALID_INPUT'],
  ['no object', 'read_file', 'a.txt', 'INVALID_INPUT'],
  ['null', 'read_file', null, 'INVALID_INPUT'],
  ['NUL in a path', 'read_file', { path: 'a\0.txt' }, 'INVALID_INPUT'],
  ['an unknown tool', 'nope', {}, 'UNKNOWN_TOOL'],
  ['a path outside', 'read_file', { path: '/etc/passwd' }, 'PATH_NOT_IN_SANDBOX'],
  ['a very long path', 'read_file', { path: 'a/'.repeat(100_000) }, 'INVALID_INPUT'],
]

test.each(FROM_A_MODEL)('a model that sends %s is told what would work', async (_name, tool, input, code) => {
  const toolset = await toolsetOver({ 'a.txt': 'a' })
  const result = await toolset.call(tool, input)
  expect(result).toMatchObject({ isError: true, code })
  expect(result.text.length).toBeGreaterThan(20)
  expect(result.text.length).toBeLessThan(2_000)
})

const wrong = (value: unknown): never => value as never

const BACKEND_CALLS: readonly [string, (backend: LocalBackend) => Promise<unknown>][] = [
  ['read without a path', (backend) => backend.read(wrong(undefined))],
  ['read of a number', (backend) => backend.read(wrong(42))],
  ['read with a misspelt option', (backend) => backend.read('a.txt', wrong({ offest: 1 }))],
  ['read with options that are no object', (backend) => backend.read('a.txt', wrong(5))],
  ['read with NaN', (backend) => backend.read('a.txt', { offset: NaN })],
  ['read with NUL', (backend) => backend.read('a\0')],
  ['read with a signal that is none', (backend) => backend.read('a.txt', wrong({ signal: {} }))],
  ['write without content', (backend) => backend.write('b.txt', wrong(undefined))],
  ['write of an object', (backend) => backend.write('b.txt', wrong({ a: 1 }))],
  ['write of half a surrogate pair', (backend) => backend.write('b.txt', 'a\uD800b')],
  ['edit without an edit', (backend) => backend.edit('a.txt', wrong(undefined))],
  ['edit with a number', (backend) => backend.edit('a.txt', wrong({ oldString: 1, newString: 'b' }))],
  ['move without a target', (backend) => backend.move('a.txt', wrong(undefined))],
  ['glob without a pattern', (backend) => backend.glob(wrong(undefined))],
  ['grep with a broken pattern', (backend) => backend.grep('(')],
  ['execute of a number', (backend) => backend.execute(wrong(1))],
  ['execute with a timeout that is no number', (backend) => backend.execute('true', wrong({ timeout: '1s' }))],
  ['execute with onOutput that is no function', (backend) => backend.execute('true', wrong({ onOutput: 1 }))],
]

test.each(BACKEND_CALLS)('%s rejects with InvalidInputError and changes nothing', async (_name, call) => {
  const backend = await localBackend({ 'a.txt': 'a' })
  const error = await rejection(call(backend))
  expect(error).toMatchObject({ code: 'INVALID_INPUT' })
  expect((error as Error).message.length).toBeGreaterThan(15)
  expect((await backend.ls('.')).map((entry) => entry.name)).toEqual(['a.txt'])
  expect((await backend.read('a.txt')).content).toBe('a')
})

test('a huge string is written whole, or refused with the limit', async () => {
  const backend = await localBackend()
  const large = 'x'.repeat(32 << 20)
  expect(await backend.write('large.txt', large)).toMatchObject({ bytes: large.length })
  expect(await rejection(backend.write('huge.txt', 'x'.repeat(65 << 20)))).toMatchObject({ code: 'FILE_TOO_LARGE' })
  expect(await backend.stat('huge.txt')).toBeNull()
})

test.each([
  ['options that are no object', wrong(5)],
  ['a root that is no string', wrong({ root: 5 })],
  ['an unknown option', wrong({ rot: '.' })],
])('a backend with %s throws InvalidInputError', (_name, options) => {
  expect(() => new LocalBackend(options)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
})

test('a root that does not exist is an error that does not name inner workings', () => {
  expect(() => new LocalBackend({ root: '/nonexistent/gloveport' })).toThrow(GloveportError)
})

test.each([
  ['a name that is no string', wrong(5), {}],
  ['a name with half a surrogate pair', 'a\uD800', {}],
  ['options that are no object', 'ls', wrong('x')],
  ['a call id that is no string', 'ls', wrong({ callId: 5 })],
  ['a signal that is none', 'ls', wrong({ signal: 'x' })],
  ['a grant that is no object', 'ls', wrong({ approval: true })],
  ['an option that is not known', 'ls', wrong({ timeout: 1 })],
])('a call with %s rejects with InvalidInputError', async (_name, name, options) => {
  const toolset = await toolsetOver({})
  expect(await rejection(toolset.call(name, {}, options))).toMatchObject({ code: 'INVALID_INPUT' })
})

/** They were swallowed: a call with a `timeout` ran as long as it took. */
test('an option of a call, of an answer and of what is around them that is not known is refused with those there are', async () => {
  const failures: unknown[] = []
  const toolset = await toolsetOver({}, { onError: (error) => failures.push(error) })
  const message = '`options.timeout` is not known; there are callId, signal, context, approval, onOutput.'
  expect(await rejection(toolset.call('ls', {}, wrong({ timeout: 1 })))).toMatchObject({ message })
  expect((await toolset.answer('ls', {}, wrong({ timeout: 1 }))).isError).toBe(true)
  expect(failures).toMatchObject([{ code: 'INVALID_INPUT', message }])
  expect(await toolset.call('ls', {}, wrong({ timeout: undefined }))).toMatchObject({ isError: false })
  expect(await rejection(toolset.refresh(wrong({ timeout: 1 })))).toMatchObject({ code: 'INVALID_INPUT' })
  expect(await rejection(toolset.resume([], [], wrong({ timeout: 1 })))).toMatchObject({ code: 'INVALID_INPUT' })
  expect(() => toolset.subset(['ls'], wrong({ autoinherit: true }))).toThrow(/`options\.autoinherit` is not known/)
})
