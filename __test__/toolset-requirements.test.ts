// What the agent systems that gloveport follows offer of toolsets, by the number of the requirement; what `hooks.test.ts`,
// `custom-tools.test.ts`, `tool-sayings.test.ts` and `subagents.test.ts` hold is not repeated here. docs/tools.md says where
// ours is another way.

import {
  type AroundHook,
  ApprovalRequiredError,
  type AuditEvent,
  ClosedError,
  createToolset,
  defineTool,
  InvalidInputError,
  type PendingCall,
  StateBackend,
  TimeoutError,
} from 'gloveport'
import { aiTools } from 'gloveport/ai-sdk'
import { langchainTools } from 'gloveport/langchain'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'

import { rejection, toolsetOver } from './support.js'

afterEach(() => vi.unstubAllEnvs())

const radio = {
  name: 'radio',
  description: 'Listens.',
  inputSchema: { properties: {} },
  touches: [],
  run: () => 'heard',
}

/** What an application throws to end more than a call. */
class Interrupt extends Error {}
const isControlFlow = (error: unknown): boolean => error instanceof Interrupt

test('what somebody filled in reaches hooks and the run as the metadata of the call (TS-1, TS-12)', async () => {
  const seen: unknown[] = []
  const book = defineTool<{ seat: string }>({
    ...radio,
    inputSchema: { properties: { seat: { type: 'string' } } },
    needsApproval: true,
    processUserInput: (_input, answer) => ({ input: { seat: String(answer) }, metadata: { answeredBy: 'Ada' } }),
    run: ({ seat }, { metadata, callId }) => {
      seen.push([callId, seat, { ...metadata }])
      return 'booked'
    },
  })
  const toolset = await toolsetOver({}, { tools: [book], hooks: { pre: ({ metadata }) => void seen.push(metadata) } })
  const error = await rejection(toolset.call('radio', { seat: '1A' }, { callId: 'c' }))
  expect(error).toBeInstanceOf(ApprovalRequiredError)
  seen.length = 0
  const pending = [(error as ApprovalRequiredError).details as PendingCall]
  const answers = [{ callId: 'c', approved: true, userInput: '7F' }]
  expect((await toolset.resume(pending, answers)).get('c')).toMatchObject({ text: 'booked' })
  expect(seen).toEqual([{ answeredBy: 'Ada' }, ['c', '7F', { answeredBy: 'Ada' }]])
})

test('an application may name a toolset, in its events and calls (TS-2)', async () => {
  const events: AuditEvent[] = []
  const toolset = await toolsetOver({}, { id: 'reviewer', onEvent: (event) => events.push(event) })
  expect(toolset.id).toBe('reviewer')
  await toolset.call('ls', {})
  expect(events.map(({ toolsetId, callId }) => [toolsetId, callId])).toEqual([
    ['reviewer', 'reviewer-call-1'],
    ['reviewer', 'reviewer-call-1'],
  ])
  for (const id of ['', 'a b', 'é', 'a'.repeat(65), 1 as never])
    await expect(toolsetOver({}, { id })).rejects.toThrow(InvalidInputError)
})

test('tools that are not there are shown all the same where the list must stay as it is (TS-2, TS-9)', async () => {
  let there = false
  const tool = defineTool({ ...radio, available: () => there, instruction: 'Tune it first.' })
  for (const [skipUnavailable, shown] of [
    [undefined, ['ls']],
    [true, ['ls']],
    [false, ['ls', 'radio']],
  ] as const) {
    there = false
    const toolset = await toolsetOver({}, { tools: ['ls', tool], skipUnavailable })
    expect(toolset.tools.map(({ name }) => name)).toEqual(shown)
    expect(toolset.instructions).not.toContain('Tune it first.')
    expect(await toolset.call('radio', {})).toMatchObject({
      code: 'UNSUPPORTED',
      text: "Error: The tool 'radio' is not available now; do it another way.",
    })
    there = true
    expect(toolset.tools.map(({ name }) => name)).toEqual(['ls', 'radio'])
    expect((await toolset.call('radio', {})).text).toBe('heard')
  }
  await expect(toolsetOver({}, { skipUnavailable: 1 as never })).rejects.toThrow(InvalidInputError)
})

test('a program can ask whether a tool is there (TS-9)', async () => {
  let there = true
  const tool = defineTool({ ...radio, available: () => there })
  const better = defineTool({ ...radio, name: 'better', tags: ['sound'], available: () => there })
  const worse = defineTool({ ...radio, name: 'worse', supersededBy: ['sound'] })
  const toolset = await toolsetOver({}, { tools: ['ls', tool, better, worse], names: { ls: 'list' } })
  const isThere = () => ['ls', 'list', 'radio', 'worse', 'execute', 'nothing'].map((name) => toolset.isAvailable(name))
  expect(isThere()).toEqual([true, true, true, false, false, false])
  there = false
  expect(isThere()).toEqual([true, true, false, true, false, false])
  expect(toolset.subset(['ls']).isAvailable('worse')).toBe(false)
  expect(() => toolset.isAvailable(1 as never)).toThrow(InvalidInputError)
})

test('a toolset that has nothing to tell tells nothing (TS-10)', async () => {
  let there = false
  const told = defineTool({ ...radio, name: 'told', instruction: 'Tune it.', available: () => there })
  const toolset = await toolsetOver({}, { tools: [defineTool(radio), told] })
  expect(toolset.instructions).toBe('')
  there = true
  expect(toolset.instructions).toContain('<tool-instruction name="told">Tune it.</tool-instruction>')
  expect((await toolsetOver({}, { tools: ['ls'] })).instructions).toContain('working directory')
})

test('what tools say of themselves is waited for no longer than for a call of them (TS-9)', async () => {
  const errors: unknown[] = []
  let answer: (there: boolean) => void = () => {}
  const never = defineTool({
    ...radio,
    timeoutMs: 20,
    available: () => new Promise<boolean>((resolve) => (answer = resolve)),
  })
  const mute = defineTool({ ...radio, name: 'mute', timeoutMs: 20, instruction: () => new Promise<string>(() => {}) })
  const toolset = await toolsetOver({}, { tools: ['ls', never, mute], onError: (error) => errors.push(error) })
  await toolset.refresh()
  expect(errors).toEqual([expect.any(TimeoutError), expect.any(TimeoutError)])
  expect(toolset.tools.map(({ name }) => name)).toEqual(['ls', 'mute'])
  answer(true)

  const slow = defineTool({ ...radio, available: () => new Promise<boolean>(() => {}) })
  const other = await toolsetOver({}, { tools: [slow] })
  const controller = new AbortController()
  const aborted = rejection(other.refresh({ signal: controller.signal }))
  controller.abort()
  expect(await aborted).toMatchObject({ name: 'AbortError' })
  const closed = rejection(other.refresh())
  await other.close()
  expect(await closed).toBeInstanceOf(ClosedError)
})

test('the time of a call has a default in the environment, and a timeout says what to do (TS-13)', async () => {
  const run = (_input: unknown, { signal }: { readonly signal: AbortSignal }) =>
    new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const tool = defineTool({ ...radio, run })
  vi.stubEnv('GLOVEPORT_CALL_TIMEOUT_MS', '30')
  const toolset = await toolsetOver({}, { tools: [tool] })
  const result = await toolset.call('radio', {})
  expect(result.code).toBe('TIMEOUT')
  expect(result.text).toMatch(/A part of it may be done: look at what is there before you try again/)
  for (const wrong of ['soon', '-1', '0', '1.5', '9'.repeat(16)]) {
    vi.stubEnv('GLOVEPORT_CALL_TIMEOUT_MS', wrong)
    await expect(toolsetOver({}), wrong).rejects.toThrow(/GLOVEPORT_CALL_TIMEOUT_MS/)
    // What the application says is taken, and nothing else looked at.
    expect((await toolsetOver({}, { limits: { callTimeout: 5_000 } })).tools).not.toEqual([])
  }
  vi.stubEnv('GLOVEPORT_CALL_TIMEOUT_MS', ' ')
  expect((await toolsetOver({})).tools).not.toEqual([])
})

test('a signal for the program around leaves every way of calling as itself, and no hook makes a result of it (TS-13)', async () => {
  const mine = new Interrupt('mine')
  const throws = (): never => {
    throw mine
  }
  const answered = { text: 'recovered', isError: false, truncated: false }
  const tool = defineTool({ ...radio, run: throws })
  for (const options of [
    { tools: [tool] },
    { tools: [tool], hooks: { post: () => answered } },
    {
      tools: [tool],
      hooks: { around: async (_call: unknown, next: () => Promise<unknown>) => next().catch(() => answered) },
    },
    { tools: [defineTool({ ...radio, touches: throws })] },
    { tools: [defineTool(radio)], hooks: { pre: throws } },
    { tools: [defineTool(radio)], hooks: { post: throws } },
    { tools: [defineTool(radio)], hooks: { around: throws } },
    { tools: [defineTool({ ...radio, needsApproval: true })], approve: throws },
  ]) {
    const errors: unknown[] = []
    const given = { ...options, isControlFlow, onError: (error: unknown) => errors.push(error) } as never
    const toolset = await toolsetOver({}, given)
    expect(await rejection(toolset.call('radio', {}))).toBe(mine)
    expect(await rejection(toolset.answer('radio', {}))).toBe(mine)
    expect(await rejection(aiTools(toolset)['radio']!.execute({}, { toolCallId: '1', messages: [] }))).toBe(mine)
    expect(await rejection(langchainTools(toolset)[0]!.invoke({}))).toBe(mine)
    expect(errors).toEqual([])
  }
})

test('a call that was interrupted runs no further, and what is no such signal is an error as ever (TS-13)', async () => {
  let runs = 0
  const tool = defineTool({
    ...radio,
    run: () => {
      runs += 1
      throw new Interrupt('mine')
    },
  })
  const around: AroundHook = async (_call, again) => again().catch(async () => again())
  const toolset = await toolsetOver({}, { tools: [tool], isControlFlow, hooks: { around } })
  expect(await rejection(toolset.call('radio', {}))).toBeInstanceOf(Interrupt)
  expect(runs).toBe(1)
  const plain = await toolsetOver({}, { tools: [tool] })
  expect(await plain.call('radio', {})).toMatchObject({ code: 'TOOL_FAILED', text: 'Error: radio failed: mine' })
  const errors: unknown[] = []
  const broken = await toolsetOver(
    {},
    {
      tools: [tool],
      onError: (error) => errors.push(error),
      isControlFlow: () => {
        throw new TypeError('broken')
      },
    },
  )
  expect(await broken.call('radio', {})).toMatchObject({ code: 'TOOL_FAILED' })
  expect(errors).toEqual([expect.any(TypeError)])
})

test('an approved call is gone on with once, and held to what was shown (TS-12, TS-13)', async () => {
  const ran: string[] = []
  const tool = defineTool<{ to: string }>({
    ...radio,
    inputSchema: { properties: { to: { type: 'string' } } },
    needsApproval: true,
    run: ({ to }) => void ran.push(to),
  })
  const toolset = await toolsetOver({}, { tools: [tool] })
  const { details } = (await rejection(toolset.call('radio', { to: 'a' }, { callId: 'c' }))) as ApprovalRequiredError
  const { tool: name, input } = details as PendingCall
  const approval = { approved: true }
  expect(await toolset.call(name, { to: 'b' }, { callId: 'c', approval })).toMatchObject({ isError: true })
  expect(ran).toEqual([])
  await rejection(toolset.call(name, input, { callId: 'c' }))
  expect(await toolset.call(name, input, { callId: 'c', approval })).toMatchObject({ isError: false })
  expect(ran).toEqual(['a'])
  // The same call without the answer asks again.
  expect(await rejection(toolset.call(name, input, { callId: 'c' }))).toBeInstanceOf(ApprovalRequiredError)
})

test('whoever is asked sees the input as the tool takes it, and what they change is decoded afresh', async () => {
  const requests: unknown[] = []
  const ran: unknown[] = []
  const schema = z.object({ at: z.coerce.date(), times: z.coerce.number().int().default(2), note: z.string().trim() })
  const remind = defineTool({
    name: 'remind',
    description: 'Reminds.',
    inputSchema: schema,
    jsonSchema: { type: 'object', properties: { at: { type: 'string' }, times: {}, note: { type: 'string' } } },
    needsApproval: true,
    run: (input) => void ran.push(input),
  })
  let change: unknown
  const toolset = await toolsetOver(
    { 'a.txt': 'a\n' },
    {
      tools: ['console', remind],
      requireWriteApproval: true,
      approve: (request) => {
        requests.push(request)
        return { approved: true, ...(change === undefined ? {} : { input: change }) }
      },
    },
  )
  const input = { at: '2030-01-02', note: ' x ' }
  await toolset.call('remind', input)
  expect(requests).toMatchObject([
    {
      input,
      decodedInput: { at: '2030-01-02T00:00:00.000Z', times: 2, note: 'x' },
      description: 'remind(at="2030-01-02T00:00:00.000Z", times=2, note="x")',
    },
  ])
  expect(ran).toEqual([{ at: new Date('2030-01-02'), times: 2, note: 'x' }])
  change = { ...input, times: '5' }
  await toolset.call('remind', input)
  expect(ran.at(-1)).toEqual({ at: new Date('2030-01-02'), times: 5, note: 'x' })
  change = { ...input, at: 'never' }
  expect(await toolset.call('remind', input)).toMatchObject({ code: 'INVALID_INPUT' })
  expect(ran).toHaveLength(2)

  change = undefined
  requests.length = 0
  const edit = { path: 'a.txt', old_string: 'a', new_string: 'b', edits: null }
  await toolset.call('edit_file', edit)
  await toolset.call('execute', { command: 'true' })
  expect(requests).toMatchObject([{ input: edit }, { input: { command: 'true' } }])
  expect(requests.map((request) => (request as { decodedInput: unknown }).decodedInput)).toEqual([
    { path: 'a.txt', old_string: 'a', new_string: 'b' },
    { command: 'true', timeout: 120 },
  ])
})

test('a schema whose output JSON cannot tell is approved by its input', async () => {
  const requests: unknown[] = []
  const tool = defineTool({
    ...radio,
    inputSchema: z.object({ a: z.string().transform((text) => BigInt(text)) }),
    jsonSchema: { type: 'object', properties: { a: { type: 'string' } } },
    needsApproval: true,
    run: ({ a }) => `${a + 1n}`,
  })
  const toolset = createToolset({
    backend: new StateBackend(),
    tools: [tool],
    approve: ({ decodedInput }) => {
      requests.push(decodedInput)
      return { approved: true }
    },
  })
  onTestFinished(() => toolset.close())
  expect((await toolset.call('radio', { a: '41' })).text).toBe('42')
  expect(requests).toEqual([{ a: '41' }])
})
