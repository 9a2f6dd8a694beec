// The package with a real engine, as `npm test -- docker` starts it.

import { readFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'

import { createToolset, DockerBackend, Sandbox, SessionManager } from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { project } from '../support.js'

const engine = {
  host: process.env['GLOVEPORT_TEST_DOCKER']!,
  image: process.env['GLOVEPORT_TEST_IMAGE']!,
  pull: 'never',
} as const

test('a toolset works in a container', async () => {
  const backend = new DockerBackend(engine)
  onTestFinished(() => backend.close())
  const toolset = createToolset({ backend, permissions: 'permissive' })
  await toolset.call('write_file', { path: 'a.txt', content: 'one\r\ntwo\r\n' })
  await toolset.call('edit_file', { path: 'a.txt', old_string: 'two', new_string: 'three' })
  const { text } = await toolset.call('execute', { command: 'od -An -c a.txt; pwd; exit 4' })
  expect(text).toContain('/workspace')
  expect(text.replaceAll(/\s+/g, '')).toContain('one\\r\\nthree\\r\\n')
  expect((await toolset.call('read_file', { path: 'a.txt' })).text).toContain('three')
  expect((await toolset.call('grep', { pattern: 'thr.e' })).text).toContain('a.txt')
  expect((await toolset.call('read_file', { path: 'missing' })).code).toBe('FILE_NOT_FOUND')
  await toolset.close()
})

test('output comes as it arises, and an abort ends the command', async () => {
  const backend = new DockerBackend(engine)
  onTestFinished(() => backend.close())
  const abort = new AbortController()
  const chunks: string[] = []
  const running = backend.execute('echo first; sleep 1000', {
    signal: abort.signal,
    onOutput: ({ text }) => {
      chunks.push(text)
      abort.abort(new Error('enough'))
    },
  })
  await expect(running).rejects.toMatchObject({ code: 'ABORTED', details: { partial: { stdout: 'first\n' } } })
  expect(chunks.join('')).toBe('first\n')
  expect((await backend.execute('ps | grep -c "[s]leep 1000"')).stdout).toBe('0\n')
  expect(await backend.usage()).toMatchObject({ memoryLimitBytes: 2 * 1024 ** 3 })
})

test('mounts have the same paths inside and outside', async () => {
  const root = await project({ 'work/a.txt': 'text' })
  const sandbox = new Sandbox({ mounts: [{ hostPath: join(root, 'work'), mountPoint: '/work', mode: 'rw' }] })
  const backend = new DockerBackend({ ...engine, sandbox })
  onTestFinished(() => backend.close())
  expect((await backend.execute('pwd; cat a.txt; echo made > b.txt')).stdout).toBe('/work\ntext')
  expect((await backend.read('/work/b.txt')).content).toBe('made\n')
})

test('fifty sessions at once are used, evicted, and none is left or mixed up', async () => {
  const root = await project()
  await mkdir(join(root, 'w'))
  const sessions = new SessionManager({ docker: engine, workspaceRoot: join(root, 'w'), maxSessions: 50 })
  onTestFinished(async () => void (await sessions.shutdown()))
  const ids = Array.from({ length: 50 }, (_, index) => `user-${index}`)
  const backends = await Promise.all(
    ids.map(async (id) => {
      const backend = await sessions.getOrCreate(id)
      expect((await backend.execute(`echo ${id} > me; cat me`)).stdout).toBe(`${id}\n`)
      return backend
    }),
  )
  expect(sessions.size).toBe(50)
  for (const id of ids) expect(await readFile(join(root, 'w', id, 'workspace', 'me'), 'utf8')).toBe(`${id}\n`)
  expect(await sessions.cleanupIdle(0)).toBe(50)
  expect(sessions.size).toBe(0)
  expect((await Promise.all(backends.map((backend) => backend.isAlive()))).some(Boolean)).toBe(false)
  // A session that comes back finds its workspace.
  expect((await (await sessions.getOrCreate('user-7')).execute('cat me')).stdout).toBe('user-7\n')
})
