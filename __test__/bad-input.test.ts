// Bad input of a program: a typed error that says what would work, nothing lost, nothing thrown synchronously.

import { runInNewContext } from 'node:vm'

import {
  GloveportError,
  LocalBackend,
  type RunningCommand,
  setUpEnvironment,
  Terminals,
  type TerminalSession,
  type ToolResult,
} from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { localBackend, rejection, toolsetOver } from './support.js'

const cycle: Record<string, unknown> = {}
cycle['self'] = cycle
const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) as unknown

const ARGUMENTS: readonly [string, unknown, RegExp][] = [
  ['NaN', { path: 'a.txt', offset: NaN }, /input\.offset.*NaN/],
  ['an infinity', { path: 'a.txt', limit: -Infinity }, /input\.limit.*-Infinity/],
  ['a BigInt', { path: 'a.txt', offset: 1n }, /input\.offset.*BigInt/],
  ['a function', { path: () => 'a.txt' }, /input\.path.*function/],
  ['a symbol', { path: Symbol('a') }, /input\.path.*symbol/],
  ['a cycle', cycle, /input\.self.*contains itself/],
  ['undefined in an array', { path: ['a', undefined] }, /input\.path\[1\].*undefined/],
  ['half a surrogate pair', { path: 'a\uD800' }, /input\.path.*surrogate/],
  ['a name with half a surrogate pair', { 'a\uDC00': 1 }, /surrogate/],
  ['a Map', { path: new Map() }, /input\.path.*Map/],
  ['a Date', { path: new Date(0) }, /input\.path.*Date/],
  ['deep nesting', deep, /nested deeper/],
  ['nothing', undefined, /`input`.*undefined/],
  [
    'a getter that throws',
    {
      get path() {
        throw new Error('mine')
      },
    },
    /input/,
  ],
]

test.each(ARGUMENTS)('an input that is or holds %s is refused with the place named', async (_name, input, message) => {
  const toolset = await toolsetOver({ 'a.txt': 'a' })
  const result = await toolset.call('read_file', input)
  expect(result).toMatchObject({ isError: true, code: 'INVALID_INPUT', text: expect.stringMatching(message) })
})

test('plain objects of another realm are plain, and a field that is undefined is absent', async () => {
  const toolset = await toolsetOver({ 'a.txt': 'a' })
  const input = runInNewContext('({ path: "a.txt", offset: undefined })') as unknown
  expect(await toolset.call('read_file', input)).toMatchObject({ isError: false })
})

const FROM_A_MODEL: readonly [string, string, unknown, string][] = [
  ['a wrong type', 'read_file', { path: 42 }, 'INVALID_INPUT'],
  ['an unknown field', 'read_file', { path: 'a.txt', colour: 'red' }, 'INVALID_INPUT'],
  ['a missing field', 'write_file', { path: 'a.txt' }, 'INVALID_INPUT'],
  ['a negative offset (D2)', 'read_file', { path: 'a.txt', offset: -1 }, 'INVALID_INPUT'],
  ['a fraction', 'read_file', { path: 'a.txt', offset: 0.5 }, 'INVALID_INPUT'],
  ['no object', 'read_file', 'a.txt', 'INVALID_INPUT'],
  ['null', 'read_file', null, 'INVALID_INPUT'],
  ['NUL in a path', 'read_file', { path: 'a\0.txt' }, 'INVALID_INPUT'],
  ['an unknown tool', 'nope', {}, 'UNKNOWN_TOOL'],
  ['a path outside', 'read_file', { path: '/etc/passwd' }, 'PATH_NOT_IN_SANDBOX'],
  ['a very long path', 'read_file', { path: 'a/'.repeat(100_000) }, 'INVALID_INPUT'],
]

test.each(FROM_A_MODEL)('a model that sends %s is told what would work', async (_name, tool, input, code) => {
  const toolset = await toolsetOver({ 'a.txt': 'a' })
  const result = await toolset.call(tool, input)
  expect(result).toMatchObject({ isError: true, code })
  expect(result.text.length).toBeGreaterThan(20)
  expect(result.text.length).toBeLessThan(2_000)
})

const wrong = (value: unknown): never => value as never

const BACKEND_CALLS: readonly [string, (backend: LocalBackend) => Promise<unknown>][] = [
  ['read without a path', (backend) => backend.read(wrong(undefined))],
  ['read of a number', (backend) => backend.read(wrong(42))],
  ['read with a misspelt option', (backend) => backend.read('a.txt', wrong({ offest: 1 }))],
  ['read with options that are no object', (backend) => backend.read('a.txt', wrong(5))],
  ['read with NaN', (backend) => backend.read('a.txt', { offset: NaN })],
  ['read with NUL', (backend) => backend.read('a\0')],
  ['read with a signal that is none', (backend) => backend.read('a.txt', wrong({ signal: {} }))],
  ['write without content', (backend) => backend.write('b.txt', wrong(undefined))],
  ['write of an object', (backend) => backend.write('b.txt', wrong({ a: 1 }))],
  ['write of half a surrogate pair', (backend) => backend.write('b.txt', 'a\uD800b')],
  ['edit without an edit', (backend) => backend.edit('a.txt', wrong(undefined))],
  ['edit with a number', (backend) => backend.edit('a.txt', wrong({ oldString: 1, newString: 'b' }))],
  ['move without a target', (backend) => backend.move('a.txt', wrong(undefined))],
  ['glob without a pattern', (backend) => backend.glob(wrong(undefined))],
  ['grep with a broken pattern', (backend) => backend.grep('(')],
  ['execute of a number', (backend) => backend.execute(wrong(1))],
  ['execute with a timeout that is no number', (backend) => backend.execute('true', wrong({ timeout: '1s' }))],
  ['execute with onOutput that is no function', (backend) => backend.execute('true', wrong({ onOutput: 1 }))],
]

test.each(BACKEND_CALLS)('%s rejects with InvalidInputError and changes nothing', async (_name, call) => {
  const backend = await localBackend({ 'a.txt': 'a' })
  const error = await rejection(call(backend))
  expect(error).toMatchObject({ code: 'INVALID_INPUT' })
  expect((error as Error).message.length).toBeGreaterThan(15)
  expect((await backend.ls('.')).map((entry) => entry.name)).toEqual(['a.txt'])
  expect((await backend.read('a.txt')).content).toBe('a')
})

test('a huge string is written whole, or refused with the limit', async () => {
  const backend = await localBackend()
  const large = 'x'.repeat(32 << 20)
  expect(await backend.write('large.txt', large)).toMatchObject({ bytes: large.length })
  expect(await rejection(backend.write('huge.txt', 'x'.repeat(65 << 20)))).toMatchObject({ code: 'FILE_TOO_LARGE' })
  expect(await backend.stat('huge.txt')).toBeNull()
})

test.each([
  ['options that are no object', wrong(5)],
  ['a root that is no string', wrong({ root: 5 })],
  ['an unknown option', wrong({ rot: '.' })],
  ['a switch that is none', wrong({ startAhead: 'no' })],
])('a backend with %s throws InvalidInputError', (_name, options) => {
  expect(() => new LocalBackend(options)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
})

test('a root that does not exist is an error that does not name inner workings', () => {
  expect(() => new LocalBackend({ root: '/nonexistent/gloveport' })).toThrow(GloveportError)
})

test.each([
  ['a name that is no string', wrong(5), {}],
  ['a name with half a surrogate pair', 'a\uD800', {}],
  ['options that are no object', 'ls', wrong('x')],
  ['a call id that is no string', 'ls', wrong({ callId: 5 })],
  ['a signal that is none', 'ls', wrong({ signal: 'x' })],
  ['a grant that is no object', 'ls', wrong({ approval: true })],
  ['an option that is not known', 'ls', wrong({ timeout: 1 })],
])('a call with %s rejects with InvalidInputError', async (_name, name, options) => {
  const toolset = await toolsetOver({})
  expect(await rejection(toolset.call(name, {}, options))).toMatchObject({ code: 'INVALID_INPUT' })
})

/** They were swallowed: a call with a `timeout` ran as long as it took. */
test('an option of a call, of an answer and of what is around them that is not known is refused with those there are', async () => {
  const failures: unknown[] = []
  const toolset = await toolsetOver({}, { onError: (error) => failures.push(error) })
  const message = '`options.timeout` is not known; there are callId, signal, context, approval, onOutput.'
  expect(await rejection(toolset.call('ls', {}, wrong({ timeout: 1 })))).toMatchObject({ message })
  expect((await toolset.answer('ls', {}, wrong({ timeout: 1 }))).isError).toBe(true)
  expect(failures).toMatchObject([{ code: 'INVALID_INPUT', message }])
  expect(await toolset.call('ls', {}, wrong({ timeout: undefined }))).toMatchObject({ isError: false })
  expect(await rejection(toolset.refresh(wrong({ timeout: 1 })))).toMatchObject({ code: 'INVALID_INPUT' })
  expect(await rejection(toolset.assess('ls', {}, wrong({ env: {} })))).toMatchObject({
    message: '`options.env` is not known; there are callId, signal.',
  })
  expect(await rejection(toolset.resume([], [], wrong({ timeout: 1 })))).toMatchObject({ code: 'INVALID_INPUT' })
  expect(() => toolset.subset(['ls'], wrong({ autoinherit: true }))).toThrow(/`options\.autoinherit` is not known/)
})

/** What takes options of commands and terminals. */
interface Commands {
  readonly backend: LocalBackend
  readonly running: RunningCommand
  readonly terminal: TerminalSession
  readonly terminals: Terminals
}

type CommandCall = (on: Commands, options: never) => Promise<unknown>

const execute: CommandCall = ({ backend }, options) => backend.execute('touch made', options)
const openTerminal: CommandCall = ({ backend }, options) => backend.openTerminal(options)
const exec: CommandCall = ({ terminals }, options) => terminals.exec('o', 'touch made', options)
const setUp: CommandCall = ({ backend }, options) =>
  setUpEnvironment(backend, { kind: 'node', ...(options as object) } as never)

const NUMBER = 'expected a whole number that is not negative'
const SIZE = 'expected a whole number from 0 to 65535'
const OBJECT = 'expected an object'

/** The call, what it is given, and all that is said of that: the field, what it is, and what would work. */
const COMMAND_CALLS: readonly [string, CommandCall, unknown, string | RegExp][] = [
  ...[['execute', execute] as const, ['openTerminal', openTerminal] as const].flatMap(
    ([name, call]): [string, CommandCall, unknown, string][] => [
      [
        name,
        call,
        { cwd: 3 },
        `The arguments of ${name} are not right at 'cwd': wrong type: integer \`3\`, expected a string.`,
      ],
      [
        name,
        call,
        { env: { A: 1 } },
        `The arguments of ${name} are not right at 'env.A': wrong type: integer \`1\`, expected a string.`,
      ],
      [name, call, { env: ['A=1'] }, `The arguments of ${name} are not right at 'env': found an array, ${OBJECT}.`],
      [
        name,
        call,
        { limits: 5 },
        `The arguments of ${name} are not right at 'limits': wrong type: integer \`5\`, ${OBJECT}.`,
      ],
      [
        name,
        call,
        { limits: { cpuMs: '1' } },
        `The arguments of ${name} are not right at 'limits.cpuMs': wrong type: string "1", ${NUMBER}.`,
      ],
      [
        name,
        call,
        { signal: {} },
        '`signal` must be an AbortSignal, such as `new AbortController().signal`, not an object.',
      ],
      [name, call, 5, '`options` must be an object, not a number.'],
    ],
  ),
  [
    'execute',
    execute,
    { timeout: '5' },
    `The arguments of execute are not right at 'timeout': wrong type: string "5", ${NUMBER}.`,
  ],
  [
    'execute',
    execute,
    { timeout: -1 },
    `The arguments of execute are not right at 'timeout': wrong value: integer \`-1\`, ${NUMBER}.`,
  ],
  [
    'execute',
    execute,
    { timeout: 0.5 },
    `The arguments of execute are not right at 'timeout': wrong type: floating point \`0.5\`, ${NUMBER}.`,
  ],
  ['execute', execute, { timeout: NaN }, '`execute.timeout` is NaN; use a finite number.'],
  ['execute', execute, { stdin: 5 }, '`stdin` must be a string or a Uint8Array, not a number.'],
  ['execute', execute, { onOutput: 5 }, '`onOutput` must be a function, not a number.'],
  ['execute', execute, { onOutput: 0 }, '`onOutput` must be a function, not a number.'],
  [
    'execute',
    execute,
    { stdin: new DataView(new ArrayBuffer(1)) },
    '`stdin` must be a string or a Uint8Array, not a DataView.',
  ],
  [
    'execute',
    execute,
    { stdin: '\ud800' },
    '`stdin` holds half a surrogate pair, which no encoding can carry; send whole characters.',
  ],
  [
    'execute',
    execute,
    { background: 'yes' },
    "The arguments of execute are not right at 'background': unknown variant `yes`, expected `end` or `keep`.",
  ],
  [
    'execute',
    execute,
    { onTimeout: true },
    "The arguments of execute are not right at 'onTimeout': wrong type: boolean `true`, expected a string.",
  ],
  [
    'execute',
    execute,
    { timeoutMs: 5 },
    '`options.timeoutMs` is not known; there are timeout, cwd, env, stdin, onOutput, limits, background, onTimeout, signal.',
  ],
  [
    'execute',
    execute,
    { limits: { ram: 1 } },
    /^The arguments of execute are not right at 'limits': unknown field `ram`, expected one of `memoryBytes`/,
  ],
  [
    'openTerminal',
    openTerminal,
    { command: 5 },
    "The arguments of openTerminal are not right at 'command': wrong type: integer `5`, expected a string.",
  ],
  [
    'openTerminal',
    openTerminal,
    { columns: '80' },
    `The arguments of openTerminal are not right at 'columns': wrong type: string "80", ${SIZE}.`,
  ],
  [
    'openTerminal',
    openTerminal,
    { rows: 70_000 },
    `The arguments of openTerminal are not right at 'rows': wrong value: integer \`70000\`, ${SIZE}.`,
  ],
  ['openTerminal', openTerminal, { columns: 0 }, /columns.*rows/],
  [
    'openTerminal',
    openTerminal,
    { size: 5 },
    '`options.size` is not known; there are command, cwd, env, columns, rows, limits, signal.',
  ],
  [
    'write',
    ({ running }, content) => running.write(content),
    5,
    '`content` must be a string or a Uint8Array, not a number.',
  ],
  [
    'write',
    ({ running }, options) => running.write('x', options),
    { end: true },
    '`options.end` is not known; there are signal.',
  ],
  [
    'closeInput',
    ({ running }, options) => running.closeInput(options),
    { now: 1 },
    '`options.now` is not known; there are signal.',
  ],
  [
    'read',
    ({ running }, options) => running.read(options),
    { wait: '5' },
    '`wait` must be a whole number of milliseconds from 0 on, not a string.',
  ],
  [
    'read',
    ({ running }, options) => running.read(options),
    { timeout: 5 },
    '`options.timeout` is not known; there are wait, signal.',
  ],
  [
    'wait',
    ({ running }, options) => running.wait(options),
    { timeout: 5 },
    '`options.timeout` is not known; there are signal.',
  ],
  [
    'wait',
    ({ running }, options) => running.wait(options),
    { signal: 'x' },
    /^`signal` must be an AbortSignal.*, not a string\.$/,
  ],
  ['signal', ({ running }, name) => running.signal(name), 9, '`signal` must be a string, not a number.'],
  [
    'signal',
    ({ running }, options) => running.signal('SIGINT', options),
    { wait: 5 },
    '`options.wait` is not known; there are signal.',
  ],
  [
    'resize',
    ({ terminal }, columns) => terminal.resize(columns, 5),
    '80',
    `The arguments of resize are not right at 'columns': wrong type: string "80", ${SIZE}.`,
  ],
  [
    'resize',
    ({ terminal }, options) => terminal.resize(80, 24, options),
    { rows: 5 },
    '`options.rows` is not known; there are signal.',
  ],
  [
    'screen',
    ({ terminal }, options) => terminal.screen(options),
    { image: true },
    '`options.image` is not known; there are signal.',
  ],
  [
    'screenPng',
    ({ terminal }, options) => terminal.screenPng(options),
    { scale: 2 },
    '`options.scale` is not known; there are signal.',
  ],
  [
    'painting',
    ({ terminal }, options) => terminal.painting(options),
    { since: 'x' },
    `The arguments of painting are not right at 'since': wrong type: string "x", ${NUMBER}.`,
  ],
  [
    'painting',
    ({ terminal }, options) => terminal.painting(options),
    { wait: 1 },
    '`options.wait` is not known; there are since, signal.',
  ],
  [
    'Terminals.exec',
    exec,
    { block: 'yes' },
    /^Error: The input of shell_exec is not right at 'block': wrong type: string "yes", expected true or false\. An input/,
  ],
  [
    'Terminals.exec',
    exec,
    { cwd: 3 },
    /^Error: The input of shell_exec is not right at 'cwd': wrong type: integer `3`, expected a string\./,
  ],
  [
    'Terminals.exec',
    exec,
    { timeout: '5' },
    '`timeout` must be a whole number of milliseconds from 0 on, not a string.',
  ],
  [
    'Terminals.exec',
    exec,
    { env: { A: 1 } },
    "The options are not right at 'env.A': wrong type: integer `1`, expected a string.",
  ],
  ['Terminals.exec', exec, { env: 'A=1' }, `The options are not right at 'env': wrong type: string "A=1", ${OBJECT}.`],
  [
    'Terminals.exec',
    exec,
    { columns: '80' },
    `The options are not right at 'columns': wrong type: string "80", ${SIZE}.`,
  ],
  ['Terminals.exec', exec, { rows: -1 }, `The options are not right at 'rows': wrong value: integer \`-1\`, ${SIZE}.`],
  ['Terminals.exec', exec, { rows: 0 }, /columns.*rows/],
  ['Terminals.exec', exec, { signal: {} }, /^`signal` must be an AbortSignal.*, not an object\.$/],
  [
    'Terminals.exec',
    ({ terminals }, command) => terminals.exec('o', command),
    5,
    /^Error: The input of shell_exec is not right at 'command': wrong type: integer `5`/,
  ],
  [
    'Terminals.exec',
    ({ terminals }, id) => terminals.exec(id, 'true'),
    5,
    /^Error: The input of shell_exec is not right at 'id': wrong type: integer `5`/,
  ],
  [
    'Terminals.view',
    ({ terminals }, options) => terminals.view('o', options),
    { wait: '5' },
    /^`wait` must be a whole number of milliseconds/,
  ],
  [
    'Terminals.write',
    ({ terminals }, options) => terminals.write('o', 'x', options),
    { enter: 1 },
    /not right at 'enter': wrong type: integer `1`, expected true or false/,
  ],
  [
    'Terminals.write',
    ({ terminals }, options) => terminals.write('o', 'x', options),
    { keys: 'up' },
    /not right at 'keys': wrong type: string "up", expected an array/,
  ],
  [
    'Terminals.write',
    ({ terminals }, options) => terminals.write('o', 'x', options),
    { keys: [1] },
    /not right at 'keys\[0\]': wrong type: integer `1`, expected a string/,
  ],
  [
    'Terminals.screen',
    ({ terminals }, options) => terminals.screen('o', options),
    { image: 'png' },
    /not right at 'image': wrong type: string "png", expected true or false/,
  ],
  [
    'Terminals.resize',
    ({ terminals }, columns) => terminals.resize('o', columns, 5),
    '80',
    /not right at 'columns': wrong type: string "80", expected a whole number from 0/,
  ],
  [
    'Terminals.askForHelp',
    ({ terminals }, prompt) => terminals.askForHelp('o', prompt),
    5,
    /not right at 'prompt': wrong type: integer `5`, expected a string/,
  ],
  ['setUpEnvironment', setUp, { kind: 'ruby' }, "`options.kind` must be 'python' or 'node', not \"ruby\"."],
  ['setUpEnvironment', setUp, { directory: 5 }, /^`options\.directory` must be text .*, not a number\.$/],
  ['setUpEnvironment', setUp, { interpreter: 5 }, /^`options\.interpreter` must be text .*, not a number\.$/],
  ['setUpEnvironment', setUp, { packages: 'zod' }, '`options.packages` must be an array of names, not a string.'],
  ['setUpEnvironment', setUp, { packages: [5] }, /^`options\.packages\[0\]` must be text .*, not a number\.$/],
  ['setUpEnvironment', setUp, { inherit: 'yes' }, '`options.inherit` must be true or false, not a string.'],
  ['setUpEnvironment', setUp, { pip: 0 }, '`options.pip` must be true or false, not a number.'],
  [
    'setUpEnvironment',
    setUp,
    { timeout: '5' },
    '`options.timeout` must be a whole number of milliseconds from 0 on, not a string.',
  ],
  ['setUpEnvironment', setUp, { signal: {} }, /^`signal` must be an AbortSignal.*, not an object\.$/],
  ['setUpEnvironment', setUp, { onProgress: 5 }, '`options.onProgress` must be a function, not a number.'],
  [
    'setUpEnvironment',
    setUp,
    { package: [] },
    /^`options\.package` is not known; there are kind, directory, interpreter, packages,/,
  ],
]

/** Options of running commands that are not there were swallowed; what was said named no field, or not what would work. */
test('whatever is not right about a command or a terminal is refused by its name, with what it is and what would work', async () => {
  const backend = await localBackend({ 'a.txt': 'a' })
  const left = await backend.execute('cat', { timeout: 50, onTimeout: 'background' })
  const terminal = await backend.openTerminal({ command: 'cat' })
  const terminals = new Terminals({ backend, requireExecuteApproval: false })
  onTestFinished(() => terminals.close())
  const on: Commands = { backend, running: left.process as RunningCommand, terminal, terminals }
  const told: [string, unknown, string | RegExp][] = []
  for (const [name, call, options] of COMMAND_CALLS) {
    const answer = await call(on, options as never).then(
      (value) => value as ToolResult,
      (thrown: unknown) => thrown as GloveportError,
    )
    told.push([name, options, answer instanceof Error ? answer.message : answer.text])
    expect(answer, `${name} ${JSON.stringify(options)}`).toMatchObject({ code: 'INVALID_INPUT' })
  }
  expect(told).toEqual(
    COMMAND_CALLS.map(([name, , options, message]) => [
      name,
      options,
      typeof message === 'string' ? message : expect.stringMatching(message),
    ]),
  )
  expect((await backend.ls('.')).map((entry) => entry.name)).toEqual(['a.txt'])
  expect((await terminals.list()).text).toBe('No sessions.')
  await on.running.kill()
  await terminal.kill()
})
