import { readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'

import { AbortError, ClosedError, LocalBackend, PathNotInSandboxError } from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { localBackend, project, rejection } from './support.js'

test('every method of a backend answers in the shape of its type', async () => {
  const root = await project({ 'a.txt': 'one\ntwo\nthree\n', 'src/b.ts': 'export const b = 1\n' })
  const backend = new LocalBackend({ root })
  const time = expect.any(Date)
  const path = (name: string): string => join(root, name)

  expect(backend.workingDirectory).toBe(root)
  expect(backend.readableRoots).toEqual([root])
  expect(await backend.ls('.')).toEqual([
    { name: 'src', path: path('src'), type: 'directory', size: 0, modifiedAt: time },
    { name: 'a.txt', path: path('a.txt'), type: 'file', size: 14, modifiedAt: time },
  ])
  expect((await backend.ls('.', { depth: 2 })).map((entry) => entry.name)).toEqual(['src', 'b.ts', 'a.txt'])
  expect(await backend.stat('missing')).toBeNull()
  expect(await backend.stat('a.txt')).toEqual({
    name: 'a.txt',
    path: path('a.txt'),
    type: 'file',
    size: 14,
    modifiedAt: time,
  })
  expect(await backend.read('a.txt', { offset: 1, limit: 1 })).toEqual({
    content: 'two\n',
    offset: 1,
    lines: 1,
    totalLines: 3,
    bytes: 14,
    nextOffset: 2,
    truncated: true,
  })
  expect(await backend.read('a.txt')).toEqual({
    content: 'one\ntwo\nthree\n',
    offset: 0,
    lines: 3,
    totalLines: 3,
    bytes: 14,
    truncated: false,
  })
  expect(await backend.readBytes('a.txt')).toEqual(new Uint8Array(Buffer.from('one\ntwo\nthree\n')))
  expect(await backend.write('new/c.txt', 'c\n')).toMatchObject({ path: path('new/c.txt'), bytes: 2, created: true })
  expect(await backend.write('bytes.bin', Uint8Array.of(0, 255, 10))).toMatchObject({ bytes: 3, created: true })
  expect(await backend.append('a.txt', 'four\n')).toMatchObject({ bytes: 19, created: false })
  expect(await backend.edit('a.txt', { oldString: 'two', newString: '2' })).toMatchObject({
    path: path('a.txt'),
    replacements: 1,
    rebased: false,
  })
  await backend.edit('a.txt', [
    { oldString: 'one', newString: '1' },
    { oldString: 'three', newString: '3' },
  ])
  expect(await readFile(path('a.txt'), 'utf8')).toBe('1\n2\n3\nfour\n')
  await backend.mkdir('deep/er')
  await backend.mkdir('deep/er')
  await backend.move('a.txt', 'deep/a.txt')
  await backend.copy('deep/a.txt', 'deep/a2.txt')
  expect((await backend.glob('**/*.txt', { sort: 'path' })).files.map((file) => file.path)).toEqual(
    ['deep/a.txt', 'deep/a2.txt', 'new/c.txt'].map(path),
  )
  expect(await backend.grep('export', { path: 'src' })).toEqual({
    matches: [{ path: path('src/b.ts'), lineNumber: 1, line: 'export const b = 1' }],
    files: [{ path: path('src/b.ts'), count: 1 }],
    totalMatches: 1,
    totalFiles: 1,
    searchedFiles: 1,
    ignored: 0,
    truncated: false,
  })
  await backend.remove('deep', { recursive: true })
  expect(await backend.stat('deep')).toBeNull()
  await backend.close()
})

test('a command answers with its streams, exit code and duration', async () => {
  const backend = await localBackend()
  const chunks: string[] = []
  const ended = await backend.execute('echo out; echo err >&2; exit 3', {
    onOutput: ({ stream, text }) => chunks.push(`${stream}:${text}`),
  })
  expect(ended).toEqual({
    output: expect.stringMatching(/^(out\nerr\n|err\nout\n)$/),
    stdout: 'out\n',
    stderr: 'err\n',
    exitCode: 3,
    timedOut: false,
    truncated: false,
    durationMs: expect.any(Number),
    peakMemoryBytes: expect.any(Number),
  })
  expect(chunks.toSorted()).toEqual(['stderr:err\n', 'stdout:out\n'])
})

test('a command that outlives its timeout resolves with what it printed', async () => {
  const backend = await localBackend()
  const ended = await backend.execute('echo partial; exec sleep 60', { timeout: 2_000 })
  expect(ended).toMatchObject({ stdout: 'partial\n', timedOut: true })
})

test('an abort ends a running command and rejects with what it printed', async () => {
  const backend = await localBackend()
  const controller = new AbortController()
  const reason = new Error('enough')
  const error = await rejection(
    backend.execute('echo partial; exec sleep 60', {
      signal: controller.signal,
      onOutput: () => controller.abort(reason),
    }),
  )
  expect(error).toBeInstanceOf(AbortError)
  expect(error).toMatchObject({
    name: 'AbortError',
    code: 'ABORTED',
    cause: reason,
    details: { partial: { stdout: 'partial\n' } },
  })
})

test('an error of onOutput ends the command and reaches the caller as itself', async () => {
  const backend = await localBackend()
  const mine = new Error('mine')
  const error = await rejection(
    backend.execute('echo x; exec sleep 60', {
      onOutput: () => {
        throw mine
      },
    }),
  )
  expect(error).toBe(mine)
})

/** A promise of it that rejected was nobody's, which ends a Node process. */
test('a promise of onOutput that rejects ends the command and reaches the caller as itself', async () => {
  const backend = await localBackend()
  const mine = new Error('mine')
  const chunks: string[] = []
  const error = await rejection(
    backend.execute('echo x; exec sleep 60', {
      onOutput: async ({ text }) => {
        await Promise.resolve()
        chunks.push(text)
        throw mine
      },
    }),
  )
  expect(error).toBe(mine)
  expect(chunks).toEqual(['x\n'])
  const last = await rejection(backend.execute('echo x', { onOutput: async () => Promise.reject(mine) }))
  expect(last).toBe(mine)
})

test('a promise of onOutput that rejects when the call is over hurts nobody', async () => {
  const backend = await localBackend()
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  let fail: (reason: Error) => void = () => {}
  const late = new Promise<void>((_resolve, reject) => {
    fail = reject
  })
  const ended = await backend.execute('echo x', { onOutput: () => late })
  expect(ended.stdout).toBe('x\n')
  fail(new Error('late'))
  // Node looks for rejections that nobody handles when the turn ends.
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate)
  expect(unhandled).toEqual([])
})

/** The time of a command was not looked at while output waited for JavaScript, and timers came every few seconds. */
test('a slow onOutput holds up neither the timeout of its command nor the event loop', async () => {
  const backend = await localBackend()
  let [turns, calls, turnsOfCalls] = [0, 0, 0]
  let isOver = false
  let last = -1
  const turn = (): void => {
    turns += 1
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  const started = performance.now()
  const { timedOut } = await backend.execute('exec yes', {
    timeout: 500,
    onOutput: () => {
      const until = performance.now() + 20
      while (performance.now() < until);
      calls += 1
      if (turns !== last) turnsOfCalls += 1
      last = turns
    },
  })
  isOver = true
  expect(timedOut).toBe(true)
  // 256 pieces that waited would take 5 s alone.
  expect(performance.now() - started).toBeLessThan(5_000)
  // Now and then the next piece comes before the turn ends.
  expect(turnsOfCalls).toBeGreaterThan(calls / 4)
  await backend.close()
})

test('a link that leaves the root is refused', async () => {
  const root = await project()
  await symlink('/etc', join(root, 'out'))
  const backend = new LocalBackend({ root })
  expect(await rejection(backend.read('out/passwd'))).toBeInstanceOf(PathNotInSandboxError)
  await backend.close()
})

test('an option can never redirect a call to another path', async () => {
  const backend = await localBackend({ 'a.txt': 'a', 'b.txt': 'b' })
  const options = { path: 'b.txt' } as object
  expect((await backend.read('a.txt', options)).content).toBe('a')
})

test('content that changes after the call is written as it was', async () => {
  const backend = await localBackend()
  const bytes = new Uint8Array(1024).fill(1)
  const written = backend.write('a.bin', bytes)
  bytes.fill(2)
  await written
  expect(await backend.readBytes('a.bin')).toEqual(new Uint8Array(1024).fill(1))
})

test('a closed backend refuses, and closing it again does nothing', async () => {
  const backend = await localBackend({ 'a.txt': 'a' })
  await backend.close()
  await backend.close()
  expect(await rejection(backend.read('a.txt'))).toBeInstanceOf(ClosedError)
})

test('leaving an `await using` scope closes the backend', async () => {
  let outer: LocalBackend
  {
    await using backend = await localBackend()
    outer = backend
  }
  expect(await rejection(outer.ls('.'))).toBeInstanceOf(ClosedError)
})
