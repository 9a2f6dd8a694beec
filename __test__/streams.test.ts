// Files piece by piece.

import { open, readdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'

import { type Backend, CompositeBackend, LocalBackend, ShellBackend, StateBackend } from 'gloveport'
import { describe, expect, onTestFinished, test } from 'vitest'

import { localBackend, project, rejection } from './support.js'

const CONTENT = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 31) % 256))

/** All bytes of a stream, and how large its pieces were. */
async function collected(stream: AsyncIterable<Uint8Array>): Promise<{ bytes: Buffer; pieces: number[] }> {
  const pieces: Uint8Array[] = []
  for await (const piece of stream) pieces.push(piece)
  return { bytes: Buffer.concat(pieces), pieces: pieces.map((piece) => piece.length) }
}

const BACKENDS: Readonly<Record<string, () => Promise<LocalBackend | StateBackend | CompositeBackend | ShellBackend>>> =
  {
    local: () => localBackend({ 'a.bin': CONTENT }),
    memory: async () => new StateBackend({ files: { '/a.bin': CONTENT } }),
    composite: async () =>
      new CompositeBackend({
        default: new StateBackend({ files: { '/a.bin': CONTENT } }),
        routes: { '/disk': await localBackend({ 'a.bin': CONTENT }) },
        strip: true,
      }),
    shell: async () => {
      const inner = await localBackend({ 'a.bin': CONTENT })
      return new ShellBackend({
        execute: (command) => inner.execute(command),
        workingDirectory: inner.workingDirectory,
      })
    },
    'user-made': async () => {
      const state = new StateBackend({ files: { '/a.bin': CONTENT } })
      return new CompositeBackend({
        default: { readBytes: (path) => state.readBytes(path), write: (path, content) => state.write(path, content) },
      })
    },
  }

describe.each(Object.entries(BACKENDS))('streams of a %s backend', (_name, make) => {
  test('a file is read in pieces of 64 KiB, whole or a part of it', async () => {
    const backend = await make()
    const { bytes, pieces } = await collected(backend.readStream('a.bin'))
    expect(Buffer.compare(bytes, CONTENT)).toBe(0)
    expect(pieces).toEqual([65_536, 65_536, 65_536, 3_392])
    const part = await collected(backend.readStream('a.bin', { offset: 100, length: 70_000 }))
    expect(Buffer.compare(part.bytes, CONTENT.subarray(100, 70_100))).toBe(0)
    expect((await collected(backend.readStream('a.bin', { offset: 1_000_000 }))).pieces).toEqual([])
    expect(await rejection(collected(backend.readStream('missing')))).toMatchObject({ code: 'FILE_NOT_FOUND' })
    expect(await rejection(collected(backend.readStream('a.bin', { offset: -1 })))).toMatchObject({
      code: 'INVALID_INPUT',
    })
  })

  test('a file is written from whatever gives pieces', async () => {
    const backend = await make()
    async function* generated() {
      yield 'ü'
      yield CONTENT.subarray(0, 100_000)
      yield CONTENT.subarray(100_000)
    }
    expect(await backend.writeStream('new/b.bin', generated())).toMatchObject({ bytes: 200_002, created: true })
    expect(Buffer.compare((await backend.readBytes('new/b.bin')).subarray(2), CONTENT)).toBe(0)
    expect(await backend.writeStream('new/b.bin', ['one', 'two'])).toMatchObject({ bytes: 6, created: false })
    expect((await backend.read('new/b.bin')).content).toBe('onetwo')
    await backend.writeStream('c.bin', Readable.from([CONTENT]))
    await backend.writeStream('d.bin', backend.readStream('c.bin'))
    expect(Buffer.compare(await backend.readBytes('d.bin'), CONTENT)).toBe(0)
    await backend.writeStream('empty', [])
    expect(await backend.stat('empty')).toMatchObject({ size: 0 })
  })

  test('a source that fails leaves everything as it was', async () => {
    const backend = await make()
    const mine = new Error('mine')
    async function* failing() {
      yield 'half'
      throw mine
    }
    expect(await rejection(backend.writeStream('a.bin', failing()))).toBe(mine)
    expect(await rejection(backend.writeStream('fresh.txt', failing()))).toBe(mine)
    expect(Buffer.compare(await backend.readBytes('a.bin'), CONTENT)).toBe(0)
    expect(await backend.stat('fresh.txt')).toBeNull()
    for (const source of [[1], ['\uD800'], 'text', 5, null, CONTENT]) {
      expect(await rejection(backend.writeStream('a.bin', source as never))).toMatchObject({ code: 'INVALID_INPUT' })
    }
    expect(await backend.stat('a.bin')).toMatchObject({ size: CONTENT.length })
  })
})

test('a file larger than memory takes streams from and to the disk', async () => {
  const root = await project()
  const file = await open(join(root, 'huge.bin'), 'w')
  await file.truncate(80 << 20)
  await file.write('end', (80 << 20) - 3)
  await file.close()
  const backend = new LocalBackend({ root })
  expect(await rejection(backend.readBytes('huge.bin'))).toMatchObject({ code: 'FILE_TOO_LARGE' })
  expect(await backend.writeStream('copy.bin', backend.readStream('huge.bin'))).toMatchObject({ bytes: 80 << 20 })
  const { bytes } = await collected(backend.readStream('copy.bin', { offset: (80 << 20) - 3 }))
  expect(bytes.toString()).toBe('end')
  await backend.close()
})

test('nobody sees a file before its last piece, and other writes leave the half-written one alone', async () => {
  const root = await project({ 'a.txt': 'old', 'target.txt': 'old' })
  await symlink('target.txt', join(root, 'link.txt'))
  const backend = new LocalBackend({ root })
  const other = new LocalBackend({ root })
  async function* pieces() {
    yield 'new'
    expect((await backend.read('a.txt')).content).toBe('old')
    expect((await backend.ls('.')).map((entry) => entry.name)).toEqual(['a.txt', 'link.txt', 'target.txt'])
    // Writers that look for what a crash left, in this directory.
    await other.write('target.txt', 'between')
    const third = new LocalBackend({ root })
    await third.write('target.txt', 'between 2')
    await third.close()
    yield ' content'
  }
  await backend.writeStream('a.txt', pieces())
  expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('new content')
  await backend.writeStream('link.txt', ['through the link'])
  expect(await readFile(join(root, 'target.txt'), 'utf8')).toBe('through the link')
  expect((await readdir(root)).toSorted()).toEqual(['a.txt', 'link.txt', 'target.txt'])
  await Promise.all([backend.close(), other.close()])
})

test('a stream that is given up, aborted or closed ends', async () => {
  const backend: Backend & StateBackend = new StateBackend({ files: { '/a.bin': CONTENT } })
  const controller = new AbortController()
  const stream = backend.readStream('/a.bin', { signal: controller.signal })
  const reader = stream.getReader()
  expect((await reader.read()).value?.length).toBe(65_536)
  controller.abort()
  expect(await rejection(reader.read())).toMatchObject({ code: 'ABORTED' })
  for await (const piece of backend.readStream('/a.bin')) {
    expect(piece.length).toBe(65_536)
    break
  }
  const local = await localBackend({})
  async function* closing() {
    yield 'half'
    await local.close()
    yield 'rest'
  }
  const root = local.workingDirectory
  expect(await rejection(local.writeStream('a.txt', closing()))).toMatchObject({ code: 'CLOSED' })
  expect(await readdir(root)).toEqual([])
  onTestFinished(() => backend.close())
})

test('walls hold for streams', async () => {
  const root = await project()
  await symlink('/etc', join(root, 'out'))
  const backend = new LocalBackend({ root })
  const readOnly = new LocalBackend({ root, mode: 'ro' })
  for (const path of ['/etc/passwd', 'out/passwd', '../x']) {
    expect(await rejection(collected(backend.readStream(path)))).toMatchObject({ code: 'PATH_NOT_IN_SANDBOX' })
    expect(await rejection(backend.writeStream(path, ['x']))).toMatchObject({ code: 'PATH_NOT_IN_SANDBOX' })
  }
  expect(await rejection(readOnly.writeStream('a', ['x']))).toMatchObject({ code: 'PATH_NOT_WRITABLE' })
  await Promise.all([backend.close(), readOnly.close()])
})
