// A backend behind rules (BE-80): whoever calls it, with a toolset or without.

import { symlink } from 'node:fs/promises'
import { join } from 'node:path'

import {
  ApprovalDeniedError,
  ApprovalRequiredError,
  type ApprovalRequest,
  CommandBlockedError,
  createToolset,
  GuardedBackend,
  InvalidInputError,
  PathNotWritableError,
  PermissionDeniedError,
  StateBackend,
  UnsupportedError,
  type UserBackend,
} from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { localBackend, rejection } from './support.js'

const FILES = { 'a.txt': 'one\n', '.env': 'KEY=one\n', 'private/b.txt': 'one\n' }
const RULES = {
  default: 'allow',
  read: {
    default: 'allow',
    rules: [
      { pattern: '**/private/**', action: 'deny' },
      { pattern: '**/.env', action: 'deny' },
    ],
  },
  ls: { default: 'allow', rules: [{ pattern: '**/private', action: 'deny' }] },
  glob: { default: 'allow', rules: [{ pattern: '**/private/**', action: 'deny' }] },
} as const

test('each way to content is judged, and what is denied shows in no listing (BE-78, BE-80)', async () => {
  const local = await localBackend(FILES)
  await symlink('.env', join(local.workingDirectory, 'link.txt'))
  const backend = new GuardedBackend(local, { permissions: RULES })
  for (const act of [
    () => backend.read('.env'),
    () => backend.readBytes('private/b.txt'),
    () => backend.read('link.txt'),
    () => backend.read('private/../.env'),
    () => backend.copy('.env', 'copy.txt'),
    () => backend.edit('.env', { oldString: 'one', newString: 'two' }),
    async () => {
      for await (const _ of backend.readStream('.env')) break
    },
  ]) {
    expect(await rejection(act())).toBeInstanceOf(PermissionDeniedError)
  }
  expect(await rejection(backend.execute('cat .env'))).toBeInstanceOf(CommandBlockedError)
  expect(await rejection(backend.execute('rm -rf /'))).toBeInstanceOf(CommandBlockedError)
  expect((await backend.ls('.')).map(({ name }) => name)).not.toContain('private')
  expect((await backend.glob('**/*.txt')).files.map(({ name }) => name).toSorted()).toEqual(['a.txt', 'link.txt'])
  expect((await backend.grep('one', { hidden: true })).matches.map(({ line }) => line)).toEqual(['one'])
  // What the rules allow goes on as ever.
  expect((await backend.read('a.txt')).content).toBe('one\n')
  await backend.write('new.txt', 'two\n')
  expect((await backend.execute('cat new.txt')).stdout).toBe('two\n')
  await backend.move('new.txt', 'moved.txt')
  await backend.remove('moved.txt')
  expect(await backend.stat('moved.txt')).toBeNull()
})

test('what is denied altogether is not there (D23)', async () => {
  const backend = new GuardedBackend(await localBackend(FILES), { permissions: 'readonly' })
  expect({ executes: backend.executes, writableRoots: backend.writableRoots }).toEqual({
    executes: false,
    writableRoots: [],
  })
  expect(await rejection(backend.write('x', ''))).toBeInstanceOf(PathNotWritableError)
  expect(await rejection(backend.execute('ls'))).toBeInstanceOf(UnsupportedError)
  const toolset = createToolset({ backend, tools: ['console', 'files'] })
  onTestFinished(() => toolset.close())
  expect(toolset.tools.map(({ name }) => name)).not.toContain('execute')
})

test('any backend can be guarded, and the guard of a guard counts too', async () => {
  const own: UserBackend = { ls: () => [{ name: 'a', type: 'file', size: 1 }], read: () => 'a' }
  const guarded = new GuardedBackend(own, { permissions: { default: 'allow', read: { default: 'deny' } } })
  expect(await rejection(guarded.read('/a'))).toBeInstanceOf(PermissionDeniedError)
  const state = new StateBackend()
  await state.write('/a', 'a')
  const inner = new GuardedBackend(state, { permissions: { default: 'allow', write: { default: 'deny' } } })
  const both = new GuardedBackend(inner, { permissions: { default: 'allow', read: { default: 'deny' } } })
  expect(await rejection(both.read('/a'))).toBeInstanceOf(PermissionDeniedError)
  expect(await rejection(both.write('/b', ''))).toBeInstanceOf(PermissionDeniedError)
  // A toolset's own rules come on top.
  const toolset = createToolset({ backend: inner, permissions: { default: 'allow', edit: { default: 'ask' } } })
  onTestFinished(() => toolset.close())
  expect((await toolset.call('write_file', { path: '/b', content: '' })).code).toBe('PERMISSION_DENIED')
  expect(await rejection(toolset.call('edit_file', { path: '/a', old_string: 'a', new_string: 'b' }))).toBeInstanceOf(
    ApprovalRequiredError,
  )
})

test('somebody is asked where a rule asks, and a no, an error or a nonsense is a no', async () => {
  const permissions = { default: 'allow', write: { default: 'ask' } } as const
  const local = await localBackend(FILES)
  const unasked = await rejection(new GuardedBackend(local, { permissions }).write('x', 'x'))
  expect(unasked).toBeInstanceOf(ApprovalRequiredError)
  expect(unasked).toMatchObject({ details: { tool: 'write', input: { path: `${local.workingDirectory}/x` } } })

  const requests: ApprovalRequest[] = []
  const asked = new GuardedBackend(local, {
    permissions,
    approve: (request) => {
      requests.push(request)
      return { approved: true }
    },
  })
  await asked.write('x', 'x')
  expect(requests.map(({ tool, touches }) => [tool, touches.map(({ operation }) => operation)])).toEqual([
    ['write', ['write']],
  ])
  expect(requests[0]?.diff).toContain('\n+x')
  const errors: unknown[] = []
  const broken = new Error('mine')
  for (const approve of [
    () => ({ approved: false, reason: 'not now' }),
    () => {
      throw broken
    },
    () => 'yes' as never,
    () => ({ approved: true, input: { path: 'y' } }),
  ]) {
    const backend = new GuardedBackend(local, { permissions, approve, onError: (error) => errors.push(error) })
    expect(await rejection(backend.write('y', 'y'))).toBeInstanceOf(ApprovalDeniedError)
  }
  expect(errors).toEqual([broken, expect.any(InvalidInputError)])
  expect(await local.stat('y')).toBeNull()
})

test.each<[string, unknown]>([
  ['no rules', {}],
  ['rules that are not right', { permissions: { read: { default: 'maybe' } } }],
  ['a preset that is none', { permissions: 'lax' }],
  ['an unknown option', { permissions: 'default', rules: [] }],
  ['an approver that is none', { permissions: 'default', approve: true }],
])('a guarded backend refuses %s', (_name, options) => {
  expect(() => new GuardedBackend(new StateBackend(), options as never)).toThrow(InvalidInputError)
})
