// Shells that are started ahead of their command, through the package.

import { readFileSync } from 'node:fs'
import { createToolset, LocalBackend, type LocalBackendOptions } from 'gloveport'
import { expect, onTestFinished, test, vi } from 'vitest'

import { project } from './support.js'

async function backendWith(options: LocalBackendOptions) {
  const backend = new LocalBackend({ root: await project(), ...options })
  onTestFinished(() => backend.close())
  return backend
}

const numbersIn = (text: string) => text.split(/\s+/).filter(Boolean).map(Number)
const childrenOf = (process: number) => numbersIn(readFileSync(`/proc/${process}/task/${process}/children`, 'utf8'))

test('a command of a tool is run by the shell that was started for it before it was known', async () => {
  const backend = await backendWith({})
  const toolset = createToolset({ backend, requireExecuteApproval: false })
  onTestFinished(() => toolset.close())
  const [supervisor = 0] = numbersIn((await backend.execute('echo $PPID')).stdout)
  // On a busy machine it comes after the 1 s that is the default.
  const [shell] = await vi.waitUntil(() => childrenOf(supervisor).length === 1 && childrenOf(supervisor), 50_000)
  const { text } = await toolset.call('execute', { command: 'echo $PPID $$; pwd; nonsense' })
  expect(text).toContain(`${supervisor} ${shell}\n`)
  expect(text).toMatch(/\/bin\/sh: .*nonsense.*not found/)
})

test('`startAhead: false` has each shell be started when its command is there', async () => {
  const backend = await backendWith({ startAhead: false })
  const [supervisor = 0] = numbersIn((await backend.execute('echo $PPID')).stdout)
  const begin = performance.now()
  await vi.waitUntil(() => childrenOf(supervisor).length > 0 || performance.now() - begin > 100)
  expect(childrenOf(supervisor)).toEqual([])
  expect(numbersIn((await backend.execute('echo $PPID')).stdout)).toEqual([supervisor])
})
