// Approvals under attack: what was approved runs, once, where and as it was shown, and nothing else does.

import { mkdir, readFile, rename, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import {
  type ApprovalDecision,
  type ApprovalRequest,
  type ApprovalRequiredError,
  createToolset,
  LocalBackend,
  type PendingCall,
  type ToolsetOptions,
} from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { localBackend, project, rejection, toolsetOver } from './support.js'

const YES: ApprovalDecision = { approved: true }
const ALWAYS: ApprovalDecision = { approved: true, remember: 'session' }

/** A toolset over a folder of which the test knows the place. */
async function placed(files: Readonly<Record<string, string>>, options: Omit<ToolsetOptions, 'backend'>) {
  const root = await project(files)
  const backend = new LocalBackend({ root })
  const toolset = createToolset({ backend, ...options })
  onTestFinished(async () => {
    await toolset.close()
    await backend.close()
  })
  return { toolset, at: (path: string) => join(root, path) }
}

test('calls that wait for one answer are each asked about, and each is shown what the one before left', async () => {
  const shown: string[] = []
  let open = 0
  const toolset = await toolsetOver(
    { 'a.txt': '0\n' },
    {
      requireWriteApproval: true,
      approve: async ({ diff }) => {
        open += 1
        expect(open).toBe(1)
        shown.push(diff ?? '')
        await new Promise((resolve) => setImmediate(resolve))
        open -= 1
        return YES
      },
    },
  )
  const results = await Promise.all(
    [1, 2, 3, 4].map((number) => toolset.call('write_file', { path: 'a.txt', content: `${number}\n` })),
  )
  // Who was shown a content that another call then replaced is refused: nobody approved that.
  const written = results.filter(({ isError }) => !isError).length
  expect(results.filter(({ code }) => code === 'STALE_FILE').length).toBe(4 - written)
  expect(written).toBeGreaterThan(0)
  expect(shown.length).toBe(4)
})

test('what one answer allowed for the session is not asked about again by those that waited for it', async () => {
  let asked = 0
  const toolset = await toolsetOver(
    {},
    {
      needApproval: ['ls'],
      approve: () => {
        asked += 1
        return ALWAYS
      },
    },
  )
  const results = await Promise.all([1, 2, 3, 4, 5].map(() => toolset.call('ls', {})))
  expect([asked, results.every(({ isError }) => !isError)]).toEqual([1, true])
  await toolset.call('ls', { path: '.' })
  expect(asked).toBe(2)
})

test('a session approval does not hold where the path leads elsewhere since', async () => {
  const requests: ApprovalRequest[] = []
  const { toolset, at } = await placed(
    { 'a/x.txt': 'a\n', 'b/x.txt': 'b\n' },
    {
      permissions: { default: 'allow', write: { default: 'ask' } },
      approve: (request) => {
        requests.push(request)
        return ALWAYS
      },
    },
  )
  await symlink('a', at('here'))
  const call = () => toolset.call('write_file', { path: 'here/x.txt', content: 'new\n' })
  expect(await call()).toMatchObject({ isError: false })
  expect(await call()).toMatchObject({ isError: false })
  expect(requests.length).toBe(1)
  await unlink(at('here'))
  await symlink('b', at('here'))
  await call()
  expect(requests.map(({ touches }) => touches[0]?.resolved)).toEqual([at('a/x.txt'), at('b/x.txt')])
})

test.each<[string, (at: (path: string) => string) => Promise<void>]>([
  [
    'the link leads elsewhere',
    async (at) => {
      await unlink(at('here'))
      await symlink('b', at('here'))
    },
  ],
  [
    'a folder became a link',
    async (at) => {
      await unlink(at('here'))
      await rename(at('b'), at('here'))
    },
  ],
  [
    'the file became a link',
    async (at) => {
      await unlink(at('a/x.txt'))
      await symlink('../b/x.txt', at('a/x.txt'))
    },
  ],
  [
    'the file is gone',
    async (at) => {
      await unlink(at('a/x.txt'))
    },
  ],
  [
    'there is a folder now',
    async (at) => {
      await unlink(at('a/x.txt'))
      await mkdir(at('a/x.txt'))
    },
  ],
])('between a yes and the write %s: nothing is written', async (_name, change) => {
  for (const [tool, input] of [
    ['write_file', { path: 'here/x.txt', content: 'new\n' }],
    ['edit_file', { path: 'here/x.txt', old_string: 'same', new_string: 'new' }],
  ] as const) {
    const made = await placed(
      { 'a/x.txt': 'same\n', 'b/x.txt': 'same\n' },
      {
        permissions: { default: 'allow', write: { default: 'ask' }, edit: { default: 'ask' } },
        approve: async () => {
          await change(made.at)
          return YES
        },
      },
    )
    await symlink('a', made.at('here'))
    const result = await made.toolset.call(tool, input)
    expect(result, tool).toMatchObject({ isError: true })
    for (const path of ['a/x.txt', 'b/x.txt', 'here/x.txt'])
      expect(await readFile(made.at(path), 'utf8').catch(() => 'same\n'), `${tool} ${path}`).toBe('same\n')
  }
})

test('another input of the approver is judged: what is denied stays denied', async () => {
  for (const [tool, input, other, code] of [
    ['write_file', { path: 'a', content: '' }, { path: '.env', content: 'x' }, 'PERMISSION_DENIED'],
    ['write_file', { path: 'a', content: '' }, { path: '/etc/passwd', content: 'x' }, 'PATH_NOT_IN_SANDBOX'],
    ['write_file', { path: 'a', content: '' }, { path: 'a', content: '', mode: 1 }, 'INVALID_INPUT'],
    ['write_file', { path: 'a', content: '' }, null, 'INVALID_INPUT'],
    ['execute', { command: 'true' }, { command: 'sudo ls' }, 'COMMAND_BLOCKED'],
    ['execute', { command: 'true' }, { command: 'cat .env' }, 'COMMAND_BLOCKED'],
  ] as const) {
    const toolset = await toolsetOver(
      { '.env': 'KEY=1\n' },
      { permissions: 'default', approve: () => ({ approved: true, input: other }) },
    )
    expect(await toolset.call(tool, input), JSON.stringify(other)).toMatchObject({ isError: true, code })
  }
})

test('what an approver does to the request it was handed changes nothing', async () => {
  const { toolset, at } = await placed(
    { 'a.txt': 'a\n' },
    {
      requireWriteApproval: true,
      approve: (request) => {
        Object.assign(request, { tool: 'ls', input: { path: 'evil' } })
        return YES
      },
    },
  )
  const input = { path: 'a.txt', content: 'b\n' }
  const running = toolset.call('write_file', input)
  // Nor does what the caller does to the input while the call runs.
  input.path = 'other.txt'
  expect(await running).toMatchObject({ isError: false })
  expect(await readFile(at('a.txt'), 'utf8')).toBe('b\n')
})

test.each<[string, unknown]>([
  ['remembers for ever', { approved: true, remember: 'always' }],
  ['remembers yes', { approved: true, remember: true }],
  ['gives no text as its reason', { approved: true, reason: 1 }],
  ['gives an input that is no data', { approved: true, input: { path: 1n } }],
  ['is a yes by its prototype', Object.create({ approved: true })],
])('a decision that %s is a no, and the application is told', async (_name, decision) => {
  const errors: unknown[] = []
  const toolset = await toolsetOver(
    {},
    {
      needApproval: ['ls'],
      approve: () => decision as ApprovalDecision,
      onError: (error) => errors.push(error),
    },
  )
  expect(await toolset.call('ls', {})).toMatchObject({ isError: true, code: 'APPROVAL_DENIED' })
  expect(errors).toEqual([expect.objectContaining({ code: 'INVALID_INPUT' })])
  expect(toolset.rememberedApprovals).toEqual([])
})

test('whoever waits for an answer goes with an abort and with the end of the toolset, and then nothing runs', async () => {
  let asked = (): void => {}
  const waiting = () => new Promise<void>((resolve) => (asked = resolve))
  const { toolset, at } = await placed(
    {},
    {
      requireWriteApproval: true,
      approve: async () => {
        asked()
        return new Promise<never>(() => {})
      },
    },
  )
  const controller = new AbortController()
  const first = waiting()
  const aborted = toolset.call('write_file', { path: 'a', content: '' }, { signal: controller.signal })
  await first
  // In turn behind the first one.
  const second = waiting()
  const closed = toolset.call('write_file', { path: 'b', content: '' })
  controller.abort()
  await expect(aborted).rejects.toMatchObject({ code: 'ABORTED' })
  await second
  const [ended] = await Promise.allSettled([closed, toolset.close()])
  expect(ended).toMatchObject({ status: 'rejected', reason: { code: 'CLOSED' } })
  await expect(readFile(at('a'))).rejects.toThrow()
  await expect(readFile(at('b'))).rejects.toThrow()
})

test('a grant opens one call: the next one of that name is held to what is there then', async () => {
  const { toolset, at } = await placed({ 'a.txt': 'a\n' }, { permissions: 'default' })
  const input = { path: 'a.txt', content: 'b\n' }
  const options = { callId: 'c', approval: { approved: true } }
  await toolset.assess('write_file', input, { callId: 'c' })
  expect(await toolset.call('write_file', input, options)).toMatchObject({ data: { approvalBoundTo: 'content' } })
  await writeFile(at('a.txt'), 'changed\n')
  // Nothing was shown for it: it says so.
  expect(await toolset.call('write_file', input, options)).toMatchObject({ data: { approvalBoundTo: 'input' } })
  // A grant opens no denial.
  expect(await toolset.call('write_file', { path: '.env', content: '' }, options)).toMatchObject({
    code: 'PERMISSION_DENIED',
  })
})

test('a yes that comes later is held to what the error showed', async () => {
  const backend = await localBackend({ 'a.txt': 'one\n' })
  const toolset = createToolset({ backend, permissions: 'default' })
  const ask = async (callId: string): Promise<PendingCall> => {
    const refused = toolset.call('write_file', { path: 'a.txt', content: 'two\n' }, { callId })
    const error = (await rejection(refused)) as ApprovalRequiredError
    return error.details as PendingCall
  }
  const pending = await ask('1')
  await backend.write('a.txt', 'meanwhile\n')
  const answers = [{ callId: '1', approved: true }]
  expect((await toolset.resume([pending], answers)).get('1')).toMatchObject({ isError: true, code: 'STALE_FILE' })
  expect((await backend.read('a.txt')).content).toBe('meanwhile\n')
  expect((await toolset.resume([await ask('1')], answers)).get('1')).toMatchObject({ isError: false })
  expect((await backend.read('a.txt')).content).toBe('two\n')
  await toolset.close()
})
