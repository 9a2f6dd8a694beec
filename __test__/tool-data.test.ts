// What programs are told by the tools that run commands has the shape that its type says: no field too many, and none too few.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import {
  createToolset,
  type ExecuteData,
  LocalBackend,
  type ReadOutputData,
  type ShellEntry,
  type ShellExecData,
  type ShellViewData,
  type TerminalScreen,
  Terminals,
} from 'gloveport'
import { afterAll, beforeAll, expect, expectTypeOf, test } from 'vitest'

const root = mkdtempSync(join(tmpdir(), 'gloveport-tool-data-'))
const backend = new LocalBackend({ root })
const terminals = new Terminals({ backend, requireExecuteApproval: false, onHelp: () => 'echo answered' })
const tools = createToolset({ backend, tools: ['execute', 'background'], requireExecuteApproval: false })
afterAll(async () => {
  await terminals.close()
  await tools.close()
  await backend.close()
  rmSync(root, { recursive: true })
})

/** Each field of a type once: the compiler misses one that is left out, and one that is too many. */
const fields = <Data extends object>(all: Readonly<Record<keyof Data, true>>): string[] => Object.keys(all).toSorted()

const ofSession = { id: true, running: true, open: true } as const
const ofOutput = { output: true, droppedBytes: true, more: true, spillPath: true, spillBytes: true } as const
const ofEnd = { exitCode: true, signal: true, ceiling: true } as const
const EXEC = fields<ShellExecData>({
  ...ofSession,
  ...ofOutput,
  ...ofEnd,
  pid: true,
  exitMeaning: true,
  fullScreen: true,
  before: true,
  beforeExitCode: true,
  timedOut: true,
  torn: true,
  thrownAway: true,
  waitsForInput: true,
  stopped: true,
})
const VIEW = fields<ShellViewData>({
  ...ofSession,
  ...ofOutput,
  ...ofEnd,
  atPrompt: true,
  stopped: true,
  torn: true,
  thrownAway: true,
  waitsForInput: true,
  fullScreen: true,
})
const ENTRY = fields<ShellEntry>({
  ...ofSession,
  command: true,
  pid: true,
  exitCode: true,
  signal: true,
})
const READ = fields<ReadOutputData>({
  ...ofOutput,
  ...ofEnd,
  shellId: true,
  running: true,
  durationMs: true,
  processesLeft: true,
})
const SCREEN = fields<TerminalScreen>({
  lines: true,
  changed: true,
  cursorRow: true,
  cursorColumn: true,
  cursorHidden: true,
  title: true,
  alternateScreen: true,
  columns: true,
  rows: true,
})

const fieldsOf = (data: object | undefined): string[] => Object.keys(data ?? {}).toSorted()

beforeAll(async () => {
  await terminals.exec('s', 'true')
})

test('a command of a session is told in one shape, however far it came', async () => {
  const ended = await terminals.exec('s', 'printf out; exit_with() { return 3; }; exit_with')
  expectTypeOf(ended.data).toEqualTypeOf<ShellExecData | undefined>()
  const known = {
    id: 's',
    open: true,
    pid: expect.any(Number),
    signal: null,
    ceiling: null,
    exitMeaning: null,
    fullScreen: false,
    before: '',
    beforeExitCode: null,
    droppedBytes: 0,
    more: false,
    spillPath: null,
    spillBytes: null,
    torn: false,
    thrownAway: null,
    waitsForInput: false,
    stopped: false,
  }
  const atEnd = { ...known, running: false, exitCode: 3, output: 'out', timedOut: false }
  expect(ended.data).toEqual(atEnd)
  const goesOn = { ...known, running: true, exitCode: null, output: '', timedOut: true }
  expect((await terminals.exec('s', 'read x', { timeout: 0 })).data).toEqual(goesOn)
  await terminals.write('s', 'ok')
  // For its end nobody waits: nothing is said of how far it came.
  expect((await terminals.exec('s', 'read x', { block: false })).data).toEqual({ ...goesOn, timedOut: false })
  await terminals.write('s', 'ok')
  const gone = await terminals.exec('s', 'exit 4')
  expect(gone.data).toEqual({ ...atEnd, open: false, exitCode: 4, output: 'exit' })
  for (const { data } of [ended, gone]) expect(fieldsOf(data)).toEqual(EXEC)
})

test('looks, screens, lists, sizes, ends and help have the fields of their types', async () => {
  await terminals.exec('t', 'true')
  const [entry] = (await terminals.list()).data ?? []
  expect(fieldsOf(entry)).toEqual(ENTRY)
  expect(fieldsOf((await terminals.view('t')).data)).toEqual(VIEW)
  expect(fieldsOf((await terminals.write('t', 'true')).data)).toEqual(VIEW)
  expect(fieldsOf((await terminals.screen('t')).data)).toEqual(SCREEN)
  expect((await terminals.resize('t', 90, 30)).data).toEqual({ id: 't', columns: 90, rows: 30 })
  expect((await terminals.askForHelp('t', 'say something')).data).toEqual({ id: 't', answered: true, exitCode: 0 })
  expect((await terminals.kill('t')).data).toEqual({ id: 't', running: false, open: false })
  expect((await terminals.view('t')).data).toMatchObject({ open: false, atPrompt: false, running: false })
})

test('commands, also in the background, have the fields of their types', async () => {
  const ran = await tools.call('execute', { command: 'echo out; echo err >&2' })
  expectTypeOf(ran.data).toEqualTypeOf<ExecuteData | undefined>()
  expect(ran.data).toEqual({
    output: expect.stringContaining('out'),
    stdout: 'out\n',
    stderr: 'err\n',
    exitCode: 0,
    timedOut: false,
    aborted: false,
    truncated: false,
    durationMs: expect.any(Number),
    peakMemoryBytes: expect.any(Number),
  })
  const { data: begun } = await tools.call('run_in_background', { command: 'cat' })
  expect(begun).toEqual({ shellId: 'bg_1', pid: expect.any(Number) })
  const shell_id = begun?.shellId
  expect((await tools.call('shell_input', { shell_id, text: 'x' })).data).toEqual({
    shellId: 'bg_1',
    bytes: 2,
    closed: false,
    waits: expect.any(Boolean),
  })
  expect(fieldsOf((await tools.call('read_output', { shell_id })).data)).toEqual(READ)
  const [entry] = (await tools.call('list_shells', {})).data ?? []
  expect(fieldsOf(entry)).toEqual(ENTRY)
  expect((await tools.call('kill_shell', { shell_id })).data).toEqual({ shellId: 'bg_1', killed: true })
})

test('of a tool without a fixed shape, and of a name that only the run knows, nothing is said', () => {
  expectTypeOf(tools.call<'read_file'>)
    .returns.resolves.toHaveProperty('data')
    .toEqualTypeOf<unknown>()
  expectTypeOf(tools.call<string>)
    .returns.resolves.toHaveProperty('data')
    .toEqualTypeOf<unknown>()
})
