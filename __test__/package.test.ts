// The package as users load it: one instance for `import` and `require`, clean in workers, gone when idle.

import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'

import * as imported from 'gloveport'
import * as aiSdk from 'gloveport/ai-sdk'
import * as langchain from 'gloveport/langchain'
import { expect, test } from 'vitest'

import { project } from './support.js'

const require = createRequire(import.meta.url)
const run = promisify(execFile)
const root = new URL('..', import.meta.url)

test('import and require get the same classes, and all of them', () => {
  const required = require('gloveport') as Record<string, unknown>
  const { default: _, ...named } = imported as Record<string, unknown>
  expect(Object.keys(named).toSorted()).toEqual(Object.keys(required).toSorted())
  for (const [name, value] of Object.entries(named)) expect(value, name).toBe(required[name])
})

test('every class is called what it is exported as', () => {
  const classes = Object.entries(imported).filter(([name, value]) => /^[A-Z]/.test(name) && typeof value === 'function')
  expect(classes.length).toBeGreaterThan(25)
  for (const [name, value] of classes) expect((value as { name: string }).name).toBe(name)
})

test('adapters have the same names in both module systems and share the one instance', async () => {
  expect(Object.keys(require('gloveport/ai-sdk') as object).toSorted()).toEqual(Object.keys(aiSdk).toSorted())
  expect(Object.keys(require('gloveport/langchain') as object)).toEqual(Object.keys(langchain))
  const { aiTools } = require('gloveport/ai-sdk') as typeof aiSdk
  const backend = new imported.LocalBackend({ root: await project({ 'a.txt': 'a' }) })
  const toolset = imported.createToolset({ backend })
  const execute = aiTools(toolset)['read_file']!.execute
  expect(await execute({ path: 'a.txt' }, { toolCallId: 'c', messages: [] })).toMatchObject({ isError: false })
  await toolset.close()
  await backend.close()
})

const PROGRAM = `
  const { createToolset, LocalBackend } = require('gloveport')
  const backend = new LocalBackend({ root: require('node:worker_threads').workerData ?? process.argv[1] })
  const toolset = createToolset({ backend, permissions: 'permissive', hooks: { pre: () => {} }, approve: () => ({ approved: true }) })
  const done = Promise.all([toolset.call('ls', {}), toolset.call('execute', { command: 'echo hi' })])
`

test.each([
  ['closed', 'done.then(() => toolset.close()).then(() => backend.close())'],
  ['left open', ''],
  ['waiting for nothing', 'toolset.call("ls", {})'],
])('a process whose toolset is %s exits by itself', async (_name, end) => {
  const { stdout } = await run(
    process.execPath,
    ['-e', `${PROGRAM}; ${end}; done.then(() => console.log('ran'))`, await project()],
    {
      cwd: root,
      timeout: 20_000,
    },
  )
  expect(stdout).toBe('ran\n')
})

test('worker threads load, use and unload the addon, also when they are ended in the middle of a call', async () => {
  const workerData = await project({ 'a.txt': 'a' })
  for (let round = 0; round < 3; round += 1) {
    const workers = [0, 1].map(
      () =>
        new Worker(
          `${PROGRAM}; done.then(results => require('node:worker_threads').parentPort.postMessage(results.length))`,
          { eval: true, workerData },
        ),
    )
    const ended = await Promise.all(
      workers.map(
        (worker) =>
          new Promise((resolve, reject) => {
            const messages: unknown[] = []
            worker.on('message', (message) => messages.push(message))
            worker.on('error', reject)
            worker.on('exit', (code) => resolve({ code, messages }))
          }),
      ),
    )
    expect(ended).toEqual([0, 1].map(() => ({ code: 0, messages: [2] })))
  }
  const worker = new Worker(
    `${PROGRAM}; toolset.call('execute', { command: 'exec sleep 60' }, { onOutput: () => {} }); require('node:worker_threads').parentPort.postMessage('running')`,
    { eval: true, workerData },
  )
  await new Promise((resolve) => worker.once('message', resolve))
  expect(await worker.terminate()).toBe(1)
})

test('the event loop stays free while a call works', async () => {
  const folder = await project()
  const backend = new imported.LocalBackend({ root: folder })
  const called = backend.execute('until [ -e turned ]; do sleep 0.01; done', { timeout: 20_000 })
  // Turns that come only while the call works.
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1))
  await writeFile(join(folder, 'turned'), '')
  expect(await called).toMatchObject({ timedOut: false, exitCode: 0 })
  await backend.close()
})
