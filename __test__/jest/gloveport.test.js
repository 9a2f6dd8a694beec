'use strict'

// A project that uses jest. Jest runs each test file in a realm and a module registry of its own, so these tests see
// foreign classes for arrays, errors and signals.

const { mkdtempSync, rmSync, writeFileSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')

const gloveport = require('gloveport')
const { aiTools } = require('gloveport/ai-sdk')
const { langchainTools } = require('gloveport/langchain')
const { testBackend } = require('gloveport/testing')

const { createToolset, FileNotFoundError, GloveportError, LocalBackend } = gloveport

let root
let backend
let toolset

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gloveport-jest-'))
  writeFileSync(join(root, 'a.txt'), 'one\n')
  backend = new LocalBackend({ root })
  toolset = createToolset({ backend, permissions: 'permissive' })
})

afterEach(async () => {
  await toolset.close()
  await backend.close()
  rmSync(root, { recursive: true, force: true })
})

test('calls, hooks and errors work', async () => {
  const error = await backend.read('missing').catch((caught) => caught)
  expect(error).toBeInstanceOf(FileNotFoundError)
  expect(GloveportError.isInstance(error)).toBe(true)
  const result = await toolset.call('edit_file', {
    path: 'a.txt',
    edits: undefined,
    old_string: 'one',
    new_string: 'two',
  })
  expect(result.isError).toBe(false)
  expect((await backend.read('a.txt')).content).toBe('two\n')
})

test('signals, bytes and objects of the realm of jest are understood', async () => {
  const aborted = await toolset.call('ls', {}, { signal: AbortSignal.abort('why') }).catch((caught) => caught)
  expect(aborted).toMatchObject({ name: 'AbortError', code: 'ABORTED', cause: 'why' })
  expect(await backend.write('b.bin', new Uint8Array([1, 2]))).toMatchObject({ bytes: 2 })
  expect([...(await backend.readBytes('b.bin'))]).toEqual([1, 2])
})

test('a second copy in the same process is understood by code and isInstance', async () => {
  let second
  jest.isolateModules(() => {
    second = require('gloveport')
  })
  expect(second.GloveportError).not.toBe(GloveportError)
  const other = new second.LocalBackend({ root })
  const error = await other.read('missing').catch((caught) => caught)
  expect(error).not.toBeInstanceOf(GloveportError)
  expect(GloveportError.isInstance(error)).toBe(true)
  await other.close()
})

test('the adapters work', async () => {
  const tools = aiTools(toolset)
  expect(await tools.read_file.execute({ path: 'a.txt' }, { toolCallId: 'c', messages: [] })).toMatchObject({
    isError: false,
  })
  const [ls] = langchainTools(toolset)
  expect(await ls.invoke({})).toContain('a.txt')
})

testBackend('a backend of the realm of jest', () => ({ backend: new gloveport.StateBackend() }), { describe, test })
