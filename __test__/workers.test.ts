// What a worker of Node leaves behind: nothing, and what is another's stays.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'

import { expect, onTestFinished, test, vi } from 'vitest'

import { localBackend, project } from './support.js'

/** Starts what goes on for five minutes, each in its own way, and says so when all of it runs. */
const PROGRAM = `
const { existsSync } = require('node:fs')
const { join } = require('node:path')
const { parentPort, workerData: root } = require('node:worker_threads')
const { createToolset, LocalBackend } = require('gloveport')

const going = (name) => 'echo $$ > ' + name + '.part; mv ' + name + '.part ' + name + '; exec sleep 300'
const backend = new LocalBackend({ root })
const toolset = createToolset({ backend, permissions: 'permissive', approve: () => ({ approved: true }) })
const calls = [
  backend.execute(going('execute')),
  backend.execute(going('left'), { timeout: 1, onTimeout: 'background' }),
  backend.execute('sleep 300 > /dev/null 2>&1 & echo $! > kept.part; mv kept.part kept', { background: 'keep' }),
  backend.openTerminal({ command: going('terminal') }),
  toolset.call('execute', { command: going('tool') }),
]
const all = ['execute', 'left', 'kept', 'terminal', 'tool']
const look = setInterval(() => {
  if (!all.every((name) => existsSync(join(root, name)))) return
  clearInterval(look)
  parentPort.postMessage(all)
}, 10)
`

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Generous: a loaded machine has longer. */
const LONG = { timeout: 60_000, interval: 20 }

test('what a worker runs ends with it, and what others run goes on', { timeout: 120_000 }, async () => {
  const root = await project()
  const pid = async (name: string): Promise<number> => Number(await readFile(join(root, name), 'utf8'))
  const backend = await localBackend()
  const stop = new AbortController()
  const own = backend.execute(`echo $$ > ${root}/own.part; mv ${root}/own.part ${root}/own; exec sleep 300`, {
    signal: stop.signal,
  })
  const ended = own.catch(() => 'ended')
  await vi.waitFor(() => pid('own'), LONG)

  const worker = new Worker(PROGRAM, { eval: true, workerData: root })
  onTestFinished(async () => void (await worker.terminate()))
  const names = await new Promise<string[]>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  const pids = await Promise.all(names.map(pid))
  expect(pids.map(isAlive)).toEqual(pids.map(() => true))
  await worker.terminate()
  const left = (): string[] => names.filter((_, index) => isAlive(pids[index]!))
  await vi.waitFor(() => expect(left()).toEqual([]), LONG)

  expect(isAlive(await pid('own'))).toBe(true)
  stop.abort()
  expect(await ended).toBe('ended')
})
