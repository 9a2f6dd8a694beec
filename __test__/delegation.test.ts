// Tasks handed to other agents, which work with a part of the toolset (TS-11).

import { AbortError, InvalidInputError, type SubagentTask, type Subagents, type ToolsetOptions } from 'gloveport'
import { expect, test } from 'vitest'

import { rejection, toolsetOver } from './support.js'

/** An agent whose model calls what the prompt says: a tool and its input as JSON. */
const obedient = async ({ prompt, toolset, call }: SubagentTask) => {
  const [tool, input] = JSON.parse(prompt) as [string, unknown]
  return toolset.call(tool, input, { signal: call.signal, context: call.context })
}

const AGENTS: Subagents = {
  agents: {
    reader: { description: 'Reads files.', tools: ['read_file', 'grep'], run: obedient },
    worker: { description: 'Does anything.', run: obedient },
  },
}

const over = (options: Partial<ToolsetOptions> = {}, subagents = AGENTS) =>
  toolsetOver({ 'a.txt': 'one\n', '.env': 'KEY=1\n' }, { subagents, ...options })

test('each agent is a tool that is told what it is good for, and works with its own tools', async () => {
  const seen: unknown[] = []
  const toolset = await over(
    {},
    {
      agents: {
        ...AGENTS.agents,
        looker: {
          description: 'Looks.',
          tools: ['ls'],
          run: (task) =>
            void seen.push(
              task.name,
              task.prompt,
              task.toolset.tools.map(({ name }) => name),
            ),
        },
      },
    },
  )
  expect(toolset.tools.slice(-3).map(({ name, description }) => [name, description])).toEqual([
    ['reader', 'Reads files.'],
    ['worker', 'Does anything.'],
    ['looker', 'Looks.'],
  ])
  expect(toolset.tools.length).toBe(10)
  await toolset.call('looker', { prompt: 'Look around.' })
  expect(seen).toEqual(['looker', 'Look around.', ['ls']])
  const read = JSON.stringify(['read_file', { path: 'a.txt' }])
  expect((await toolset.call('reader', { prompt: read })).text).toContain('one')
  const write = JSON.stringify(['write_file', { path: 'b.txt', content: '' }])
  expect((await toolset.call('reader', { prompt: write })).code).toBe('UNKNOWN_TOOL')
  expect((await toolset.call('worker', { prompt: write })).isError).toBe(false)
})

test('one tool can hand tasks to all of them', async () => {
  const toolset = await over({}, { ...AGENTS, unified: true })
  const { description, inputSchema } = toolset.tools.at(-1)!
  expect(description).toContain('- reader: Reads files.\n- worker: Does anything.')
  expect(inputSchema.properties['agent']).toMatchObject({ enum: ['reader', 'worker'] })
  const prompt = JSON.stringify(['read_file', { path: 'a.txt' }])
  expect((await toolset.call('delegate', { agent: 'reader', prompt })).text).toContain('one')
  expect((await toolset.call('delegate', { agent: 'writer', prompt })).code).toBe('INVALID_INPUT')
})

test('rules, approvals, hooks and limits hold for what an agent does', async () => {
  const tools: string[] = []
  const asked: string[] = []
  const toolset = await over({
    permissions: 'default',
    limits: { textBytes: 2_000 },
    hooks: { pre: ({ tool, context }) => void tools.push(`${tool} for ${String(context)}`) },
    approve: ({ tool }) => {
      asked.push(tool)
      return { approved: true, remember: 'session' }
    },
  })
  const task = (...call: unknown[]) => toolset.call('worker', { prompt: JSON.stringify(call) }, { context: 'me' })
  expect((await task('read_file', { path: '.env' })).code).toBe('PERMISSION_DENIED')
  const write = { path: 'b.txt', content: 'x'.repeat(5_000) }
  expect((await task('write_file', write)).isError).toBe(false)
  // What was approved for the session is approved for both.
  expect((await toolset.call('write_file', write)).isError).toBe(false)
  expect(asked).toEqual(['write_file'])
  expect(tools.slice(0, 2)).toEqual(['worker for me', 'read_file for me'])
  const { text } = await task('read_file', { path: 'b.txt' })
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2_100)
})

test('no agent hands its task on, and none outlives its call', async () => {
  const toolset = await over()
  for (const tool of ['worker', 'reader']) {
    const prompt = JSON.stringify([tool, { prompt: '[]' }])
    expect((await toolset.call('worker', { prompt })).code).toBe('UNKNOWN_TOOL')
  }
  const stop = new AbortController()
  const prompt = JSON.stringify(['execute', { command: 'exec sleep 100' }])
  const quick = await over({
    requireExecuteApproval: false,
    onEvent: ({ type, tool }) => void (type === 'call-started' && tool === 'execute' && stop.abort()),
  })
  expect(await rejection(quick.call('worker', { prompt }, { signal: stop.signal }))).toBeInstanceOf(AbortError)
})

test.each<[string, unknown]>([
  ['no agents', { agents: {} }],
  ['an unknown option', { ...AGENTS, model: 'x' }],
  ['an agent whose description is no text', { agents: { a: { description: 5, run: () => '' } } }],
  ['an agent that does nothing', { agents: { a: { description: 'A.' } } }],
  ['an agent with an unknown option', { agents: { a: { description: 'A.', run: () => '', model: 'x' } } }],
  ['tools that are no list', { agents: { a: { description: 'A.', run: () => '', tools: 'ls' } } }],
  ['a time that is none', { agents: { a: { description: 'A.', run: () => '', timeoutMs: 0 } } }],
  ['an agent by the name of a tool of ours', { agents: { ls: { description: 'A.', run: () => '' } } }],
  ['a `unified` that is neither', { ...AGENTS, unified: 'yes' }],
])('refuses %s', async (_name, subagents) => {
  expect(await rejection(over({}, subagents as never))).toBeInstanceOf(InvalidInputError)
})
