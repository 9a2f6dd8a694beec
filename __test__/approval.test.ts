import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import {
  type Action,
  type ApprovalRequest,
  ApprovalRequiredError,
  type Approver,
  type ApprovalDecision,
  createToolset,
  lineHash,
  LocalBackend,
} from 'gloveport'
import { expect, test } from 'vitest'

import { project, rejection, toolsetOver } from './support.js'

const WRITE = { path: 'a.txt', content: 'new\n' }

test('a call that needs an approval rejects with the request when nobody can be asked', async () => {
  const toolset = await toolsetOver({ 'a.txt': 'old\n' }, { permissions: 'default' })
  const error = await rejection(toolset.call('write_file', WRITE, { callId: 'c1' }))
  expect(error).toBeInstanceOf(ApprovalRequiredError)
  expect((error as ApprovalRequiredError).details).toMatchObject({ callId: 'c1', tool: 'write_file', input: WRITE })
})

test('an approver sees the diff and decides', async () => {
  const requests: ApprovalRequest[] = []
  let decision: ApprovalDecision = { approved: false, reason: 'not today' }
  const toolset = await toolsetOver(
    { 'a.txt': 'old\n' },
    {
      permissions: 'default',
      approve: (request, { context }) => {
        expect(context).toBe('mine')
        requests.push(request)
        return decision
      },
    },
  )
  const call = () => toolset.call('write_file', WRITE, { context: 'mine' })
  const denied = await call()
  expect(denied).toMatchObject({ isError: true, code: 'APPROVAL_DENIED' })
  expect(denied.text).toContain('not today')
  expect(requests[0]?.diff).toContain('-old\n+new\n')
  expect(requests[0]?.description).toContain('a.txt')

  decision = { approved: true, remember: 'session' }
  expect((await call()).isError).toBe(false)
  expect((await call()).isError).toBe(false)
  expect(requests.length).toBe(2)
})

test('an approver of an edit by tagged lines, or of several at once, sees the diff of the whole', async () => {
  const requests: ApprovalRequest[] = []
  const approve: Approver = (request) => {
    requests.push(request)
    return { approved: true }
  }
  const files = { 'a.txt': 'one\ntwo\nthree\n' }
  const byLine = await toolsetOver(files, { permissions: 'default', editFormat: 'hashline', approve })
  const tagged = { path: 'a.txt', start_line: 2, start_hash: lineHash('two'), new_content: 'TWO' }
  expect((await byLine.call('hashline_edit', tagged)).isError).toBe(false)
  const byText = await toolsetOver(files, { permissions: 'default', approve })
  const edits = [
    { old_string: 'one', new_string: 'ONE' },
    { old_string: 'three', new_string: 'THREE' },
  ]
  expect((await byText.call('edit_file', { path: 'a.txt', edits })).isError).toBe(false)
  const changed = (diff: string | undefined) => diff?.split('\n').filter((line) => /^[+-](?![+-])/.test(line))
  expect(requests.map(({ tool, diff }) => [tool, changed(diff)])).toEqual([
    ['hashline_edit', ['-two', '+TWO']],
    ['edit_file', ['-one', '+ONE', '-three', '+THREE']],
  ])
})

test('where edits are denied no tool that edits is left, whatever its format (BE-103)', async () => {
  for (const editFormat of ['str_replace', 'hashline'] as const) {
    const named = async (action: Action) =>
      (await toolsetOver({}, { permissions: { default: 'allow', edit: { default: action } }, editFormat })).tools
        .map(({ name }) => name)
        .filter((name) => name.includes('edit'))
    expect(await named('deny'), editFormat).toEqual([])
    expect(await named('ask'), editFormat).toEqual([editFormat === 'hashline' ? 'hashline_edit' : 'edit_file'])
  }
})

const MINE = new Error('mine')

test.each<[string, Approver, unknown]>([
  [
    'throws',
    () => {
      throw MINE
    },
    MINE,
  ],
  ['rejects', () => Promise.reject(MINE), MINE],
  ['answers true', () => true as never, { code: 'INVALID_INPUT' }],
  ['answers nothing', () => undefined as never, { code: 'INVALID_INPUT' }],
  ['answers yes as a word', () => ({ approved: 'yes' }) as never, { code: 'INVALID_INPUT' }],
  ['answers more than there is', () => ({ approved: true, extra: 1 }) as never, { code: 'INVALID_INPUT' }],
])('an approver that %s is a no, and its error goes to onError', async (_name, approve, error) => {
  const errors: unknown[] = []
  const toolset = await toolsetOver(
    {},
    { permissions: 'default', approve, onError: (reported) => errors.push(reported) },
  )
  expect(await toolset.call('write_file', WRITE)).toMatchObject({ isError: true, code: 'APPROVAL_DENIED' })
  expect(errors).toEqual([error === MINE ? MINE : expect.objectContaining(error as object)])
})

test('an approver can replace the input', async () => {
  const toolset = await toolsetOver(
    {},
    { permissions: 'default', approve: () => ({ approved: true, input: { path: 'b.txt', content: 'b' } }) },
  )
  expect((await toolset.call('write_file', WRITE)).text).toContain('b.txt')
  expect((await toolset.call('read_file', { path: 'a.txt' })).code).toBe('FILE_NOT_FOUND')
})

test('a file that changed after it was shown is not written', async () => {
  const root = await project({ 'a.txt': 'old\n' })
  await using backend = new LocalBackend({ root })
  await using toolset = createToolset({
    backend,
    permissions: 'default',
    approve: async () => {
      await writeFile(join(root, 'a.txt'), 'changed meanwhile\n')
      return { approved: true }
    },
  })
  expect(await toolset.call('write_file', WRITE)).toMatchObject({ isError: true, code: 'STALE_FILE' })
  expect((await backend.read('a.txt')).content).toBe('changed meanwhile\n')
})

test('assess tells without asking anybody', async () => {
  const toolset = await toolsetOver(
    { 'a.txt': 'old\n', '.env': 'KEY=1' },
    {
      permissions: 'default',
      approve: () => {
        throw new Error('nobody is asked')
      },
      hooks: {
        pre: () => {
          throw new Error('no hook runs')
        },
      },
    },
  )
  expect(await toolset.assess('read_file', { path: 'a.txt' })).toMatchObject({ status: 'allowed' })
  expect(await toolset.assess('write_file', WRITE)).toMatchObject({
    status: 'needs-approval',
    reason: expect.any(String),
    request: { tool: 'write_file', input: WRITE, diff: expect.stringContaining('+new') },
  })
  expect(await toolset.assess('read_file', { path: '.env' })).toMatchObject({
    status: 'blocked',
    code: 'PERMISSION_DENIED',
  })
  expect(await toolset.assess('read_file', { path: 1 })).toMatchObject({ status: 'blocked', code: 'INVALID_INPUT' })
  expect(await toolset.assess('nope', {})).toMatchObject({ status: 'blocked', code: 'UNKNOWN_TOOL' })
})

test('a grant runs the call without a question and is held to what was assessed', async () => {
  const root = await project({ 'a.txt': 'old\n' })
  await using backend = new LocalBackend({ root })
  await using toolset = createToolset({ backend, permissions: 'default' })
  const approval = { approved: true }

  await toolset.assess('write_file', WRITE, { callId: 'c1' })
  await writeFile(join(root, 'a.txt'), 'changed meanwhile\n')
  expect(await toolset.call('write_file', WRITE, { callId: 'c1', approval })).toMatchObject({ code: 'STALE_FILE' })

  await toolset.assess('write_file', WRITE, { callId: 'c2' })
  const other = { ...WRITE, content: 'other\n' }
  expect(await toolset.call('write_file', other, { callId: 'c2', approval })).toMatchObject({ isError: true })

  await toolset.assess('write_file', WRITE, { callId: 'c3' })
  expect(await toolset.call('write_file', WRITE, { callId: 'c3', approval })).toMatchObject({ isError: false })
  expect((await backend.read('a.txt')).content).toBe('new\n')

  expect(await toolset.call('write_file', WRITE, { approval: { approved: false, reason: 'no' } })).toMatchObject({
    code: 'APPROVAL_DENIED',
  })
})

test('an application chooses whether it is asked one by one or about all together', async () => {
  const tools = ['a.txt', 'b.txt', 'c.txt']
  for (const [approvalOrder, most] of [
    [undefined, 1],
    ['one-by-one', 1],
    ['together', tools.length],
  ] as const) {
    let open = 0
    let seen = 0
    let begun = 0
    let allAreHere = (): void => {}
    const all = new Promise<void>((resolve) => (allAreHere = resolve))
    const toolset = await toolsetOver(
      { 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' },
      {
        needApproval: ['read_file'],
        approvalOrder,
        hooks: {
          pre: () => {
            begun += 1
            if (begun === tools.length) allAreHere()
          },
        },
        approve: async () => {
          open += 1
          seen = Math.max(seen, open)
          await all
          // Where all are asked together, each waits for the others.
          if (most > 1 && open === most) everybody()
          if (most > 1) await together
          open -= 1
          return { approved: true }
        },
      },
    )
    let everybody = (): void => {}
    const together = new Promise<void>((resolve) => (everybody = resolve))
    const results = await Promise.all(tools.map((path) => toolset.call('read_file', { path })))
    expect(results.map(({ isError }) => isError)).toEqual([false, false, false])
    expect(seen, approvalOrder).toBe(most)
  }
})
