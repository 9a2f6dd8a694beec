// Everything from one function that runs a command.

import { execFile } from 'node:child_process'
import { readdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'

import { createToolset, ShellBackend, type UserExecuteResult } from 'gloveport'
import { expect, test } from 'vitest'

import { project, rejection } from './support.js'

function run(command: string, options: { timeout?: number; cwd?: string } = {}): Promise<UserExecuteResult> {
  const { timeout = 0, cwd } = options
  return new Promise((resolve) => {
    const child = execFile('sh', ['-c', command], { timeout, cwd, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      const exitCode = error ? (typeof error.code === 'number' ? error.code : null) : 0
      resolve({ stdout, stderr, exitCode, signal: error?.signal ?? null })
    })
    child.stdin?.end()
  })
}

test('file operations, searches and commands work by one function', async () => {
  const root = await project({ 'src/a.ts': 'one needle\n', 'it’s $(odd)\n-name': 'x' })
  const backend = new ShellBackend({ execute: run, workingDirectory: root })
  expect((await backend.ls('.')).map((entry) => entry.name)).toEqual(['src', 'it’s $(odd)\n-name'])
  expect(await backend.readBytes('it’s $(odd)\n-name')).toEqual(Uint8Array.of(120))
  const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 7) % 256)
  expect(await backend.write('new/big.bin', bytes)).toMatchObject({ created: true, bytes: 300_000 })
  expect(Buffer.compare(await readFile(join(root, 'new/big.bin')), bytes)).toBe(0)
  expect(Buffer.compare(await backend.readBytes('new/big.bin'), bytes)).toBe(0)
  await backend.edit('src/a.ts', { oldString: 'one', newString: '1' })
  await backend.append('src/a.ts', 'two\n')
  expect(await readFile(join(root, 'src/a.ts'), 'utf8')).toBe('1 needle\ntwo\n')
  expect((await backend.grep('need.e')).matches).toEqual([
    { path: join(root, 'src/a.ts'), lineNumber: 1, line: '1 needle' },
  ])
  await backend.move('src', 'lib/src')
  await backend.remove('new', { recursive: true })
  expect((await readdir(root)).toSorted()).toEqual(['it’s $(odd)\n-name', 'lib'])
  expect(await backend.execute('echo out; echo err >&2; exit 3')).toMatchObject({
    stdout: 'out\n',
    stderr: 'err\n',
    exitCode: 3,
  })
  await backend.close()
  expect(await rejection(backend.read('lib/src/a.ts'))).toMatchObject({ code: 'CLOSED' })
})

test('a small file is read by one command, a large one and what a link leads to by a second', async () => {
  const large = 'x'.repeat(40_000)
  const root = await project({ 'a.txt': 'one\n', empty: '', 'n\n': 'odd', n: 'even', 'large.txt': large })
  await symlink('a.txt', join(root, 'link'))
  await symlink('n\n', join(root, 'to-odd'))
  let commands = 0
  const execute = (command: string) => {
    commands += 1
    return run(command)
  }
  const backend = new ShellBackend({ execute, workingDirectory: root })
  await backend.read('a.txt')
  const counted = []
  for (const path of ['a.txt', 'empty', 'n\n', 'n', 'large.txt', 'link', 'to-odd']) {
    commands = 0
    const content = Buffer.from(await backend.readBytes(path)).toString()
    counted.push([path, content, commands])
  }
  expect(counted).toEqual([
    ['a.txt', 'one\n', 1],
    ['empty', '', 1],
    ['n\n', 'odd', 1],
    ['n', 'even', 1],
    ['large.txt', large, 2],
    ['link', 'one\n', 2],
    ['to-odd', 'odd', 2],
  ])
  await backend.close()
})

test('an object with nothing but `execute` gets the same as a backend', async () => {
  const root = await project({ 'a.txt': 'one\n' })
  const toolset = createToolset({ backend: { execute: run, workingDirectory: root } })
  expect(toolset.tools.map((tool) => tool.name)).toContain('execute')
  expect(await toolset.call('edit_file', { path: 'a.txt', old_string: 'one', new_string: 'two' })).toMatchObject({
    isError: false,
  })
  expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('two\n')
  await toolset.close()
})

test('a pattern or a path never reaches a shell unquoted (3)', async () => {
  const root = await project({ 'a.txt': "it's\n" })
  const backend = new ShellBackend({ execute: run, workingDirectory: root })
  const hostile = `'; touch ${root}/pwned; $(touch ${root}/pwned) \`touch ${root}/pwned\``
  await rejection(backend.read(hostile))
  await backend.grep(hostile, { literal: true })
  await backend.glob(hostile.replaceAll('/', ''))
  await backend.write(`-rf ${hostile.replaceAll('/', '_')}`, hostile)
  expect(await backend.stat('pwned')).toBeNull()
  expect((await backend.grep("it's", { path: 'a.txt' })).totalMatches).toBe(1)
})

test('limits that nobody enforces are refused', async () => {
  const backend = new ShellBackend({ execute: run })
  expect(await rejection(backend.execute('true', { limits: { processes: 1 } }))).toMatchObject({ code: 'UNSUPPORTED' })
  expect(await rejection(backend.execute('true', { background: 'keep' }))).toMatchObject({ code: 'UNSUPPORTED' })
})

test('a shell whose answers are cut is an error, never a shorter file', async () => {
  const root = await project({ 'a.txt': 'x'.repeat(100_000) })
  const cut = async (command: string): Promise<UserExecuteResult> => {
    const { stdout = '' } = await run(command)
    // The middle is dropped, without a word: head and tail still look whole.
    return { output: stdout.length > 600 ? stdout.slice(0, 300) + stdout.slice(-300) : stdout, exitCode: 0 }
  }
  const backend = new ShellBackend({ execute: cut, workingDirectory: root })
  expect(await rejection(backend.read('a.txt'))).toMatchObject({ code: 'BACKEND_UNAVAILABLE' })
})

const wrong = (value: unknown): never => value as never

test.each([
  ['nothing', undefined],
  ['no function', { execute: 'sh' }],
  ['an unknown option', { execute: run, root: '/' }],
  ['a relative working directory', { execute: run, workingDirectory: 'src' }],
])('%s throws InvalidInputError', (_name, options) => {
  expect(() => new ShellBackend(wrong(options))).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
})
