// A backend as one of deepagents: the cases of its protocol, rebuilt from its public interface, and a real agent on it.

import { BaseSandbox, createDeepAgent, FilesystemBackend, isSandboxBackend, isSandboxProtocol } from 'deepagents'
import type { SandboxBackendProtocolV2 } from 'deepagents'
import { CompositeBackend, createToolset, DockerBackend, ShellBackend, StateBackend } from 'gloveport'
import { deepagentsBackend, fromDeepagents } from 'gloveport/deepagents'
import { AIMessage, fakeModel, HumanMessage, ToolMessage } from 'langchain'
import { describe, expect, onTestFinished, test } from 'vitest'

import { engine, localBackend, project, rejection } from './support.js'

const BYTES = Uint8Array.of(0, 255, 128, 13, 10)

async function local(files: Record<string, string | Uint8Array>) {
  const backend = await localBackend(files)
  return { backend, at: (path: string) => `${backend.workingDirectory}/${path}` }
}

async function shell(files: Record<string, string | Uint8Array>) {
  const inner = await localBackend(files)
  const workingDirectory = inner.workingDirectory
  const backend = new ShellBackend({ execute: (command, options) => inner.execute(command, options), workingDirectory })
  return { backend, at: (path: string) => `${workingDirectory}/${path}` }
}

async function memory(files: Record<string, string | Uint8Array>) {
  return { backend: new StateBackend({ files }), at: (path: string) => `/${path}` }
}

async function docker(files: Record<string, string | Uint8Array>) {
  const backend = new DockerBackend(engine)
  for (const [path, content] of Object.entries(files)) await backend.write(path, content)
  return { backend, at: (path: string) => `/workspace/${path}` }
}

/** Containers are among the subjects where there is an engine. */
const CONTAINERS = engine ? ([['docker', docker]] as const) : []

describe.each([...CONTAINERS, ['local', local], ['shell', shell], ['memory', memory]] as const)(
  'the protocol on a %s backend',
  (_name, make) => {
    const open = async (files: Record<string, string | Uint8Array> = {}) => {
      const { backend, at } = await make(files)
      onTestFinished(() => backend.close())
      return { backend, at, theirs: deepagentsBackend(backend) as SandboxBackendProtocolV2 }
    }

    test('life cycle: it has an id, and after its end every answer is an error', async () => {
      const { backend, at, theirs } = await open({ 'a.txt': 'a' })
      expect(theirs.id).toMatch(/./)
      await backend.close()
      for (const answer of [
        await theirs.read(at('a.txt')),
        await theirs.ls(at('')),
        await theirs.write(at('b'), ''),
        await theirs.grep('a', at('')),
      ]) {
        expect(answer.error).toMatch(/closed/)
      }
    })

    test('initial files are there', async () => {
      const { at, theirs } = await open({ 'a.txt': 'one\ntwo\n', 'd/b.bin': BYTES })
      expect(await theirs.ls(at(''))).toEqual({
        files: [
          { path: at('d/'), is_dir: true, size: 0, modified_at: expect.stringMatching(/^\d{4}-.*Z$/) },
          { path: at('a.txt'), is_dir: false, size: 8, modified_at: expect.stringMatching(/^\d{4}-.*Z$/) },
        ],
      })
      expect((await theirs.ls(at('missing'))).error).toMatch(/does not exist/)
    })

    test('read pages text by lines, and hands over bytes', async () => {
      const { at, theirs } = await open({ 'a.txt': 'one\ntwo\nthree\n', 'a.png': BYTES, empty: '' })
      expect(await theirs.read(at('a.txt'), 1, 1)).toEqual({
        content: 'two\n',
        mimeType: 'text/plain',
        totalLines: 3,
        startLine: 2,
        endLine: 2,
        nextOffset: 2,
      })
      expect(await theirs.read(at('a.txt'))).toMatchObject({ content: 'one\ntwo\nthree\n' })
      expect(await theirs.read(at('a.png'))).toEqual({ content: BYTES, mimeType: 'image/png' })
      expect(await theirs.read(at('empty'))).toMatchObject({ content: '' })
      expect((await theirs.read(at('missing'))).error).toMatch(/does not exist/)
      expect((await theirs.readRaw(at('a.txt'))).data).toMatchObject({
        content: 'one\ntwo\nthree\n',
        mimeType: 'text/plain',
      })
      expect((await theirs.readRaw(at('a.png'))).data).toMatchObject({ content: BYTES, mimeType: 'image/png' })
    })

    test('write creates with parents and overwrites', async () => {
      const { at, theirs } = await open()
      expect(await theirs.write(at('d/e/a.txt'), 'ü\n')).toEqual({ path: at('d/e/a.txt'), filesUpdate: null })
      expect(await theirs.write(at('d/e/a.txt'), 'two')).toMatchObject({ path: at('d/e/a.txt') })
      expect(await theirs.read(at('d/e/a.txt'))).toMatchObject({ content: 'two' })
      expect((await theirs.write(at('d'), 'x')).error).toMatch(/directory/)
    })

    test('edit replaces one, or all, or says why not', async () => {
      const { at, theirs } = await open({ 'a.txt': 'x y x' })
      expect((await theirs.edit(at('a.txt'), 'x', 'z')).error).toBeDefined()
      expect(await theirs.edit(at('a.txt'), 'y', 'Y')).toMatchObject({ occurrences: 1 })
      expect(await theirs.edit(at('a.txt'), 'x', 'z', true)).toMatchObject({ occurrences: 2, path: at('a.txt') })
      expect(await theirs.read(at('a.txt'))).toMatchObject({ content: 'z Y z' })
      expect((await theirs.edit(at('missing'), 'a', 'b')).error).toMatch(/does not exist/)
    })

    test('grep is for plain text, with a cap', async () => {
      const { at, theirs } = await open({
        'a.ts': 'a.b\naxb\n',
        '.hidden/c.ts': 'a.b\n',
        'd.md': 'a.b\n',
        'e.bin': BYTES,
      })
      expect(await theirs.grep('a.b', at(''), '*.ts')).toEqual({
        matches: [
          { path: at('.hidden/c.ts'), line: 1, text: 'a.b' },
          { path: at('a.ts'), line: 1, text: 'a.b' },
        ],
      })
      expect(await theirs.grep('a', at(''), null, 1)).toMatchObject({ matches: { length: 1 }, truncated: true })
      expect(await theirs.grep('nothing like it')).toEqual({ matches: [] })
      expect((await theirs.grep('a', at('missing'))).error).toMatch(/does not exist/)
    })

    test('glob finds paths', async () => {
      const { at, theirs } = await open({ 'a.ts': '', 'd/b.ts': '', 'd/c.md': '' })
      const found = await theirs.glob('**/*.ts', at(''))
      expect(found.files?.map((file) => file.path)).toEqual([at('a.ts'), at('d/b.ts')])
      expect((await theirs.glob('*.none', at(''))).files).toEqual([])
    })

    test('delete takes a file or a directory and all in it', async () => {
      const { at, theirs } = await open({ 'd/a': '', 'd/e/b': '', c: '' })
      expect(await theirs.delete!(at('d'))).toMatchObject({ path: at('d') })
      expect((await theirs.ls(at(''))).files?.map((file) => file.path)).toEqual([at('c')])
      expect((await theirs.delete!(at('d'))).error).toMatch(/does not exist/)
    })

    test('upload and download are exact, and succeed in part', async () => {
      const { at, theirs } = await open({ 'd/a': '' })
      expect(
        await theirs.uploadFiles!([
          [at('new/b.bin'), BYTES],
          [at('d'), BYTES],
        ]),
      ).toEqual([
        { path: at('new/b.bin'), error: null },
        { path: at('d'), error: 'is_directory' },
      ])
      expect(await theirs.downloadFiles!([at('new/b.bin'), at('missing'), at('d')])).toEqual([
        { path: at('new/b.bin'), content: BYTES, error: null },
        { path: at('missing'), content: null, error: 'file_not_found' },
        { path: at('d'), content: null, error: 'is_directory' },
      ])
    })
  },
)

test.each([...CONTAINERS, ['local', local], ['shell', shell]] as const)(
  'commands of a %s backend answer with output and exit code',
  async (_name, make) => {
    const { backend } = await make({})
    onTestFinished(() => backend.close())
    const theirs = deepagentsBackend(backend) as SandboxBackendProtocolV2
    expect(isSandboxBackend(theirs) && isSandboxProtocol(theirs)).toBe(true)
    expect(await theirs.execute('echo out; exit 3')).toEqual({ output: 'out\n', exitCode: 3, truncated: false })
    await backend.close()
    expect(await theirs.execute('true')).toMatchObject({ exitCode: 1, output: expect.stringMatching(/closed/) })
  },
)

test('a backend without commands is no sandbox, and a path outside is an error', async () => {
  expect(isSandboxBackend(deepagentsBackend(new StateBackend()))).toBe(false)
  const { backend } = await local({})
  const theirs = deepagentsBackend(backend)
  expect((await theirs.read('/etc/passwd')).error).toBeDefined()
  expect(await theirs.downloadFiles!(['/etc/passwd'])).toMatchObject([{ content: null, error: 'permission_denied' }])
  expect((await theirs.ls('/')).files).toEqual([])
})

test.each([...CONTAINERS, ['local', local], ['memory', memory]] as const)(
  'an agent of deepagents works on a %s backend',
  async (name, make) => {
    const { backend, at } = await make({ 'a.txt': 'one\n', 'src/b.ts': 'export const needle = 1\n' })
    onTestFinished(() => backend.close())
    const runs = name !== 'memory'
    const model = fakeModel()
      .respondWithTools([{ id: 'c1', name: 'ls', args: { path: at('') } }])
      .respondWithTools([{ id: 'c2', name: 'read_file', args: { file_path: at('a.txt') } }])
      .respondWithTools([
        { id: 'c3', name: 'edit_file', args: { file_path: at('a.txt'), old_string: 'one', new_string: 'two' } },
      ])
      .respondWithTools([{ id: 'c4', name: 'write_file', args: { file_path: at('new/c.txt'), content: 'three' } }])
      .respondWithTools([{ id: 'c5', name: 'grep', args: { pattern: 'needle', path: at('') } }])
      .respondWithTools([{ id: 'c6', name: 'glob', args: { pattern: '**/*.ts', path: at('') } }])
    if (runs) model.respondWithTools([{ id: 'c7', name: 'execute', args: { command: `cat ${at('a.txt')}` } }])
    model.respond(new AIMessage('done'))
    const agent = createDeepAgent({ model, backend: deepagentsBackend(backend) })
    const state = await agent.invoke({ messages: [new HumanMessage('go')] })
    const messages = state.messages.filter((message) => ToolMessage.isInstance(message)) as ToolMessage[]
    expect(messages.map(({ name: tool, status }) => [tool, status ?? 'success'])).toEqual(
      ['ls', 'read_file', 'edit_file', 'write_file', 'grep', 'glob', ...(runs ? ['execute'] : [])].map((tool) => [
        tool,
        'success',
      ]),
    )
    const texts = messages.map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)))
    expect(texts[0]).toContain('a.txt')
    expect(texts[1]).toContain('one')
    expect(texts[4]).toContain('b.ts')
    expect(texts[5]).toContain('b.ts')
    if (runs) expect(texts[6]).toContain('two')
    expect((await backend.read(at('a.txt'))).content).toBe('two\n')
    expect((await backend.read(at('new/c.txt'))).content).toBe('three')
    expect(state.messages.at(-1)?.content).toBe('done')
  },
)

test('a backend of deepagents is one of ours', async () => {
  const rootDir = await project({ 'a.txt': 'one\n', 'src/b.ts': 'needle\n' })
  const theirs = new FilesystemBackend({ rootDir, virtualMode: true })
  const backend = new CompositeBackend({
    default: new StateBackend(),
    routes: { '/theirs': fromDeepagents(theirs) },
    strip: true,
  })
  expect((await backend.read('/theirs/a.txt')).content).toBe('one\n')
  expect((await backend.ls('/theirs')).map((entry) => entry.path)).toEqual(['/theirs/src', '/theirs/a.txt'])
  await backend.write('/theirs/new/c.bin', BYTES)
  expect(await backend.readBytes('/theirs/new/c.bin')).toEqual(BYTES)
  const toolset = createToolset({ backend: fromDeepagents(theirs) })
  expect(await toolset.call('edit_file', { path: '/a.txt', old_string: 'one', new_string: 'two' })).toMatchObject({
    isError: false,
  })
  expect((await toolset.call('grep', { pattern: 'needle' })).text).toContain('/src/b.ts')
  expect(await toolset.call('read_file', { path: '/missing' })).toMatchObject({ code: 'FILE_NOT_FOUND' })
  expect((await backend.read('/theirs/a.txt')).content).toBe('two\n')
})

/** A sandbox of deepagents as its users write them: three methods, and all else is derived by `BaseSandbox`. */
class Box extends BaseSandbox {
  readonly id = 'box'
  readonly ran: string[] = []
  readonly #inner: SandboxBackendProtocolV2

  constructor(inner: SandboxBackendProtocolV2) {
    super()
    this.#inner = inner
  }

  execute(command: string) {
    this.ran.push(command)
    return this.#inner.execute(command)
  }

  uploadFiles(files: [string, Uint8Array][]) {
    return this.#inner.uploadFiles!(files)
  }

  downloadFiles(paths: string[]) {
    return this.#inner.downloadFiles!(paths)
  }
}

test('a sandbox of deepagents is one of ours, with its commands', async () => {
  const inner = await localBackend({ 'box/a.txt': 'one\n', 'box/full/b': '', "box/it's/c": '' })
  const at = (path: string) => `${inner.workingDirectory}/box/${path}`
  const box = new Box(deepagentsBackend(inner) as SandboxBackendProtocolV2)
  expect(isSandboxBackend(box) && isSandboxProtocol(box)).toBe(true)
  const backend = new CompositeBackend({ default: fromDeepagents(box) })
  expect(await backend.execute('echo out; exit 3')).toMatchObject({ output: 'out\n', exitCode: 3, truncated: false })

  await backend.write(at('new/d.bin'), BYTES)
  expect(await inner.readBytes('box/new/d.bin')).toEqual(BYTES)
  expect(await backend.readBytes(at('new/d.bin'))).toEqual(BYTES)

  // A directory is made by a command: what its name holds is never more than a name.
  for (const name of ['x/y', "it's/$(touch made)"]) {
    await backend.mkdir(at(name))
    expect(await inner.stat(at(name)), name).toMatchObject({ type: 'directory' })
  }
  expect(box.ran).toContain(`mkdir -p '${at('x/y')}'`)
  expect(await inner.glob('**/made')).toMatchObject({ total: 0 })
  expect(await rejection(backend.mkdir(at('a.txt/below')))).toMatchObject({ code: 'NOT_A_DIRECTORY' })

  await backend.remove(at('a.txt'))
  expect(await inner.stat(at('a.txt'))).toBeNull()
  expect(await rejection(backend.remove(at('a.txt')))).toMatchObject({ code: 'FILE_NOT_FOUND' })
  expect(await rejection(backend.remove(at('full')))).toMatchObject({ code: 'DIRECTORY_NOT_EMPTY' })
  await backend.remove(at('full'), { recursive: true })
  expect((await inner.ls('box')).map(({ name }) => name)).toEqual(["it's", 'new', 'x'])

  const toolset = createToolset({ backend, requireExecuteApproval: false })
  onTestFinished(() => toolset.close())
  expect(await toolset.call('execute', { command: `ls ${at('x')}` })).toMatchObject({
    isError: false,
    text: expect.stringContaining('y'),
  })
})
