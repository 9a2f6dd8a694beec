// Tools, their text and their rules as one object (BE-109).

import { ApprovalRequiredError, ConsoleCapability, type ConsoleCapabilityOptions, InvalidInputError } from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { localBackend, rejection } from './support.js'

async function capabilityOver(options: Omit<ConsoleCapabilityOptions, 'backend'> = {}) {
  const capability = new ConsoleCapability({
    backend: await localBackend({ 'a.txt': 'one\n', '.env': 'K=1\n' }),
    ...options,
  })
  onTestFinished(() => capability.close())
  return capability
}

test('what the rules deny is not among the tools, and the text tells of no more', async () => {
  const capability = await capabilityOver({ permissions: 'readonly' })
  expect(capability.tools.map(({ name }) => name)).toEqual(['ls', 'read_file', 'glob', 'grep'])
  expect(capability.instructions).toContain('read_file')
  expect(capability.instructions).not.toContain('write_file')
})

test('each call is checked by its path or command, before it runs and when it does', async () => {
  const capability = await capabilityOver({ permissions: 'default' })
  expect(await capability.check('read_file', { path: 'a.txt' })).toMatchObject({ status: 'allowed' })
  expect(await capability.check('read_file', { path: '.env' })).toMatchObject({
    status: 'blocked',
    code: 'PERMISSION_DENIED',
  })
  expect(await capability.check('execute', { command: 'sudo ls' })).toMatchObject({ status: 'blocked' })
  expect(await capability.check('execute', { command: 'ls' })).toMatchObject({ status: 'needs-approval' })
  expect((await capability.call('read_file', { path: '.env' })).code).toBe('PERMISSION_DENIED')
})

test('somebody is asked about each path and command; nobody there is an error, or a no', async () => {
  const asked: unknown[][] = []
  const capability = await capabilityOver({
    permissions: 'default',
    tools: ['console', 'files'],
    ask: (...question) => {
      asked.push(question)
      return !question[1].endsWith('c.txt')
    },
  })
  expect((await capability.call('write_file', { path: 'b.txt', content: '' })).isError).toBe(false)
  expect((await capability.call('move_file', { source: 'b.txt', destination: 'c.txt' })).code).toBe('APPROVAL_DENIED')
  expect(asked.map(([operation]) => operation)).toEqual(['write', 'delete', 'read', 'write'])
  const nobody = await capabilityOver({ permissions: 'default' })
  expect(await rejection(nobody.call('execute', { command: 'ls' }))).toBeInstanceOf(ApprovalRequiredError)
  const strict = await capabilityOver({ permissions: 'default', withoutAsk: 'deny' })
  expect((await strict.call('execute', { command: 'ls' })).code).toBe('APPROVAL_DENIED')
  const loose = await capabilityOver({ permissions: 'default', ask: () => 'yes' as never })
  expect((await loose.call('execute', { command: 'ls' })).code).toBe('APPROVAL_DENIED')
})

test('every tool of the console has the operation whose rules judge it', async () => {
  const capability = await capabilityOver({ requireExecuteApproval: false })
  const operations = capability.tools.map(({ name }) => [name, capability.operationOf(name)])
  expect(operations).toEqual([
    ['ls', 'ls'],
    ['read_file', 'read'],
    ['write_file', 'write'],
    ['edit_file', 'edit'],
    ['glob', 'glob'],
    ['grep', 'grep'],
    ['execute', 'execute'],
  ])
  expect(capability.operationOf('hashline_edit')).toBe('edit')
  expect(capability.operationOf('toString')).toBeUndefined()
  for (const name of ['run_in_background', 'read_output', 'kill_shell', 'list_shells'])
    expect(capability.operationOf(name)).toBe('execute')
})

test.each<[string, unknown]>([
  ['an approver of toolsets', { approve: () => ({ approved: true }) }],
  ['a mode of approval', { approvalMode: 'approve-all' }],
  ['an `ask` that is no function', { ask: 1 }],
  ['an unknown `withoutAsk`', { withoutAsk: 'allow' }],
])('refuses %s', async (_name, options) => {
  const backend = await localBackend()
  expect(() => new ConsoleCapability({ backend, ...(options as object) })).toThrow(InvalidInputError)
})
