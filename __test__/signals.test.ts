import { getEventListeners } from 'node:events'

import { AbortError, type LocalBackend } from 'gloveport'
import { expect, test } from 'vitest'

import { localBackend, rejection, toolsetOver } from './support.js'

/** Every method with arguments that would work. */
const CALLS: Readonly<Record<string, (backend: LocalBackend, signal: AbortSignal) => Promise<unknown>>> = {
  ls: (backend, signal) => backend.ls('.', { signal }),
  stat: (backend, signal) => backend.stat('a.txt', { signal }),
  read: (backend, signal) => backend.read('a.txt', { signal }),
  readBytes: (backend, signal) => backend.readBytes('a.txt', { signal }),
  write: (backend, signal) => backend.write('b.txt', 'b', { signal }),
  append: (backend, signal) => backend.append('b.txt', 'b', { signal }),
  edit: (backend, signal) => backend.edit('a.txt', { oldString: 'a', newString: 'b' }, { signal }),
  mkdir: (backend, signal) => backend.mkdir('d', { signal }),
  remove: (backend, signal) => backend.remove('b.txt', { signal }),
  move: (backend, signal) => backend.move('a.txt', 'c.txt', { signal }),
  copy: (backend, signal) => backend.copy('c.txt', 'd.txt', { signal }),
  glob: (backend, signal) => backend.glob('*', { signal }),
  grep: (backend, signal) => backend.grep('a', { signal }),
  execute: (backend, signal) => backend.execute('true', { signal }),
}

test.each(Object.entries(CALLS))('%s with an aborted signal rejects and does nothing', async (_name, call) => {
  const backend = await localBackend({ 'a.txt': 'a' })
  const error = await rejection(call(backend, AbortSignal.abort('why')))
  expect(error).toBeInstanceOf(AbortError)
  expect(error).toMatchObject({ name: 'AbortError', code: 'ABORTED', cause: 'why' })
  expect((await backend.ls('.')).map((entry) => entry.name)).toEqual(['a.txt'])
})

test('no listener is left on a signal, whatever the end of the call', async () => {
  const backend = await localBackend({ 'a.txt': 'a' })
  const { signal } = new AbortController()
  for (const call of Object.values(CALLS)) await call(backend, signal)
  await rejection(backend.read('missing', { signal }))
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('a tool call with an aborted signal rejects before any hook runs', async () => {
  const seen: string[] = []
  const toolset = await toolsetOver(
    { 'a.txt': 'a' },
    { hooks: { pre: () => void seen.push('pre'), around: (_call, next) => (seen.push('around'), next()) } },
  )
  const error = await rejection(toolset.call('read_file', { path: 'a.txt' }, { signal: AbortSignal.abort() }))
  expect(error).toBeInstanceOf(AbortError)
  expect(seen).toEqual([])
})

test('an abort ends a tool call that runs a command, with the partial result', async () => {
  const toolset = await toolsetOver({}, { permissions: 'permissive' })
  const controller = new AbortController()
  const error = await rejection(
    toolset.call(
      'execute',
      { command: 'echo partial; exec sleep 60' },
      {
        signal: controller.signal,
        onOutput: () => controller.abort(),
      },
    ),
  )
  expect(error).toBeInstanceOf(AbortError)
  expect(JSON.stringify((error as AbortError).details)).toContain('partial')
  expect(getEventListeners(controller.signal, 'abort')).toEqual([])
})

test('an abort while a hook waits ends the call', async () => {
  const controller = new AbortController()
  const toolset = await toolsetOver(
    { 'a.txt': 'a' },
    {
      hooks: {
        pre: () => {
          controller.abort('stop')
          return new Promise(() => undefined)
        },
      },
    },
  )
  const error = await rejection(toolset.call('read_file', { path: 'a.txt' }, { signal: controller.signal }))
  expect(error).toMatchObject({ name: 'AbortError', cause: 'stop' })
})
