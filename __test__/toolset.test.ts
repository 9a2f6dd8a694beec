import {
  ClosedError,
  createToolset,
  defineTool,
  InvalidInputError,
  lineHash,
  UnsupportedError,
  LocalBackend,
  StateBackend,
} from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { localBackend, PNG, project, rejection, toolsetOver } from './support.js'

const CONSOLE = ['ls', 'read_file', 'write_file', 'edit_file', 'glob', 'grep', 'execute']

test('the console tools have closed schemas, descriptions and hints', async () => {
  const toolset = await toolsetOver({})
  expect(toolset.tools.map((tool) => tool.name)).toEqual(CONSOLE)
  for (const tool of toolset.tools) {
    expect(tool.inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
    expect(JSON.stringify(tool.inputSchema)).not.toContain('$ref')
    expect(tool.description.length).toBeGreaterThan(40)
    expect(Object.keys(tool.annotations).toSorted()).toEqual(['destructiveHint', 'readOnlyHint'])
  }
  expect(toolset.instructions).toContain('read_file')
  expect(toolset.id).toMatch(/^toolset-\d+$/)
})

// It was promised, and every command had 120 s whatever it said.
test('a command that names no time has the one of the limits (TS-41)', async () => {
  const toolset = await toolsetOver({}, { permissions: 'permissive', limits: { commandTimeout: 1 } })
  const left = await toolset.call('execute', { command: 'sleep 1000' })
  expect(left.data).toMatchObject({ timedOut: true })
  expect((await toolset.call('execute', { command: 'echo through', timeout: 60 })).data).toMatchObject({
    timedOut: false,
    stdout: 'through\n',
  })
})

test('hints say which tools only look, and which destroy what was there', async () => {
  const toolset = await toolsetOver({}, { tools: ['console', 'files', 'background', 'terminal'] })
  const hints = toolset.tools.map(({ name, annotations }) => [name, annotations] as const)
  const named = (readOnlyHint: boolean, destructiveHint: boolean): string[] =>
    hints
      .filter(([, own]) => own.readOnlyHint === readOnlyHint && own.destructiveHint === destructiveHint)
      .map(([name]) => name)
      .toSorted()
  expect(named(true, true)).toEqual([])
  expect(named(true, false)).toEqual(expect.arrayContaining(['find_files', 'glob', 'grep', 'ls', 'read_file']))
  const destructive = named(false, true)
  for (const name of ['write_file', 'edit_file', 'delete_file', 'move_file', 'execute', 'run_in_background'])
    expect(destructive, name).toContain(name)
  for (const name of ['shell_exec', 'shell_write_to_process', 'shell_kill_process', 'kill_shell'])
    expect(destructive, name).toContain(name)
  const adding = named(false, false)
  for (const name of ['mkdir', 'copy_file']) expect(adding, name).toContain(name)
})

test('a call answers with text for the model and data for code', async () => {
  const toolset = await toolsetOver({ 'a.txt': 'one\ntwo\n' })
  const result = await toolset.call('read_file', { path: 'a.txt' })
  expect(result).toMatchObject({ isError: false, truncated: false })
  expect(result.text).toContain('one')
  expect(result.data).toBeTypeOf('object')
})

test('a failure that a model can act on is a result', async () => {
  const toolset = await toolsetOver({})
  const result = await toolset.call('read_file', { path: 'missing.txt' })
  expect(result).toMatchObject({ isError: true, code: 'FILE_NOT_FOUND' })
  expect(result.text).toContain('missing.txt')
})

test('20 parallel edits of one file are all applied', async () => {
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index};`)
  const toolset = await toolsetOver({ 'a.txt': lines.join('\n') })
  const results = await Promise.all(
    lines.map((line, index) =>
      toolset.call('edit_file', { path: 'a.txt', old_string: line, new_string: `edited ${index};` }),
    ),
  )
  expect(results.filter((result) => result.isError)).toEqual([])
  const { text } = await toolset.call('read_file', { path: 'a.txt' })
  for (const index of lines.keys()) expect(text).toContain(`edited ${index};`)
})

// Two tools that edit, each with locks of its own, lost each other's changes (8).
test('edits by text and by tagged lines share the lock of a file', async () => {
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index};`)
  const text = lines.join('\n')
  for (const backend of [await localBackend({ 'a.txt': text }), new StateBackend({ files: { 'a.txt': text } })]) {
    const [byText, byLine] = [createToolset({ backend }), createToolset({ backend, editFormat: 'hashline' })]
    onTestFinished(async () => void (await Promise.all([byText.close(), byLine.close()])))
    const results = await Promise.all(
      lines.map((line, index) =>
        index % 2 === 0
          ? byText.call('edit_file', { path: 'a.txt', old_string: line, new_string: `edited ${index};` })
          : byLine.call('hashline_edit', {
              path: 'a.txt',
              start_line: index + 1,
              start_hash: lineHash(line),
              new_content: `edited ${index};`,
            }),
      ),
    )
    expect(results.filter((result) => result.isError)).toEqual([])
    expect((await backend.read('a.txt')).content.split('\n')).toEqual(lines.map((_, index) => `edited ${index};`))
  }
})

// Small reads are answered on the thread that asks; a loop of them may not keep everything else from its turn.
test('a loop that awaits read after read lets the event loop turn', async () => {
  const toolset = await toolsetOver({ 'a.txt': 'a' })
  const loop = { turned: false }
  setImmediate(() => (loop.turned = true))
  for (let reads = 0; reads < 5_000 && !loop.turned; reads += 1) await toolset.call('read_file', { path: 'a.txt' })
  expect(loop.turned).toBe(true)
  const many = await Promise.all(Array.from({ length: 200 }, () => toolset.call('read_file', { path: 'a.txt' })))
  expect(new Set(many.map(({ text }) => text))).toEqual(new Set(['     1\ta']))
})

test('an image is a part of the result', async () => {
  const toolset = await toolsetOver({ 'dot.png': PNG })
  const result = await toolset.call('read_file', { path: 'dot.png' })
  expect(result.parts).toEqual([{ type: 'image', mediaType: 'image/png', data: PNG.toString('base64') }])
  const blind = await toolsetOver({ 'dot.png': PNG }, { images: false })
  expect((await blind.call('read_file', { path: 'dot.png' })).parts).toBeUndefined()
})

test('names and descriptions can be replaced, and our names still work', async () => {
  const toolset = await toolsetOver(
    { 'a.txt': 'a' },
    { tools: ['read_file'], names: { read_file: 'view' }, descriptions: { read_file: 'Looks at a file, mine.' } },
  )
  expect(toolset.tools.map(({ name, description }) => ({ name, description }))).toEqual([
    { name: 'view', description: 'Looks at a file, mine.' },
  ])
  const told = { description: 'Looks.', args: { path: 'Which file.' }, returns: 'numbered lines' }
  const { tools } = await toolsetOver({}, { tools: ['read_file'], descriptions: { read_file: told } })
  expect(tools[0]?.description).toBe('Looks.\n\nReturns: numbered lines')
  expect(tools[0]?.inputSchema).toMatchObject({ properties: { path: { description: 'Which file.' } } })
  expect((await toolset.call('view', { path: 'a.txt' })).isError).toBe(false)
  expect((await toolset.call('read_file', { path: 'a.txt' })).isError).toBe(false)
})

test('a profile decides how much is told of our tools, and not of others', async () => {
  const own = defineTool({
    name: 'ping',
    description: 'Pings. Twice.',
    inputSchema: { type: 'object' },
    readOnly: true,
    run: () => 'pong',
  })
  const told = async (profile: 'coding' | 'agent' | undefined) => {
    const toolset = await toolsetOver({}, { tools: ['read_file', own], profile })
    return toolset.tools.map((tool) => tool.description)
  }
  const [whole, mine] = await told(undefined)
  expect(await told('agent')).toEqual(['Reads a text file and shows its lines with numbers.', 'Pings. Twice.'])
  expect(await told('coding')).toEqual([whole, mine])
  expect(whole).toContain('`offset`')
  await expect(toolsetOver({}, { profile: 'short' as never })).rejects.toThrow(InvalidInputError)
})

test('a subset has only the named tools and ends with its toolset', async () => {
  const toolset = await toolsetOver({ 'a.txt': 'a' })
  const subset = toolset.subset(['ls', 'read_file'])
  expect(subset.tools.map((tool) => tool.name)).toEqual(['ls', 'read_file'])
  expect(await subset.call('write_file', { path: 'b', content: 'b' })).toMatchObject({
    isError: true,
    code: 'UNKNOWN_TOOL',
  })
  expect(() => toolset.subset(['nope'])).toThrow(expect.objectContaining({ code: 'UNKNOWN_TOOL' }))
  await toolset.close()
  expect(await rejection(subset.call('ls', {}))).toBeInstanceOf(ClosedError)
})

test('a tool that the backend cannot run is left out, and an error when it is named', async () => {
  const backend = new LocalBackend({ root: await project(), execute: false })
  const toolset = createToolset({ backend })
  expect(toolset.tools.map((tool) => tool.name)).toEqual(CONSOLE.filter((name) => name !== 'execute'))
  expect(() => createToolset({ backend, tools: ['execute'] })).toThrow(UnsupportedError)
  await toolset.close()
  await backend.close()
})

// A denied `execute` left the tools for commands in the background behind (2).
test('rules that deny all commands leave no tool that runs or watches them', async () => {
  const names = async (action: 'allow' | 'deny') => {
    const permissions = { default: 'allow', execute: { default: action } } as const
    const toolset = await toolsetOver({}, { tools: ['console', 'background', 'terminal'], permissions })
    return { names: toolset.tools.map(({ name }) => name), instructions: toolset.instructions }
  }
  const [allowed, denied] = [await names('allow'), await names('deny')]
  expect(denied.names).toEqual(CONSOLE.filter((name) => name !== 'execute'))
  const gone = allowed.names.filter((name) => !denied.names.includes(name))
  expect(gone).toEqual(
    expect.arrayContaining(['execute', 'run_in_background', 'read_output', 'shell_input', 'shell_exec', 'shell_view']),
  )
  for (const name of gone) expect(denied.instructions, name).not.toContain(`\`${name}\``)
})

test('the standard view of a tool validates as a call decodes', async () => {
  const toolset = await toolsetOver({ 'a.txt': 'a' })
  const standard = toolset.tools.find(({ name }) => name === 'read_file')?.['~standard']
  expect(standard).toMatchObject({ version: 1, vendor: 'gloveport' })
  const input = { path: 'a.txt' }
  expect(await standard!.validate(input)).toEqual({ value: input })
  for (const wrong of [{}, { path: 1 }, { path: 'a.txt', extra: true }, 'a.txt', null, { path: NaN }, undefined]) {
    const result = await standard!.validate(wrong)
    expect(result, JSON.stringify(wrong)).toEqual({ issues: [{ message: expect.any(String) }] })
  }
  const tool = toolset.tools.find(({ name }) => name === 'read_file')
  for (const target of ['draft-07', 'draft-2020-12']) {
    expect(standard!.jsonSchema.input({ target })).toEqual(tool!.inputSchema)
    expect(standard!.jsonSchema.output({ target })).toEqual(tool!.inputSchema)
  }
  expect(() => standard!.jsonSchema.input({ target: 'openapi-3.0' })).toThrow(UnsupportedError)
})

test('a closed toolset refuses, and its backend stays open', async () => {
  const backend = await localBackend({ 'a.txt': 'a' })
  const toolset = createToolset({ backend })
  await toolset.close()
  await toolset.close()
  expect(await rejection(toolset.call('ls', {}))).toBeInstanceOf(ClosedError)
  expect(await rejection(toolset.assess('ls', {}))).toBeInstanceOf(ClosedError)
  expect((await backend.read('a.txt')).content).toBe('a')
})

test('wrong options are typed errors that name the option', async () => {
  const backend = await localBackend()
  const cases: readonly [object, RegExp][] = [
    [{}, /backend/],
    [{ backend: { id: 'mine' } }, /backend/],
    [{ backend, approve: 'yes' }, /approve/],
    [{ backend, onEvent: 1 }, /onEvent/],
    [{ backend, hooks: { before: () => 1 } }, /before/],
    [{ backend, hooks: { tools: { nope: {} } } }, /nope.*read_file/],
    [{ backend, hooks: { tools: { ls: { pre: 1 } } } }, /hooks\.tools\.ls\.pre/],
    [{ backend, tools: ['nope'] }, /nope/],
    [{ backend, tools: 'console' }, /tools|options/],
    [{ backend, permissions: 'nope' }, /nope/],
    [{ backend, colour: 'red' }, /colour/],
    [{ backend, needApproval: ['nope'] }, /nope/],
    [{ backend, maxRetries: NaN }, /maxRetries/],
    [{ backend, maxRetries: -1 }, /options|maxRetries/],
  ]
  for (const [options, message] of cases) {
    expect(() => createToolset(options as never), String(message)).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT', message: expect.stringMatching(message) }),
    )
    expect(() => createToolset(options as never)).toThrow(InvalidInputError)
  }
})

test('what is kept is read by the tools until the close', async () => {
  const toolset = createToolset({ backend: new StateBackend({ files: { '/a.txt': 'text' } }) })
  const path = await toolset.keep('report.json', '{ "lines": 1 }')
  expect(path).toBe('/.gloveport/report-1.json')
  expect(await toolset.keep('data.bin', Uint8Array.of(0, 255))).toBe('/.gloveport/data-2.bin')
  expect((await toolset.call('read_file', { path })).text).toContain('{ "lines": 1 }')
  expect((await toolset.call('grep', { pattern: 'lines', path: '/.gloveport' })).text).toContain(path)
  expect(await toolset.call('write_file', { path, content: 'x' })).toMatchObject({ code: 'PATH_NOT_WRITABLE' })
  expect((await toolset.call('read_file', { path: '/a.txt' })).text).toContain('text')
  await expect(toolset.keep('../escape', '')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await toolset.close()
  await expect(toolset.keep('late', '')).rejects.toMatchObject({ code: 'CLOSED' })
})
