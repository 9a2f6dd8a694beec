// What is moved can be read by another name afterwards: a rule for reading a file holds for moving it, too.

import {
  type ApprovalRequest,
  type Backend,
  createToolset,
  GuardedBackend,
  LocalBackend,
  type PermissionRuleset,
  StateBackend,
  type UserBackend,
} from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { project, rejection } from './support.js'

const FILES = {
  'secret.txt': 'TOPSECRET\n',
  'private/key': 'TOPSECRET\n',
  'private/sub/key': 'TOPSECRET\n',
  'a.txt': 'a\n',
}
const withRoot = Object.fromEntries(Object.entries(FILES).map(([path, content]) => [`/${path}`, content]))

const BACKENDS: readonly (readonly [string, () => Promise<Backend | UserBackend>])[] = [
  ['local', async () => new LocalBackend({ root: await project(FILES) })],
  ['memory', async () => new StateBackend({ files: withRoot })],
  [
    'of an application',
    async () => {
      const memory = new StateBackend({ files: withRoot })
      const methods = ['ls', 'stat', 'read', 'readBytes', 'write', 'mkdir', 'remove', 'move'] as const
      return Object.fromEntries(
        methods.map((name) => [name, (...given: never[]) => (memory[name] as Function)(...given)]),
      )
    },
  ],
]

function rules(action: 'deny' | 'ask'): PermissionRuleset {
  const patterns = ['**/secret.txt', '**/private/**']
  return { default: 'allow', read: { rules: patterns.map((pattern) => ({ pattern, action })) } }
}

test.each(BACKENDS)('a move carries nothing out of a rule that denies reading it: %s', async (_name, backend) => {
  const toolset = createToolset({ backend: await backend(), tools: ['files'], permissions: rules('deny') })
  onTestFinished(() => toolset.close())
  const move = async (source: string, destination: string) => toolset.call('move_file', { source, destination })
  expect(await move('secret.txt', 'b.txt')).toMatchObject({ code: 'PERMISSION_DENIED' })
  // What lies below a directory is judged, not its name alone; what leads there may go.
  expect(await move('private', 'q')).toMatchObject({ isError: true })
  expect((await toolset.call('read_file', { path: 'q/key' })).text).not.toContain('TOPSECRET')
  expect(await move('private/sub', 'sub')).toMatchObject({ isError: true })
  expect(await move('a.txt', 'b.txt')).toMatchObject({ isError: false })
  expect((await toolset.call('read_file', { path: 'b.txt' })).text).toContain('a')
  // Where it stays under the rule, and its directory may be moved, nothing gets out.
  expect(await toolset.call('mkdir', { path: 'inner' })).toMatchObject({ isError: false })
  expect(await move('private', 'inner/private')).toMatchObject({ isError: false })
  expect((await toolset.call('read_file', { path: 'inner/private/key' })).code).toBe('PERMISSION_DENIED')
})

test.each(BACKENDS)('where reading asks, moving asks: %s', async (_name, backend) => {
  const requests: ApprovalRequest[] = []
  const toolset = createToolset({
    backend: await backend(),
    tools: ['files'],
    permissions: rules('ask'),
    approve: (request) => {
      requests.push(request)
      return { approved: requests.length > 1 }
    },
  })
  onTestFinished(() => toolset.close())
  const input = { source: 'secret.txt', destination: 'b.txt' }
  expect(await toolset.call('move_file', input)).toMatchObject({ code: 'APPROVAL_DENIED' })
  expect(requests[0]!.touches.map(({ operation }) => operation)).toEqual(['delete', 'read', 'write'])
  expect(await toolset.call('move_file', input)).toMatchObject({ isError: false })
  // Nobody was asked about what lies below.
  expect(await toolset.call('move_file', { source: 'private', destination: 'q' })).toMatchObject({ isError: true })
  expect((await toolset.call('read_file', { path: 'a.txt' })).isError).toBe(false)
  expect(requests).toHaveLength(2)
})

test('a guarded backend holds its own moves to that', async () => {
  const backend = new GuardedBackend(new StateBackend({ files: withRoot }), { permissions: rules('deny') })
  onTestFinished(() => backend.close())
  for (const [from, to] of [
    ['/secret.txt', '/b.txt'],
    ['/private', '/q'],
    ['/private/sub', '/sub'],
  ] as const) {
    expect(await rejection(backend.move(from, to)), from).toMatchObject({ code: 'PERMISSION_DENIED' })
  }
  await backend.move('/a.txt', '/b.txt')
})
