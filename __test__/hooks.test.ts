import { AsyncLocalStorage } from 'node:async_hooks'

import { type AuditEvent, FileNotFoundError, type ToolResult } from 'gloveport'
import { expect, test } from 'vitest'

import { rejection, toolsetOver } from './support.js'

test('hooks run global, tool, run, tool, global, with one metadata object and the caller’s own context (TS-3, TS-4)', async () => {
  const log: unknown[] = []
  const context = { user: 'me' }
  const seen = new Set<unknown>()
  const note =
    (name: string) =>
    (call: { metadata: Record<string, unknown>; context: unknown; tool: string }): void => {
      seen.add(call.metadata)
      expect(call.context).toBe(context)
      expect(call.tool).toBe('read_file')
      call.metadata[name] = true
      log.push([name, Object.keys(call.metadata)])
    }
  const toolset = await toolsetOver(
    { 'a.txt': 'a' },
    {
      hooks: {
        around: async (call, next) => {
          note('around')(call)
          const result = await next()
          log.push('after')
          return result
        },
        pre: note('pre'),
        post: note('post'),
        tools: { read_file: { pre: note('toolPre'), post: note('toolPost') }, ls: { pre: note('never') } },
      },
    },
  )
  await toolset.call('read_file', { path: 'a.txt' }, { context })
  expect(log).toEqual([
    ['around', ['around']],
    ['pre', ['around', 'pre']],
    ['toolPre', ['around', 'pre', 'toolPre']],
    ['toolPost', ['around', 'pre', 'toolPre', 'toolPost']],
    ['post', ['around', 'pre', 'toolPre', 'toolPost', 'post']],
    'after',
  ])
  expect(seen.size).toBe(1)
})

test('a pre hook replaces the input, and rules judge the new one', async () => {
  const toolset = await toolsetOver(
    { 'a.txt': 'from a', 'b.txt': 'from b', 'secret/.env': 'KEY=1' },
    {
      permissions: 'default',
      hooks: { pre: ({ context }) => ({ path: context as string }) },
    },
  )
  expect((await toolset.call('read_file', { path: 'a.txt' }, { context: 'b.txt' })).text).toContain('from b')
  expect(await toolset.call('read_file', { path: 'a.txt' }, { context: 'secret/.env' })).toMatchObject({
    isError: true,
    code: 'PERMISSION_DENIED',
  })
})

test('a post hook replaces a result and recovers from a failure (TS-5)', async () => {
  const recovered: ToolResult = { text: 'recovered', isError: false, truncated: false }
  const errors: unknown[] = []
  const toolset = await toolsetOver(
    { 'a.txt': 'a' },
    {
      hooks: {
        post: ({ result, error }) => {
          if (error) {
            errors.push(error)
            return recovered
          }
          return { ...result, text: `${result.text}!` }
        },
      },
    },
  )
  expect((await toolset.call('read_file', { path: 'a.txt' })).text).toMatch(/!$/)
  expect(await toolset.call('read_file', { path: 'missing' })).toEqual(recovered)
  expect(errors).toEqual([expect.any(FileNotFoundError)])
})

test.each([
  ['pre', { pre: true }],
  ['tool pre', { toolPre: true }],
  ['tool post', { toolPost: true }],
  ['post', { post: true }],
  ['around', { around: true }],
])('what a %s hook throws reaches the caller as itself (TS-6)', async (_name, where: Record<string, boolean>) => {
  const mine = Object.assign(new TypeError('mine'), { own: true })
  const fail = (name: string): (() => never) | undefined =>
    where[name]
      ? () => {
          throw mine
        }
      : undefined
  const toolset = await toolsetOver(
    { 'a.txt': 'a' },
    {
      hooks: {
        pre: fail('pre'),
        post: fail('post'),
        around: fail('around'),
        tools: { read_file: { pre: fail('toolPre'), post: fail('toolPost') } },
      },
    },
  )
  expect(await rejection(toolset.call('read_file', { path: 'a.txt' }))).toBe(mine)
})

test('the global post hook runs and sees the error when a tool post hook throws (D70)', async () => {
  const mine = new Error('mine')
  const seen: unknown[] = []
  const toolset = await toolsetOver(
    { 'a.txt': 'a' },
    {
      hooks: {
        post: ({ error }) => void seen.push(error),
        tools: {
          read_file: {
            post: () => {
              throw mine
            },
          },
        },
      },
    },
  )
  expect(await rejection(toolset.call('read_file', { path: 'a.txt' }))).toBe(mine)
  expect(seen).toEqual([mine])
})

test('an around hook can retry, change the input and set a time limit (TS-8, D71)', async () => {
  const toolset = await toolsetOver(
    { 'b.txt': 'b' },
    {
      permissions: 'permissive',
      hooks: {
        around: async (_call, next) => {
          const first = await next()
          return first.isError ? next({ input: { path: 'b.txt' } }) : first
        },
        tools: { execute: { around: (_call, next) => next({ signal: AbortSignal.timeout(200) }) } },
      },
    },
  )
  expect((await toolset.call('read_file', { path: 'missing' })).text).toContain('b')
  expect(await rejection(toolset.call('execute', { command: 'exec sleep 60' }))).toMatchObject({
    name: 'AbortError',
    cause: { name: 'TimeoutError' },
  })
})

test('hooks and approver run in the async context of their caller, also when calls run at once', async () => {
  const storage = new AsyncLocalStorage<number>()
  const seen: (number | undefined)[] = []
  const toolset = await toolsetOver(
    {},
    {
      needApproval: ['ls'],
      approve: async () => {
        seen.push(storage.getStore())
        return { approved: true }
      },
      hooks: { pre: () => void seen.push(storage.getStore()), post: () => void seen.push(storage.getStore()) },
    },
  )
  const numbers = [1, 2, 3, 4, 5]
  await Promise.all(numbers.map((number) => storage.run(number, () => toolset.call('ls', {}))))
  expect(seen.toSorted()).toEqual(numbers.flatMap((number) => [number, number, number]))
})

test('a hook that answers nonsense fails its call with a typed error', async () => {
  const toolset = await toolsetOver({}, { hooks: { post: () => 'text' as never } })
  expect(await rejection(toolset.call('ls', {}))).toMatchObject({ code: 'INVALID_INPUT' })
  const second = await toolsetOver({}, { hooks: { pre: () => ({ path: NaN }) } })
  expect(await rejection(second.call('ls', {}))).toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringMatching(/path/),
  })
})

test('events tell what happened, in order, and a listener that throws harms nothing', async () => {
  const events: AuditEvent[] = []
  const errors: unknown[] = []
  const mine = new Error('listener')
  const toolset = await toolsetOver(
    {},
    {
      needApproval: ['write_file'],
      approve: () => ({ approved: true, reason: 'fine' }),
      onError: (error) => errors.push(error),
      onEvent: (event) => {
        events.push(event)
        if (event.type === 'call-ended') throw mine
      },
    },
  )
  await toolset.call('write_file', { path: 'a.txt', content: 'a\n' }, { callId: 'c1' })
  await rejection(
    toolset.call('ls', {}, { signal: AbortSignal.timeout(0), callId: 'c2' }).then(() => Promise.reject(0)),
  )
  expect(events.filter((event) => event.callId === 'c1').map((event) => event.type)).toEqual([
    'call-started',
    'approval-requested',
    'approval-decided',
    'call-ended',
  ])
  expect(events[0]).toEqual({
    type: 'call-started',
    time: expect.any(Number),
    toolsetId: toolset.id,
    callId: 'c1',
    tool: 'write_file',
    input: { path: 'a.txt', content: 'a\n' },
  })
  expect(errors[0]).toBe(mine)
})

/** The tool's post hook threw, then the global one: the first error reached nobody. */
test('an error of a hook that another one stands for before the caller goes to onError', async () => {
  const [first, second] = [new Error('first'), new Error('second')]
  const errors: unknown[] = []
  let again: Error = second
  const toolset = await toolsetOver(
    {},
    {
      onError: (error) => errors.push(error),
      hooks: {
        post: () => {
          throw again
        },
        tools: {
          ls: {
            post: () => {
              throw first
            },
          },
        },
      },
    },
  )
  expect(await rejection(toolset.call('ls', {}))).toBe(second)
  expect(errors).toEqual([first])
  // The same one thrown on is told once, to the caller.
  again = first
  expect(await rejection(toolset.call('ls', {}))).toBe(first)
  expect(errors).toEqual([first])
})

/** `assess` shows a call as it came, and a hook that changed its input made every grant one for another call. */
test('a grant holds where hooks change the input and not what the call touches', async () => {
  const pre = ({ input }: { readonly input: unknown }) => ({ ...(input as object), timeout: 5 })
  const toolset = await toolsetOver({}, { hooks: { tools: { execute: { pre } } } })
  const input = { command: 'echo hi' }
  expect((await toolset.assess('execute', input, { callId: 'c' })).status).toBe('needs-approval')
  expect(await toolset.call('execute', input, { callId: 'c', approval: { approved: true } })).toMatchObject({
    text: 'hi',
    data: { approvalBoundTo: 'content' },
  })
  const other = await toolsetOver({}, { hooks: { tools: { execute: { pre: () => ({ command: 'touch x' }) } } } })
  await other.assess('execute', input, { callId: 'c' })
  expect(await other.call('execute', input, { callId: 'c', approval: { approved: true } })).toMatchObject({
    code: 'STALE_FILE',
  })
})
