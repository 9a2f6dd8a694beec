// Containers without an engine: options, runtimes, and what is said when there is nobody to ask.

import { join } from 'node:path'

import {
  BackendUnavailableError,
  builtinRuntimes,
  ClosedError,
  createToolset,
  defineRuntime,
  DockerBackend,
  getRuntime,
  InvalidInputError,
} from 'gloveport'
import { expect, test } from 'vitest'

import { project, rejection } from './support.js'

test('a missing engine is an error that says what was tried', async () => {
  const address = `unix://${join(await project(), 'none.sock')}`
  const backend = new DockerBackend({ host: address, image: 'x' })
  const error = await rejection(backend.start())
  expect(error).toBeInstanceOf(BackendUnavailableError)
  expect((error as Error).message).toMatch(
    /^No container engine can be reached\. Tried the `host` option: there is no such socket\./,
  )
  expect((error as BackendUnavailableError).details).toMatchObject({
    tried: [{ source: 'the `host` option', address }],
  })
  const toolset = createToolset({ backend, permissions: 'permissive' })
  const result = await toolset.call('read_file', { path: 'a' })
  expect(result).toMatchObject({ isError: true, code: 'BACKEND_UNAVAILABLE' })
  // A model reads what to do, not where this machine keeps its sockets.
  expect(result.text).not.toContain(address.slice('unix://'.length))
  expect([await backend.isAlive(), await backend.containerId(), await backend.usage()]).toEqual([false, null, null])
  await toolset.close()
  await backend.close()
  expect(await rejection(backend.start())).toBeInstanceOf(ClosedError)
})

test('options that are wrong, or open the wall, are refused at once', () => {
  for (const options of [
    { image: 'x', network: 'host' },
    { image: 'x', memory: 0 },
    { image: 'x', cpus: -1 },
    { image: 'x', pids: 0 },
    { image: 'x', privileged: true },
    { image: 'x', workDir: 'relative' },
    { image: 'x', env: { 'A=B': '' } },
    { image: 'x', runtime: 'no-such-runtime' },
    { image: 'x', onProgress: 'text' },
    { image: 'x', sandbox: {} },
    { image: 'x', builder: 'kaniko' },
    { image: 'x', buildNetwork: 'host' },
    { image: 'x', buildNetwork: 'container:other' },
    { image: 'x', disk: 0 },
    { image: 'x', fileSize: 0 },
    { image: 'x', commandLimits: { processes: 'many' } },
    { image: 'x', commandLimits: { disk: 1 } },
    { image: 'x', sessionId: '../x' },
    { image: 'x', sessionId: '' },
  ]) {
    expect(() => new DockerBackend(options as never), JSON.stringify(options)).toThrow(InvalidInputError)
  }
  const commandLimits = { memoryBytes: 2 ** 30, cpuMs: 1_500, processes: 9, fileBytes: 1, openFiles: 9 }
  expect(new DockerBackend({ image: 'x', commandLimits })).toBeInstanceOf(DockerBackend)
})

// What is missing is said, and nobody is asked for it.
test('a container without a name, an image or an engine says what is missing (TT-6)', async () => {
  const host = `unix://${join(await project(), 'none.sock')}`
  const none = { host }
  const unreachable = {
    code: 'BACKEND_UNAVAILABLE',
    message:
      'No container engine can be reached. Tried the `host` option: there is no such socket. Start Docker or Podman, or name its ' +
      'address by the `host` option or DOCKER_HOST.',
  }
  for (const [options, expected] of [
    [{ ...none, image: 'x' }, unreachable],
    [{ ...none, container: 'work' }, unreachable],
    [{ ...none, runtime: 'python-minimal' }, unreachable],
  ] as const) {
    const backend = new DockerBackend(options)
    expect(await rejection(backend.execute('true')), JSON.stringify(options)).toMatchObject(expected)
    await backend.close()
  }
  expect(() => new DockerBackend(none)).toThrow(
    new InvalidInputError('A container needs an `image` or a `runtime`, or the name of one that exists.'),
  )
})

test('relative paths begin in the working directory', async () => {
  expect(new DockerBackend({ image: 'x' }).workingDirectory).toBe('/workspace')
  expect(new DockerBackend({ runtime: 'node-minimal' }).workingDirectory).toBe('/app')
  expect(new DockerBackend({ image: 'x', workDir: '/a/b' }).workingDirectory).toBe('/a/b')
})

test('runtimes come along by name', () => {
  expect(builtinRuntimes()).toHaveLength(15)
  expect(getRuntime('python-minimal')).toMatchObject({ image: 'python:3.12-slim', workDir: '/workspace', packages: [] })
  expect(getRuntime('node-react')).toMatchObject({ baseImage: 'node:20-slim', packageManager: 'npm', workDir: '/app' })
  expect(() => getRuntime('cobol')).toThrow(/There are coding, polyglot, /)
})

test('a runtime of your own is checked', () => {
  const runtime = defineRuntime({ name: 'science', baseImage: 'python:3.12-slim', packages: ['numpy>=1.26,<3'] })
  expect(runtime).toMatchObject({ packages: ['numpy>=1.26,<3'], packageManager: 'pip', workDir: '/workspace' })
  // An image is used as it is: what could only be built into it is not dropped in silence.
  expect(defineRuntime({ name: 'n', image: 'i', runAsUid: 1000, envVars: { A: 'b' } })).toMatchObject({ image: 'i' })
  for (const config of [
    { name: 'n' },
    { name: 'a b', image: 'i' },
    { name: 'n', image: 'i', baseImage: 'b' },
    { name: 'n', image: '--privileged' },
    { name: 'n', image: 'i', packages: ['numpy'] },
    { name: 'n', image: 'i', setupCommands: ['true'] },
    { name: 'n', image: 'i', runAsUid: 0 },
    { name: 'n', image: 'i', workDir: 'relative' },
    { name: 'n', image: 'i', envVars: { 'A B': '' } },
  ]) {
    expect(() => defineRuntime(config), JSON.stringify(config)).toThrow(InvalidInputError)
  }
  for (const change of [
    { packages: ['--index-url=http://x'] },
    { packages: ['a\nRUN x'] },
    { setupCommands: ['a\nb'] },
    { runAsUid: 0 },
    { workDir: '/a;b' },
    { name: 'a b' },
    { pakages: ['typo'] },
  ]) {
    const config = { name: 'n', baseImage: 'b', ...change }
    expect(() => defineRuntime(config), JSON.stringify(change)).toThrow(InvalidInputError)
  }
})
