import { chmod, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { type AuditEvent, createToolset, defineTool } from 'gloveport'
import { expect, test } from 'vitest'

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
  await toolset.call('read_file', { path: 'a.txt' }, { callId: 'read' })
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
  expect(of('read')).toEqual([
    expect.objectContaining({ type: 'call-started', tool: 'read_file', input: { path: 'a.txt' } }),
    expect.objectContaining({
      type: 'call-ended',
      verdict: { action: 'allow', reason: '' },
      isError: false,
      textBytes: expect.any(Number),
      truncated: false,
      durationMs: expect.any(Number),
      time: expect.any(Number),
      toolsetId: toolset.id,
    }),
  ])
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
