// Hooks that go wrong: a call ends with what the application's own code did, never past a rule, and never without an end.

import { type AroundHook, type AuditEvent, defineTool, type Hooks, type Toolset } from 'gloveport'
import { expect, onTestFinished, test, vi } from 'vitest'

import { rejection, toolsetOver } from './support.js'

/** Things that are no errors, and errors that are no good ones. */
const THROWN: readonly (readonly [string, unknown])[] = [
  ['nothing', undefined],
  ['null', null],
  ['a text', 'text'],
  ['a symbol', Symbol('s')],
  ['an object without a prototype', Object.create(null)],
  ['an error without a text', Object.assign(new Error('x'), { message: undefined })],
  ['an error with a number for a name', Object.assign(new Error('x'), { name: 42 })],
  [
    'an error whose text throws',
    Object.defineProperty(new Error('x'), 'message', {
      get() {
        throw new Error('from a getter')
      },
    }),
  ],
]

test.each(THROWN)(
  'a hook that throws %s: that very thing reaches the caller, with and without listeners',
  async (_name, thrown) => {
    const fail = (): never => {
      throw thrown
    }
    for (const hooks of [
      { pre: fail },
      { post: fail },
      { around: fail },
      { tools: { ls: { pre: fail } } },
      { tools: { ls: { post: fail } } },
      { pre: fail, post: () => {}, alwaysPost: true },
      { tools: { ls: { post: fail } }, post: () => {} },
    ] satisfies Hooks[]) {
      for (const listening of [false, true]) {
        const events: AuditEvent[] = []
        const toolset = await toolsetOver(
          {},
          { hooks, ...(listening ? { onEvent: (event) => events.push(event) } : {}) },
        )
        expect(await rejection(toolset.call('ls', {})), JSON.stringify(Object.keys(hooks))).toBe(thrown)
        if (listening) expect(events.map(({ type }) => type)).toEqual(['call-started', 'call-failed'])
      }
    }
  },
)

test.each<[string, Hooks]>([
  ['around: nothing', { around: (async () => undefined) as never }],
  ['around: a text', { around: (async () => 'text') as never }],
  ['around: a result without a text', { around: async (_call, next) => ({ ...(await next()), text: 1 as never }) }],
  ['around: a flag that is none', { around: async (_call, next) => ({ ...(await next()), isError: 'no' as never }) }],
  ['post: a flag that is none', { post: () => ({ text: 'x', isError: 'no', truncated: false }) as never }],
  ['post: parts that are none', { post: () => ({ text: 'x', isError: false, truncated: false, parts: 1 }) as never }],
  ['pre: a function', { pre: () => () => {} }],
  ['pre: a date', { pre: () => ({ path: new Date(0) }) }],
])('a hook that answers nonsense (%s) fails the call with a typed error', async (_name, hooks) => {
  for (const listening of [false, true]) {
    const toolset = await toolsetOver({}, { hooks, ...(listening ? { onEvent: () => {} } : {}) })
    expect(await rejection(toolset.call('ls', {}))).toMatchObject({ code: 'INVALID_INPUT' })
  }
})

test('a pre hook that makes an input wrong is told to the model, and nothing runs', async () => {
  for (const input of [null, 1, 'text', [], { path: 1 }, { paths: 'x' }, { path: 'a\0b' }]) {
    const toolset = await toolsetOver({}, { hooks: { pre: () => input } })
    expect(await toolset.call('ls', {}), JSON.stringify(input)).toMatchObject({ isError: true, code: 'INVALID_INPUT' })
  }
})

test('no hook leads a call past the rules: what it asks for is judged, whichever hook asks', async () => {
  const denied = [
    ['read_file', { path: '.env' }, 'PERMISSION_DENIED'],
    ['read_file', { path: 'x/../.env' }, 'PERMISSION_DENIED'],
    ['write_file', { path: '.env', content: '' }, 'PERMISSION_DENIED'],
    ['execute', { command: 'sudo ls' }, 'COMMAND_BLOCKED'],
    ['execute', { command: 'cat .env' }, 'COMMAND_BLOCKED'],
  ] as const
  const harmless = {
    read_file: { path: 'a.txt' },
    write_file: { path: 'b', content: '' },
    execute: { command: 'true' },
  }
  for (const [tool, input, code] of denied) {
    for (const hooks of [
      { pre: () => input },
      { tools: { [tool]: { pre: () => input } } },
      { around: (_call, next) => next({ input }) },
      { tools: { [tool]: { around: ((_call, next) => next({ input })) satisfies AroundHook } } },
    ] satisfies Hooks[]) {
      const toolset: Toolset = await toolsetOver(
        { 'a.txt': 'a', '.env': 'KEY=1' },
        { permissions: 'default', approve: () => ({ approved: true }), hooks },
      )
      expect(await toolset.call(tool, harmless[tool]), `${tool} ${Object.keys(hooks).join()}`).toMatchObject({ code })
    }
  }
})

test('a pre hook that puts a question in front of a call is asked about what it made of it', async () => {
  const asked: unknown[] = []
  const toolset = await toolsetOver(
    {},
    {
      requireWriteApproval: true,
      hooks: { pre: () => ({ path: 'other', content: 'x' }) },
      approve: ({ input }) => {
        asked.push(input)
        return { approved: true, remember: 'session' }
      },
    },
  )
  await toolset.call('write_file', { path: 'a', content: '' })
  expect(asked).toEqual([{ path: 'other', content: 'x' }])
  expect(toolset.rememberedApprovals).toEqual([{ tool: 'write_file', input: { path: 'other', content: 'x' } }])
})

const NEVER = (): Promise<never> => new Promise<never>(() => {})

test('a hook that never answers is a timeout (D71)', async () => {
  for (const [hooks, code] of [
    [{ pre: NEVER }, 'TIMEOUT'],
    [{ tools: { ls: { pre: NEVER } } }, 'TIMEOUT'],
    [{ post: NEVER }, 'TIMEOUT'],
    [{ tools: { ls: { post: NEVER } } }, 'TIMEOUT'],
    [{ around: NEVER }, 'TIMEOUT'],
    [{ tools: { ls: { around: NEVER } } }, 'TIMEOUT'],
    [{ around: async (_call, next) => (await next(), NEVER()) }, 'TIMEOUT'],
  ] as const satisfies readonly (readonly [Hooks, string])[]) {
    const toolset = await toolsetOver({}, { hooks, limits: { callTimeout: 20 } })
    expect(await toolset.call('ls', {}), JSON.stringify(Object.keys(hooks))).toMatchObject({ isError: true, code })
  }
})

test('a hook that never answers holds up neither an abort nor the end of the toolset', async () => {
  for (const phase of ['pre', 'post'] as const) {
    for (const end of ['abort', 'close'] as const) {
      let reached = (): void => {}
      const there = new Promise<void>((resolve) => (reached = resolve))
      const controller = new AbortController()
      const hang = async (): Promise<never> => {
        reached()
        return NEVER()
      }
      const toolset = await toolsetOver({}, { hooks: { [phase]: hang } })
      const running = rejection(toolset.call('ls', {}, { signal: controller.signal }))
      await there
      if (end === 'abort') controller.abort()
      else await toolset.close()
      expect(await running, `${phase} ${end}`).toMatchObject({ code: end === 'abort' ? 'ABORTED' : 'CLOSED' })
    }
  }
}, 60_000)

/** A promise that resolves when `reach` is called. */
function event(): { readonly there: Promise<void>; readonly reach: () => void } {
  let reach = (): void => {}
  const there = new Promise<void>((resolve) => (reach = resolve))
  return { there, reach }
}

test('an around hook that never answers holds up neither an abort nor the end of the toolset (D71)', async () => {
  for (const end of ['abort', 'close'] as const) {
    const { there, reach } = event()
    const controller = new AbortController()
    let goOn = (): void => {}
    const waiting = new Promise<void>((resolve) => (goOn = resolve))
    let late: Promise<unknown> = Promise.resolve()
    const around: AroundHook = async (_call, next) => {
      reach()
      late = (async () => {
        await waiting
        return rejection(next())
      })()
      return NEVER()
    }
    const toolset = await toolsetOver({}, { hooks: { around } })
    const running = rejection(toolset.call('ls', {}, { signal: controller.signal }))
    await there
    if (end === 'abort') controller.abort('enough')
    else await toolset.close()
    const code = end === 'abort' ? 'ABORTED' : 'CLOSED'
    expect(await running, end).toMatchObject(end === 'abort' ? { code, cause: 'enough' } : { code })
    // A call that is over runs nothing, whoever still asks for it.
    goOn()
    expect(await late, end).toMatchObject({ code })
  }
})

test('an around hook has a moment after the run to tidy up, and then nobody waits for it', async () => {
  for (const end of ['abort', 'close'] as const) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { there, reach } = event()
    const controller = new AbortController()
    const around: AroundHook = async (_call, next) => {
      await next()
      reach()
      return NEVER()
    }
    const toolset = await toolsetOver({}, { hooks: { around } })
    const running = rejection(toolset.call('ls', {}, { signal: controller.signal }))
    await there
    if (end === 'abort') controller.abort()
    else await toolset.close()
    await vi.advanceTimersByTimeAsync(3_000)
    expect(await running, end).toMatchObject({ code: end === 'abort' ? 'ABORTED' : 'CLOSED' })
    expect(vi.getTimerCount()).toBe(0)
  }
})

test('the time that an around hook waits for the run is not its own, and an answer in time is the answer', async () => {
  const answer = { text: 'mine', isError: false, truncated: false }
  const { there, reach } = event()
  let goOn = (): void => {}
  const asked = new Promise<void>((resolve) => (goOn = resolve))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const around: AroundHook = async (_call, next) => {
    await next()
    return answer
  }
  const approve = async (): Promise<{ approved: true }> => {
    reach()
    await asked
    return { approved: true }
  }
  const options = { hooks: { around }, approve, needApproval: ['ls'], limits: { callTimeout: 60_000 } } as const
  const toolset = await toolsetOver({}, options)
  const running = toolset.call('ls', {})
  await there
  // A person thinks for ten times what a call may take.
  await vi.advanceTimersByTimeAsync(600_000)
  goOn()
  expect(await running).toEqual(answer)
  expect(vi.getTimerCount()).toBe(0)
})

test('an inner around hook that is too late is a result for the outer one, which goes on', async () => {
  const seen: unknown[] = []
  const hooks: Hooks = {
    around: async (_call, next) => {
      const result = await next()
      seen.push(result.code)
      return { text: 'made good', isError: false, truncated: false }
    },
    tools: { ls: { around: NEVER } },
  }
  const toolset = await toolsetOver({}, { hooks, limits: { callTimeout: 20 } })
  expect(await toolset.call('ls', {})).toMatchObject({ isError: false, text: 'made good' })
  expect(seen).toEqual(['TIMEOUT'])
})

test('a tool that never says whether it is there ends as a call does (D71)', async () => {
  const toolOf = (available: () => Promise<boolean>, timeoutMs?: number) =>
    defineTool({
      name: 'own',
      description: 'x',
      inputSchema: {},
      readOnly: true,
      available,
      run: () => 'ran',
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    })
  for (const [tool, limits] of [
    [toolOf(NEVER), { callTimeout: 20 }],
    [toolOf(NEVER, 20), {}],
  ] as const) {
    const toolset = await toolsetOver({}, { tools: [tool], limits })
    expect(await toolset.call('own', {})).toMatchObject({ isError: true, code: 'TIMEOUT' })
  }
  for (const end of ['abort', 'close'] as const) {
    const { there, reach } = event()
    const controller = new AbortController()
    const available = async (): Promise<boolean> => {
      reach()
      return NEVER()
    }
    const toolset = await toolsetOver({}, { tools: [toolOf(available)] })
    const running = rejection(toolset.call('own', {}, { signal: controller.signal }))
    await there
    if (end === 'abort') controller.abort()
    else await toolset.close()
    expect(await running, end).toMatchObject({ code: end === 'abort' ? 'ABORTED' : 'CLOSED' })
  }
})
