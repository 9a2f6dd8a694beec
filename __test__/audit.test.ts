import { chmod, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

import {
  type AuditEvent,
  CompositeBackend,
  createToolset,
  defineTool,
  GuardedBackend,
  LocalBackend,
  StateBackend,
} from 'gloveport'
import { expect, onTestFinished, test, vi } from 'vitest'

import { localBackend, project, rejection } from './support.js'

const SECRET = 'Zx81hunter2Qq'

test('the audit log holds every call with verdict, approval, size, time and code, for its owner only', async () => {
  const path = join(await project(), 'audit.jsonl')
  const toolset = createToolset({
    backend: await localBackend({ 'a.txt': 'a\n', '.env': 'x' }),
    permissions: 'default',
    approve: ({ tool }) =>
      tool === 'execute' ? { approved: false, reason: 'no' } : { approved: true, remember: 'session' },
    auditLog: path,
  })
  const clock = vi.spyOn(Date, 'now').mockReturnValueOnce(1_700_000_000_001).mockReturnValueOnce(1_700_000_000_009)
  const timer = vi.spyOn(performance, 'now').mockReturnValueOnce(100).mockReturnValueOnce(107.5)
  const { text } = await toolset.call('read_file', { path: 'a.txt' }, { callId: 'read' })
  clock.mockRestore()
  timer.mockRestore()
  await toolset.call('write_file', { path: 'b.txt', content: 'b' }, { callId: 'write' })
  await toolset.call('read_file', { path: '.env' }, { callId: 'denied' })
  await toolset.call('execute', { command: 'touch c' }, { callId: 'refused' })
  await rejection(
    toolset.call('ls', {}, { callId: 'aborted', signal: AbortSignal.abort() }).then(() => Promise.reject(1)),
  )
  await toolset.close()
  await rejection(toolset.call('ls', {}, { callId: 'closed' }))
  await toolset.close()
  const records = (await readFile(path, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as AuditEvent)
  const of = (id: string): unknown[] => records.filter(({ callId }) => callId === id)
  const ofRead = { tool: 'read_file', callId: 'read', toolsetId: toolset.id }
  expect(of('read')).toEqual([
    { type: 'call-started', ...ofRead, time: 1_700_000_000_001, input: { path: 'a.txt' } },
    {
      type: 'call-ended',
      ...ofRead,
      time: 1_700_000_000_009,
      verdict: { action: 'allow', reason: '' },
      isError: false,
      textBytes: Buffer.byteLength(text),
      truncated: false,
      durationMs: 7.5,
    },
  ])
  expect(Buffer.byteLength(text)).toBeGreaterThan(1)
  expect(of('write')).toMatchObject([
    { type: 'call-started' },
    { type: 'approval-requested', request: { tool: 'write_file' } },
    { type: 'approval-decided', approved: true, remember: 'session' },
    { type: 'call-ended', verdict: { action: 'ask' }, isError: false },
  ])
  expect(of('denied')).toMatchObject([{}, { verdict: { action: 'deny' }, code: 'PERMISSION_DENIED', isError: true }])
  expect(of('refused')).toMatchObject([
    {},
    {},
    { type: 'approval-decided', approved: false, reason: 'no' },
    { verdict: { action: 'ask' }, code: 'APPROVAL_DENIED' },
  ])
  expect(of('closed')).toMatchObject([{}, { type: 'call-failed', error: { name: 'ClosedError', code: 'CLOSED' } }])
  expect((await stat(path)).mode & 0o777).toBe(0o600)
})

test('the audit log says whose yes let a call run that somebody must be asked about', async () => {
  const backend = await localBackend({ 'a.txt': 'a\n' })
  const events: AuditEvent[] = []
  const write = { path: 'a.txt', content: 'b' }
  const yes = { approved: true } as const
  const ends = async (options: object, call: object = {}, times = 1): Promise<unknown> => {
    events.length = 0
    const toolset = createToolset({
      backend,
      requireWriteApproval: true,
      onEvent: (event) => events.push(event),
      ...options,
    })
    for (let time = 0; time < times; time += 1) await toolset.call('write_file', write, call).catch(() => {})
    await toolset.close()
    const last = events.at(-1)
    return last?.type === 'call-ended' || last?.type === 'call-failed' ? last.verdict?.approvedBy : last
  }
  expect(await ends({ approve: () => yes })).toBe('approver')
  expect(await ends({ approve: () => ({ ...yes, remember: 'session' }) }, {}, 2)).toBe('session')
  expect(await ends({}, { callId: '1', approval: yes })).toBe('grant')
  expect(await ends({ preApproved: ['write_file'] })).toBe('pre-approved')
  expect(await ends({ approvalMode: 'approve-all' })).toBe('approve-all')
  expect(await ends({ approve: () => ({ approved: false }) })).toBeUndefined()
  expect(await ends({ approvalMode: 'strict' })).toBeUndefined()
  expect(await ends({})).toBeUndefined()
  expect(await ends({ requireWriteApproval: false })).toBeUndefined()
  await backend.close()
})

test('the trail tells what ran, where hooks or whoever was asked made it something else', async () => {
  const events: AuditEvent[] = []
  let change: unknown
  const toolset = createToolset({
    backend: await localBackend({ 'a.txt': 'a\n' }),
    approve: () => (change === undefined ? { approved: true } : { approved: true, input: change }),
    onEvent: (event) => events.push(event),
    hooks: {
      pre: ({ tool, input }) => (tool === 'ls' ? { ...(input as object), depth: 2 } : undefined),
      tools: { glob: { around: async (_call, next) => next({ input: { pattern: '*.txt' } }) } },
    },
  })
  const told = async (tool: string, input: object): Promise<unknown[]> => {
    events.length = 0
    await toolset.call(tool, input)
    return events.map((event) => ['input' in event ? event.input : undefined, event.type])
  }
  const asked = { command: 'echo asked' }
  expect(await told('execute', asked)).toEqual([
    [asked, 'call-started'],
    [undefined, 'approval-requested'],
    [undefined, 'approval-decided'],
    [undefined, 'call-ended'],
  ])
  change = { command: 'echo changed' }
  expect(await told('execute', asked)).toEqual([
    [asked, 'call-started'],
    [undefined, 'approval-requested'],
    [change, 'approval-decided'],
    [change, 'call-ended'],
  ])
  expect(events.at(-1)).toMatchObject({ verdict: { action: 'ask', approvedBy: 'approver' } })
  expect(await told('ls', {})).toEqual([
    [{}, 'call-started'],
    [{ depth: 2 }, 'call-ended'],
  ])
  expect(await told('glob', { pattern: '*' })).toEqual([
    [{ pattern: '*' }, 'call-started'],
    [{ pattern: '*.txt' }, 'call-ended'],
  ])
  expect(await told('read_file', { path: 'a.txt' })).toEqual([
    [{ path: 'a.txt' }, 'call-started'],
    [undefined, 'call-ended'],
  ])
  await toolset.close()
})

test('secrets appear neither in events nor in the log', async () => {
  const path = join(await project(), 'audit.jsonl')
  const events: AuditEvent[] = []
  const leaky = defineTool<{ password: string }>({
    name: 'login',
    description: 'Logs in.',
    inputSchema: { properties: { password: { type: 'string' } } },
    needsApproval: true,
    describe: ({ password }) => `Logs in with ${password}`,
    run: () => 'in',
  })
  const toolset = createToolset({
    backend: await localBackend(),
    tools: ['console', leaky],
    approve: () => ({ approved: true, reason: `the password is ${SECRET}, token=${SECRET}` }),
    hooks: {
      tools: {
        ls: {
          pre: () => {
            throw new Error(`Authorization: Bearer ${SECRET}`)
          },
        },
      },
    },
    onEvent: (event) => events.push(event),
    auditLog: path,
  })
  await toolset.call('login', { password: SECRET })
  await toolset.call('execute', {
    command: `API_KEY=${SECRET} true; curl -H "Authorization: Bearer ${SECRET}" || true`,
  })
  await toolset.call('write_file', {
    path: '.npmrc',
    content: `//registry/:_authToken=${SECRET}\nx=${'y'.repeat(100_000)}`,
  })
  await rejection(toolset.call('ls', {}))
  await toolset.close()
  const log = await readFile(path, 'utf8')
  expect(log).not.toContain(SECRET)
  expect(JSON.stringify(events)).not.toContain(SECRET)
  expect(log.match(/\[masked\]/g)!.length).toBeGreaterThan(5)
  const written = events.find((event) => event.type === 'call-started' && event.tool === 'write_file')
  expect(JSON.stringify(written).length).toBeLessThan(70_000)
  expect(events.map(({ type }) => type)).toContain('call-failed')
})

/** A value nested this deep. */
const nested = (levels: number): unknown => Array.from({ length: levels }).reduce((inner) => [inner], 1 as unknown)

test('whatever an input is, there is a record of its call: a listener got null, and the log nothing', async () => {
  const path = join(await project(), 'audit.jsonl')
  const events: AuditEvent[] = []
  const any = defineTool({
    name: 'any',
    description: 'D.',
    inputSchema: { properties: {}, additionalProperties: true },
    run: () => '',
  })
  const toolset = createToolset({
    backend: await localBackend(),
    tools: ['console', any],
    needApproval: ['any'],
    approve: () => ({ approved: true }),
    onEvent: (event) => events.push(event),
    auditLog: path,
  })
  const cyclic: Record<string, unknown> = {}
  cyclic['self'] = cyclic
  const throwing = Object.defineProperty({}, 'x', {
    enumerable: true,
    get() {
      throw new Error('mine')
    },
  })
  const bomb = Array.from({ length: 60 }).reduce((inner) => [inner, inner], 1 as unknown)
  const hostile = [
    { a: nested(115) },
    { a: nested(118) },
    { a: nested(200) },
    { a: nested(50_000) },
    { a: cyclic },
    { a: bomb },
    { a: 1n },
    throwing,
    'a\n{"type":"call-ended"}\n',
    { 'a\u2028\u0000\n': '\uD800' },
    {
      toJSON: () => {
        throw new Error('mine')
      },
    },
  ]
  for (const [index, input] of hostile.entries()) await toolset.call('any', input, { callId: `c${index}` })
  await toolset.close()
  const records = (await readFile(path, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as AuditEvent)
  for (const told of [events, records]) {
    for (const index of hostile.keys()) {
      const types = told.filter(({ callId }) => callId === `c${index}`).map(({ type }) => type)
      expect([types[0], types.at(-1)], `${index}`).toEqual(['call-started', 'call-ended'])
    }
    // A call that ran was asked about, and the record of the question is there too.
    expect(told.filter((event) => event.type === 'approval-requested').length).toBe(
      told.filter((event) => event.type === 'call-ended' && !event.isError).length,
    )
  }
  expect(records).toEqual(JSON.parse(JSON.stringify(events.map((event) => event))))
})

test('what a model makes long is bounded as a whole, and takes no room from what happened', async () => {
  const path = join(await project(), 'audit.jsonl')
  const events: string[] = []
  const toolset = createToolset({
    backend: await localBackend(),
    permissions: 'readonly',
    onEvent: (event) => events.push(JSON.stringify(event)),
    auditLog: path,
  })
  const texts = Array.from({ length: 200 }, (_, index) => `${index} ${'x'.repeat(60_000)}`)
  const inputs = [
    { path: '.env', texts },
    { path: '.env', [`n${'x'.repeat(2_000_000)}`]: 1 },
    { path: '.env', names: Object.fromEntries(texts.map((text) => [text, 1])) },
    { path: '.env', numbers: Array.from({ length: 500_000 }, (_, index) => index) },
    { path: '.env', items: Array.from({ length: 500_000 }, () => ({})) },
  ]
  for (const input of inputs) await toolset.call('read_file', input)
  await toolset.close()
  const records = (await readFile(path, 'utf8')).trimEnd().split('\n')
  expect([events.length, records.length]).toEqual([2 * inputs.length, 2 * inputs.length])
  for (const told of [events, records]) {
    for (const [index, json] of told.entries()) {
      expect(json.length, json.slice(0, 200)).toBeLessThan(1_000_000)
      if (index % 2 === 0) expect(json).toContain('… (the rest is left out)')
      else expect(JSON.parse(json)).toMatchObject({ type: 'call-ended', code: 'INVALID_INPUT', isError: true })
    }
  }
})

test('masking hides no command (R-CMD-1)', async () => {
  const events: AuditEvent[] = []
  const toolset = createToolset({
    backend: await localBackend(),
    requireExecuteApproval: true,
    approve: () => ({ approved: false }),
    onEvent: (event) => events.push(event),
  })
  for (const [command, shown] of [
    ['PASSWORD="$(rm -rf x)" ls', 'PASSWORD="$(rm -rf x)" ls'],
    ['cookie=1; rm -rf x', 'cookie=[masked]; rm -rf x'],
    [`API_KEY=${SECRET}; rm -rf x`, 'API_KEY=[masked]; rm -rf x'],
    ['PASSWORD=\nrm -rf x', 'PASSWORD=\nrm -rf x'],
  ]) {
    events.length = 0
    await toolset.call('execute', { command })
    expect(events).toMatchObject([
      { type: 'call-started', input: { command: shown } },
      { type: 'approval-requested', request: { input: { command: shown }, touches: [{ target: shown }] } },
      { type: 'approval-decided' },
      { type: 'call-ended' },
    ])
  }
  await toolset.close()
})

/** `write_file` over it forged the log, and ended it. */
test('a log that the agent could write is refused', async () => {
  const root = await project()
  const backend = new LocalBackend({ root })
  onTestFinished(() => backend.close())
  const guarded = new GuardedBackend(backend, { permissions: 'permissive' })
  const memory = new StateBackend()
  const routes = new CompositeBackend({ default: memory, routes: { '/work/': backend } })
  for (const over of [backend, guarded, routes])
    expect(() => createToolset({ backend: over, auditLog: join(root, 'audit.jsonl') })).toThrow(
      /auditLog.*agent may write/,
    )
  await createToolset({ backend: memory, auditLog: join(root, 'audit.jsonl') }).close()
})

test('a log that cannot be opened is an error at once, one that cannot be written reaches onError', async () => {
  const backend = await localBackend()
  expect(() => createToolset({ backend, auditLog: '/nowhere/x.jsonl' })).toThrow(/auditLog/)
  expect(() => createToolset({ backend, auditLog: 1 as never })).toThrow(/auditLog/)
  const folder = await project({ 'old.jsonl': '' })
  await chmod(join(folder, 'old.jsonl'), 0o644)
  const old = createToolset({ backend, auditLog: join(folder, 'old.jsonl') })
  await old.close()
  expect((await stat(join(folder, 'old.jsonl'))).mode & 0o777).toBe(0o600)
  if (process.platform !== 'linux') return
  let tell: (error: unknown) => void = () => {}
  const told = new Promise<unknown>((resolve) => (tell = resolve))
  const toolset = createToolset({ backend, auditLog: '/dev/full', onError: tell })
  expect((await toolset.call('ls', {})).isError).toBe(false)
  expect(await told).toMatchObject({ code: 'IO', message: expect.stringMatching(/audit log/) })
  await toolset.close()
})
