// The adapter in LangChain's real agent loop, with the framework's own fake model.

import { Command, MemorySaver } from '@langchain/langgraph'
import { type ApprovalRequest } from 'gloveport'
import { langchainTools } from 'gloveport/langchain'
import {
  type AgentMiddleware,
  AIMessage,
  createAgent,
  fakeModel,
  HumanMessage,
  humanInTheLoopMiddleware,
  ToolMessage,
} from 'langchain'
import { expect, test } from 'vitest'

import { PNG, rejection, toolsetOver } from './support.js'

const GO = { messages: [new HumanMessage('go')] }

function toolMessages(state: { readonly messages: readonly unknown[] }): ToolMessage[] {
  return state.messages.filter((message) => ToolMessage.isInstance(message)) as ToolMessage[]
}

test('an agent reads, edits and runs through the tools', async () => {
  const toolset = await toolsetOver({ 'a.txt': 'one\n' }, { permissions: 'permissive' })
  const model = fakeModel()
    .respondWithTools([{ id: 'c1', name: 'read_file', args: { path: 'a.txt' } }])
    .respondWithTools([{ id: 'c2', name: 'edit_file', args: { path: 'a.txt', old_string: 'one', new_string: 'two' } }])
    .respondWithTools([{ id: 'c3', name: 'execute', args: { command: 'cat a.txt' } }])
    .respond(new AIMessage('done'))
  const agent = createAgent({ model, tools: langchainTools(toolset), systemPrompt: toolset.instructions })
  const state = await agent.invoke(GO)
  expect(toolMessages(state).map(({ status, name, tool_call_id }) => ({ status, name, tool_call_id }))).toEqual([
    { status: 'success', name: 'read_file', tool_call_id: 'c1' },
    { status: 'success', name: 'edit_file', tool_call_id: 'c2' },
    { status: 'success', name: 'execute', tool_call_id: 'c3' },
  ])
  expect(toolMessages(state)[2]?.content).toContain('two')
  expect(toolMessages(state)[0]?.artifact).toMatchObject({ isError: false, data: expect.any(Object) })
  expect(state.messages.at(-1)?.content).toBe('done')
})

test('a failure, and an input that misses the schema, is a tool message with status error, in our words', async () => {
  const errors: unknown[] = []
  const toolset = await toolsetOver({}, { onError: (error) => errors.push(error) })
  const model = fakeModel()
    .respondWithTools([
      { id: 'c1', name: 'read_file', args: { path: 'missing' } },
      { id: 'c2', name: 'read_file', args: { file: 'missing' } },
      { id: 'c3', name: 'execute', args: { command: 'true' } },
    ])
    .respond(new AIMessage('done'))
  const state = await createAgent({ model, tools: langchainTools(toolset) }).invoke(GO)
  const direct = await toolset.call('read_file', { file: 'missing' })
  expect(toolMessages(state).map(({ status, content }) => ({ status, content }))).toEqual([
    { status: 'error', content: expect.stringContaining('missing') },
    { status: 'error', content: direct.text },
    { status: 'error', content: expect.stringMatching(/approval that nobody here can give/) },
  ])
  expect(errors).toEqual([expect.objectContaining({ code: 'APPROVAL_REQUIRED' })])
})

test('an image is a content block', async () => {
  const toolset = await toolsetOver({ 'dot.png': PNG })
  const readFile = langchainTools(toolset).find((tool) => tool.name === 'read_file')
  const message = (await readFile!.invoke({
    type: 'tool_call',
    id: 'c1',
    name: 'read_file',
    args: { path: 'dot.png' },
  })) as ToolMessage
  expect(message.content).toEqual([
    { type: 'text', text: expect.any(String) },
    { type: 'image', mimeType: 'image/png', data: PNG.toString('base64') },
  ])
  expect(await readFile!.invoke({ path: 'missing' })).toContain('missing')
})

test('a document is a content block with its name', async () => {
  const document = Buffer.from('%PDF-1.4\n')
  const toolset = await toolsetOver({ 'a.pdf': document })
  const readFile = langchainTools(toolset).find((tool) => tool.name === 'read_file')
  const args = { path: 'a.pdf' }
  const message = (await readFile!.invoke({ type: 'tool_call', id: 'c1', name: 'read_file', args })) as ToolMessage
  const data = document.toString('base64')
  expect(message.content).toEqual([
    { type: 'text', text: expect.stringContaining('PDF') },
    { type: 'file', mimeType: 'application/pdf', data, metadata: { filename: 'a.pdf' } },
  ])
})

test('an abort ends the agent', async () => {
  const controller = new AbortController()
  const toolset = await toolsetOver(
    {},
    { permissions: 'permissive', hooks: { tools: { execute: { pre: () => controller.abort() } } } },
  )
  const model = fakeModel().respondWithTools([{ id: 'c1', name: 'execute', args: { command: 'exec sleep 60' } }])
  const agent = createAgent({ model, tools: langchainTools(toolset) })
  await rejection(agent.invoke(GO, { signal: controller.signal }))
  const ls = langchainTools(toolset).find((tool) => tool.name === 'ls')
  const aborted = ls!.invoke({}, { signal: AbortSignal.abort() })
  expect(await rejection(aborted)).toMatchObject({ name: 'AbortError' })
})

test('hooks see the config of LangChain as context', async () => {
  const seen: unknown[] = []
  const toolset = await toolsetOver({}, { hooks: { pre: ({ context }) => void seen.push(context) } })
  const model = fakeModel()
    .respondWithTools([{ id: 'c1', name: 'ls', args: {} }])
    .respond(new AIMessage('done'))
  const agent = createAgent({ model, tools: langchainTools(toolset) })
  await agent.invoke(GO, { configurable: { user: 'me' } })
  expect(seen).toEqual([expect.objectContaining({ configurable: expect.objectContaining({ user: 'me' }) })])
})

test('the framework asks before a call and its yes is trusted, but not against the rules', async () => {
  const asked: ApprovalRequest[] = []
  const toolset = await toolsetOver(
    { 'a.txt': 'old\n' },
    {
      permissions: 'default',
      approve: (request) => {
        asked.push(request)
        return { approved: false }
      },
    },
  )
  const model = fakeModel()
    .respondWithTools([
      { id: 'c1', name: 'write_file', args: { path: 'a.txt', content: 'new\n' } },
      { id: 'c2', name: 'write_file', args: { path: '.env', content: 'KEY=1' } },
    ])
    .respond(new AIMessage('done'))
  // LangChain's own types of this middleware do not compile under `exactOptionalPropertyTypes`.
  const interrupt = humanInTheLoopMiddleware({
    interruptOn: { write_file: true },
  } as never) as unknown as AgentMiddleware
  const agent = createAgent({
    model,
    tools: langchainTools(toolset, { approval: 'framework' }),
    middleware: [interrupt],
    checkpointer: new MemorySaver(),
  })
  const config = { configurable: { thread_id: '1' } }
  const waiting = await agent.invoke(GO, config)
  expect(waiting).toHaveProperty('__interrupt__')
  expect((await toolset.call('read_file', { path: 'a.txt' })).text).toContain('old')
  const yes = { type: 'approve' as const }
  const state = await agent.invoke(new Command({ resume: { decisions: [yes, yes] } }), config)
  expect(toolMessages(state as typeof waiting).map((message) => message.status)).toEqual(['success', 'error'])
  expect((await toolset.call('read_file', { path: 'a.txt' })).text).toContain('new')
  expect(asked).toEqual([])
})
