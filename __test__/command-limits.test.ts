// Ceilings on what an agent's commands use, whichever tool starts them, and what is told of processes that outlive a command.

import { type AuditEvent, createToolset, LocalBackend } from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { localBackend, project } from './support.js'

/** 40 MB in each of four processes, as long as they live. */
const FOUR = 'for i in 1 2 3 4; do { head -c 40000000 /dev/zero; exec sleep 300; } | tail -n 1 & done; wait'

test('`commandLimits` hold for every command of a backend, whichever tool starts it', async () => {
  const root = await project()
  const backend = new LocalBackend({ root, commandLimits: { openFiles: 64, memoryBytes: 100 << 20 } })
  onTestFinished(() => backend.close())
  const toolset = createToolset({
    backend,
    tools: ['console', 'background', 'terminal'],
    requireExecuteApproval: false,
  })
  onTestFinished(() => toolset.close())

  expect((await toolset.call('execute', { command: 'ulimit -n' })).text).toBe('64')
  const bomb = await toolset.call('execute', { command: FOUR })
  expect(bomb.text).toMatch(/^Command was ended because its processes used more memory than they may\./)
  expect(bomb.data).toMatchObject({ ceiling: 'memory', timedOut: false })

  await toolset.call('run_in_background', { command: `ulimit -n; ${FOUR}` })
  // Its output and its end may be news of one look, or of two.
  const read = async (looks: string[] = []): Promise<string> => {
    const { text } = await toolset.call('read_output', { shell_id: 'bg_1', wait: 20 })
    return text.includes('was ended') ? [...looks, text].join('\n') : read([...looks, text])
  }
  expect(await read()).toMatch(/(^|\n)64\n[^]*\[bg_1\] was ended because its processes used more memory than they may/)

  expect((await toolset.call('shell_exec', { id: 's', command: 'ulimit -n' })).text).toBe('64')

  for (const [asked, given] of [
    [1_000, '64\n'],
    [32, '32\n'],
  ] as const) {
    expect((await backend.execute('ulimit -n', { limits: { openFiles: asked } })).stdout).toBe(given)
  }
})

test('`commandLimits` are checked', async () => {
  const root = await project()
  const wrong = { processes: 'many' } as unknown as { processes: number }
  expect(() => new LocalBackend({ root, commandLimits: wrong })).toThrow(
    expect.objectContaining({ code: 'INVALID_INPUT' }),
  )
  const unknown = { disk: 1 } as unknown as { processes: number }
  expect(() => new LocalBackend({ root, commandLimits: unknown })).toThrow(/disk/)
})

test('what a command leaves behind and is kept is named', async () => {
  const backend = await localBackend()
  const { stdout, processesKept, processesLeft, peakMemoryBytes } = await backend.execute('sleep 300 & echo $!', {
    background: 'keep',
  })
  expect({ processesKept, processesLeft }).toEqual({ processesKept: [Number(stdout)], processesLeft: undefined })
  expect(peakMemoryBytes).toBeGreaterThan(0)
  await backend.close()
  expect(() => process.kill(Number(stdout), 0)).toThrow('ESRCH')
})

test('a command that kills its supervisor is said to, in the result and in the audit', async () => {
  const events: AuditEvent[] = []
  const toolset = createToolset({
    backend: await localBackend(),
    tools: ['console', 'background'],
    requireExecuteApproval: false,
    onEvent: (event) => events.push(event),
  })
  onTestFinished(() => toolset.close())
  const command = 'kill -9 $PPID; sleep 300'
  const killed = await toolset.call('execute', { command })
  expect(killed.text).toContain('The command ended the program that watches over its processes.')
  expect(killed.data).toMatchObject({ supervisorLost: true, exitCode: null })
  await toolset.call('run_in_background', { command })
  await expect
    .poll(() => events.filter((event) => event.type === 'call-ended' || event.type === 'session-ended'), {
      timeout: 20_000,
    })
    .toMatchObject([{ tool: 'execute', supervisorLost: true }, { tool: 'run_in_background' }, { supervisorLost: true }])
  // Where it lives, nothing is said.
  const fine = await toolset.call('execute', { command: 'kill -STOP $PPID; true' })
  expect(fine.data).not.toHaveProperty('supervisorLost')
})
