import { execFile } from 'node:child_process'
import { symlink, utimes } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'

import {
  type Backend,
  CompositeBackend,
  createToolset,
  type GlobOptions,
  type GrepOptions,
  InvalidInputError,
  LocalBackend,
  ShellBackend,
  StateBackend,
  type ToolName,
  type ToolsetOptions,
} from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { localBackend, project, rejection, toolsetOver } from './support.js'

const FILES = {
  '.gitignore': 'out/\n',
  'src/user/user_controller.ts': 'export class UserController {}\n',
  'src/user/user.ts': 'export class User {}\n',
  'test/user_controller.test.ts': '',
  'out/user_controller.js': '',
  '.cache/user.ts': '',
}

test('find ranks files by what is remembered of their path, page by page', async () => {
  const backend = await localBackend(FILES)
  const first = await backend.find('usr contrller', { limit: 1 })
  expect(first.files.map((file) => file.name)).toEqual(['user_controller.ts'])
  expect(first).toMatchObject({ total: 2, truncated: true, nextOffset: 1 })
  expect(first.files[0]!.modifiedAt).toBeInstanceOf(Date)
  const rest = await backend.find('usr contrller', { offset: first.nextOffset })
  expect(rest.files.map((file) => file.name)).toEqual(['user_controller.test.ts'])
  expect(rest).not.toHaveProperty('nextOffset')
  expect((await backend.find('user', { path: 'src', hidden: true, ignore: false })).total).toBe(2)
  expect((await backend.find('user', { hidden: true, ignore: false })).total).toBe(5)
  expect(await rejection(backend.find(' '))).toBeInstanceOf(InvalidInputError)
})

test('ls shows one level whole, and a tree without what is ignored, its files counted', async () => {
  const backend = await localBackend(FILES)
  const names = (entries: readonly { readonly path: string }[]) =>
    entries.map((entry) => entry.path.slice(backend.workingDirectory.length + 1))
  expect(names(await backend.ls('.'))).toEqual(['.cache', 'out', 'src', 'test', '.gitignore'])
  const tree = await backend.ls('.', { depth: 2, counts: true })
  expect(tree.map(({ name, files }) => [name, files])).toEqual([
    ['.cache', 1],
    ['user.ts', undefined],
    ['src', 2],
    ['user', 2],
    ['test', 1],
    ['user_controller.test.ts', undefined],
    ['.gitignore', undefined],
  ])
  expect(tree.truncated).toBe(false)
  expect(names(await backend.ls('.', { depth: 2, ignore: false }))).toContain('out/user_controller.js')
  expect(names(await backend.ls('.', { ignore: true }))).not.toContain('out')
})

test('glob finds files, directories, or both', async () => {
  const backend = await localBackend({ 'a/b.ts': '' })
  const found = async (type: 'file' | 'directory' | 'any') =>
    (await backend.glob('**', { type, sort: 'path' })).files.map((file) => [file.name, file.type])
  expect(await found('file')).toEqual([['b.ts', 'file']])
  expect(await found('directory')).toEqual([['a', 'directory']])
  expect(await found('any')).toEqual([
    ['a', 'directory'],
    ['b.ts', 'file'],
  ])
})

test('the group `files` brings find_files, and rules about glob hold for it', async () => {
  const toolset = await toolsetOver(FILES, { tools: ['files'] })
  const { text, data } = await toolset.call('find_files', { query: 'user controller', limit: 1 })
  expect(text).toMatch(/^Found 2 file\(s\) like 'user controller', best fit first:\n.*user_controller\.ts\n/)
  expect(text).toContain('... and 1 more; continue with offset=1')
  expect(data).toMatchObject({ total: 2, truncated: true, nextOffset: 1 })
  const rules = { glob: { rules: [{ pattern: '**/user_controller.ts', action: 'deny' as const }] } }
  const guarded = await toolsetOver(FILES, { tools: ['files'], permissions: { default: 'allow', ...rules } })
  const found = await guarded.call('find_files', { query: 'user controller' })
  expect(found.text).toMatch(/^Found 1 file/)
  expect(found.text).not.toContain('user_controller.ts\n')
})

test('a tree for the model says what it leaves out', async () => {
  const toolset = await toolsetOver(FILES)
  const { text } = await toolset.call('ls', { path: '.', depth: 2, counts: true })
  expect(text.split('\n').slice(1)).toEqual([
    '  .cache/ (1 file)',
    '    user.ts (0 bytes)',
    '  src/ (2 files)',
    '    user/ (2 files)',
    '  test/ (1 file)',
    '    user_controller.test.ts (0 bytes)',
    '  .gitignore (5 bytes)',
    '(1 entry that .gitignore or .ignore exclude left out; `include_ignored` shows them)',
  ])
  expect(text).toMatch(/^Contents of \/.* \(5 files\):/)
  const all = await toolset.call('ls', { path: '.', depth: 2, include_ignored: true })
  expect(all.text).toContain('user_controller.js')
})

test('the names that the types know are those of the core', async () => {
  const backend = await localBackend()
  const message = (make: () => unknown): string => {
    try {
      make()
    } catch (error) {
      return (error as Error).message
    }
    return ''
  }
  const listed = (text: string) => /are: (.*)\.$/.exec(text)?.[1]?.split(', ')
  const ofCore = listed(message(() => createToolset({ backend, needApproval: ['nope' as ToolName] })))
  const ofFacade = listed(message(() => createToolset({ backend, hooks: { tools: { nope: {} } as object } })))
  expect(ofCore).toContain('find_files')
  expect(ofFacade).toEqual(ofCore)
})

test('a time limit of the caller returns what is known by then, and says that there is more', async () => {
  const backend = await localBackend(FILES)
  const late = { timeout: 0, path: '.' }
  const searches = [
    backend.glob('**', late),
    backend.grep('User', late),
    backend.find('user', late),
    backend.ls('.', { ...late, depth: 2, counts: true }),
  ]
  for (const { truncated } of await Promise.all<{ readonly truncated?: boolean }>(searches)) {
    expect(truncated).toBe(true)
  }
  expect((await backend.grep('User', { timeout: 20_000, threads: 1 })).totalMatches).toBe(2)
  expect((await backend.glob('**', { timeout: 20_000, threads: 1 })).total).toBe(3)
})

test('links count as what they lead to or are left out, none is entered, and one that leads out is never seen', async () => {
  const root = await project({ 'real/a.txt': 'needle' })
  const outside = await project({ 'secret.txt': 'needle' })
  await symlink('real/a.txt', join(root, 'in.txt'))
  await symlink('real', join(root, 'directory'))
  await symlink('missing', join(root, 'gone.txt'))
  await symlink(join(outside, 'secret.txt'), join(root, 'out.txt'))
  await symlink(outside, join(root, 'outside'))
  const backend = new LocalBackend({ root })
  onTestFinished(() => backend.close())
  const globbed = async (options: GlobOptions) =>
    (await backend.glob('**', { sort: 'path', ...options })).files.map((file) => relative(root, file.path))
  // A glob counts links unless it is told otherwise, a search for lines would find the same line twice.
  expect(await globbed({})).toEqual(['in.txt', 'real/a.txt'])
  expect(await globbed({ links: 'match' })).toEqual(['in.txt', 'real/a.txt'])
  expect(await globbed({ links: 'match', type: 'any' })).toEqual(['directory', 'in.txt', 'real', 'real/a.txt'])
  expect(await globbed({ links: 'skip' })).toEqual(['real/a.txt'])
  expect(await globbed({ links: 'skip', type: 'any' })).toEqual(['real', 'real/a.txt'])
  const grepped = async (options: GrepOptions) =>
    (await backend.grep('needle', { sort: 'path', ...options })).files.map((file) => relative(root, file.path))
  expect(await grepped({})).toEqual(['real/a.txt'])
  expect(await grepped({ links: 'skip' })).toEqual(['real/a.txt'])
  expect(await grepped({ links: 'match' })).toEqual(['in.txt', 'real/a.txt'])
})

test('a cursor goes on where a page of a glob ended', async () => {
  const backend = await localBackend({ 'a.ts': '', 'b.ts': '', 'c.ts': '' })
  const first = await backend.glob('*', { sort: 'path', limit: 2 })
  expect(first.files.map((file) => file.name)).toEqual(['a.ts', 'b.ts'])
  await backend.write('0.ts', '')
  const second = await backend.glob('*', { sort: 'path', limit: 2, cursor: first.nextCursor })
  expect(second.files.map((file) => file.name)).toEqual(['c.ts'])
  expect(second).not.toHaveProperty('nextCursor')
  expect(await rejection(backend.glob('*', { cursor: 'nonsense' }))).toBeInstanceOf(InvalidInputError)
})

/** Four files of which two are of one age, on every kind of backend. */
const AGES = { 'z-new.txt': '2023-01-01', 'b.txt': '2022-01-01', 'a.txt': '2022-01-01', 'old.txt': '2021-01-01' }

async function agedFolder(): Promise<string> {
  const root = await project(Object.fromEntries(Object.keys(AGES).map((name) => [name, 'needle'])))
  await Promise.all(Object.entries(AGES).map(([name, day]) => utimes(join(root, name), new Date(day), new Date(day))))
  return root
}

function agedState(): StateBackend {
  const documents = Object.entries(AGES).map(([name, day]) => [
    `/${name}`,
    { content: ['needle'], modified_at: `${day}T00:00:00Z` },
  ])
  return StateBackend.fromJSON(Object.fromEntries(documents))
}

const AGED: readonly (readonly [string, () => Promise<ToolsetOptions['backend']>])[] = [
  ['a local backend', async () => new LocalBackend({ root: await agedFolder() })],
  ['a state backend', async () => agedState()],
  [
    'a composite backend',
    async () => new CompositeBackend({ default: agedState(), routes: { '/none': new StateBackend() } }),
  ],
  [
    'a shell backend',
    async () =>
      new ShellBackend({
        workingDirectory: await agedFolder(),
        execute: (command) =>
          new Promise((resolve) => {
            execFile('sh', ['-c', command], (error, stdout) => resolve({ stdout, exitCode: error ? 1 : 0 }))
          }),
      }),
  ],
  [
    'an object with few methods',
    async () => {
      const state = agedState()
      return { ls: (path: string) => state.ls(path), readBytes: (path: string) => state.readBytes(path) }
    },
  ],
]

test.each(AGED)('%s finds the newest first, and those of one age by path', async (_name, make) => {
  const backend = await make()
  const toolset = createToolset({ backend })
  onTestFinished(() => toolset.close())
  const expected = ['z-new.txt', 'a.txt', 'b.txt', 'old.txt']
  const inText = (text: string) => text.split('\n').flatMap((line) => /[\w-]+\.txt/.exec(line) ?? [])
  expect(inText((await toolset.call('glob', { pattern: '**' })).text)).toEqual(expected)
  for (const mode of ['files_with_matches', 'content', 'count']) {
    expect(inText((await toolset.call('grep', { pattern: 'needle', output_mode: mode })).text)).toEqual(expected)
  }
  const programs = backend as Partial<Pick<Backend, 'glob' | 'grep'>>
  if (!programs.glob || !programs.grep) return
  const names = (files: readonly { readonly path: string }[]) => files.map((file) => basename(file.path))
  expect(names((await programs.glob('**')).files)).toEqual(expected)
  const found = await programs.grep('needle')
  expect(names(found.files)).toEqual(expected)
  expect(names(found.matches)).toEqual(expected)
  expect(names((await programs.grep('needle', { sort: 'path' })).files)).toEqual(expected.toSorted())
})
