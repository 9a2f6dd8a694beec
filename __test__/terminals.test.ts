// Terminals through the package.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import {
  createToolset,
  type GloveportError,
  type HelpRequest,
  InvalidInputError,
  LocalBackend,
  RunningCommand,
  StateBackend,
  Terminals,
  TerminalSession,
  type ToolResult,
} from 'gloveport'
import { afterAll, expect, test } from 'vitest'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'gloveport-terminals-')))
const backend = new LocalBackend({ root })
afterAll(async () => {
  await backend.close()
  rmSync(root, { recursive: true })
})

/** Reads until `text` came: a terminal hands on what it has, also half a line. */
async function readUntil(command: RunningCommand, text: string): Promise<string> {
  let all = ''
  while (!all.includes(text)) {
    const piece = await command.read()
    all += piece.text
    if (piece.ended) break
  }
  return all
}

/** The text of `result` and of all looks behind it, until `text` came. A look that comes too soon says that more is to come. */
async function shownUntil(look: () => Promise<ToolResult>, result: ToolResult, text: string): Promise<string> {
  let all = result.text
  while (!all.includes(text)) all += `\n${(await look()).text}`
  return all
}

test('a terminal is written to, looked at, resized, read to its end', async () => {
  const terminal = await backend.openTerminal({
    command: 'stty size; read x; stty size; exit 4',
    columns: 60,
    rows: 12,
  })
  expect(terminal).toBeInstanceOf(TerminalSession)
  expect(terminal).toBeInstanceOf(RunningCommand)
  expect(await readUntil(terminal, '\n')).toBe('12 60\r\n')
  expect(await terminal.screen()).toMatchObject({ lines: ['12 60'], cursorRow: 1, columns: 60, alternateScreen: false })
  const png = Buffer.from(await terminal.screenPng())
  expect([png.subarray(1, 4).toString(), png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual(['PNG', 480, 192])
  await terminal.resize(80, 20)
  for (const [columns, rows] of [
    [0, 20],
    [3, 20],
    [80, 1],
    [501, 20],
  ] as const) {
    await expect(terminal.resize(columns, rows)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  }
  await expect(terminal.write('x'.repeat(4_096) + '\r')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await terminal.write('go\r')
  let rest = ''
  for await (const text of terminal) rest += text
  expect(rest).toBe('go\r\n20 80\r\n')
  expect(await terminal.wait()).toMatchObject({ exitCode: 4 })
  // What it showed last stays: a size that was refused cut it.
  await expect(terminal.resize(4, 2)).rejects.toMatchObject({ code: 'CLOSED' })
  expect(await terminal.screen()).toMatchObject({ lines: ['12 60', 'go', '20 80'], columns: 80, rows: 20 })
})

test('the options of the methods reach the tools', async () => {
  const own = new Terminals({ backend, requireExecuteApproval: false })
  mkdirSync(join(root, 'below'), { recursive: true })
  expect((await own.exec('o', 'pwd', { cwd: join(root, 'below') })).text).toBe(`${root}/below`)
  expect((await own.exec('o', 'read a; read b; echo "[$a$b]"', { block: false })).text).toContain(
    "Session 'o' started.",
  )
  await own.write('o', 'x', { enter: false })
  await own.write('o', 'y')
  const answered = await own.write('o', 'z', { enter: false, keys: ['enter'] })
  expect(await shownUntil(async () => own.view('o', { wait: 30_000 }), answered, 'FINISHED')).toContain('[xyz]')
  await own.screen('o')
  await own.exec('o', 'echo seen')
  expect((await own.screen('o', { changes: true })).text).toMatch(/^\d+: .*echo seen\n\d+: seen\n\d+: /)
  expect((await own.screen('o', { changes: true })).text).toBe('[Nothing changed]')
  await own.close()
})

test('sessions keep their shell; the methods are the tools', async () => {
  const terminals = new Terminals({ backend, requireExecuteApproval: false })
  expect((await terminals.exec('main', 'mkdir sub; cd sub; export X=1')).isError).toBe(false)
  expect((await terminals.exec('main', 'pwd; echo $X')).text).toBe(`${root}/sub\n1`)
  const left = await terminals.exec('main', 'read line; echo "got $line"', { timeout: 200 })
  expect(left.text).toMatch(/^Command still runs after 0.2 s/)
  const answered = await terminals.write('main', 'it')
  const finished = await shownUntil(() => terminals.view('main', { wait: 30_000 }), answered, 'COMMAND FINISHED')
  expect(finished).toMatch(/^got it\n[^]*^--- COMMAND FINISHED \(exit code 0\) ---$/m)
  expect((await terminals.view('main', { wait: 0 })).text).toMatch(/^\[No new output\]/)
  expect((await terminals.resize('main', 90, 30)).isError).toBe(false)
  expect((await terminals.screen('main')).text).toMatch(/^\[screen 90 x 30, cursor line/)
  expect((await terminals.screen('main', { image: true })).parts).toMatchObject([
    { type: 'image', mediaType: 'image/png' },
  ])
  expect((await terminals.list()).text).toMatch(/^main {2}idle/)
  expect((await terminals.kill('main')).text).toBe("Process in session 'main' has been terminated.")
  await terminals.close()
  await expect(terminals.list()).rejects.toMatchObject({ code: 'CLOSED' })
})

test("`!` is a letter at a session's own prompt, and asks in a line for what runs there", async () => {
  const terminals = new Terminals({ backend, requireExecuteApproval: false })
  const script = "cat > hi.sh <<'E'\n#!/bin/sh\necho hi!there\nE\nsh hi.sh; echo a!e"
  expect((await terminals.exec('s', script)).text).toBe('hi!there\na!e')
  await terminals.exec('s', 'cat', { block: false })
  await expect(terminals.write('s', '!e\n')).rejects.toMatchObject({ code: 'APPROVAL_REQUIRED' })
  await terminals.close()
})

test('a program of Node that asks is told of before the time of the call is over', async () => {
  const terminals = new Terminals({ backend, requireExecuteApproval: false })
  const program = [
    "const lines = require('node:readline').createInterface(process.stdin, process.stdout)",
    "lines.question('Name: ', (name) => { console.log(`got ${name}`); lines.close() })",
  ].join('\n')
  writeFileSync(join(root, 'asks.cjs'), program)
  const asked = await terminals.exec('n', `${process.execPath} asks.cjs`, { timeout: 120_000 })
  expect(asked.text).toMatch(/^The command waits for input in session 'n'/)
  expect(asked.data).toMatchObject({ waitsForInput: true, running: true, timedOut: false, exitCode: null })
  const answered = await terminals.write('n', 'Ada')
  const finished = await shownUntil(() => terminals.view('n', { wait: 30_000 }), answered, 'COMMAND FINISHED')
  expect(finished).toMatch(/^got Ada\n[^]*^--- COMMAND FINISHED \(exit code 0\) ---$/m)
  await terminals.close()
})

test('whoever is asked about a key that ends a line is told the line that was typed before it', async () => {
  const asked: string[] = []
  const terminals = new Terminals({
    backend,
    approve: ({ description }) => {
      asked.push(description)
      return { approved: true }
    },
  })
  await terminals.exec('p', 'cat', { timeout: 0 })
  await terminals.write('p', 'touch ', { enter: false })
  await terminals.write('p', 'pwn', { enter: false })
  expect((await terminals.write('p', undefined, { keys: ['enter'] })).text).toContain('touch pwn')
  await terminals.write('p', 'own ', { enter: false })
  await terminals.write('p', 'words')
  expect(asked.filter((description) => description.includes('It ends the line'))).toEqual([
    'Press keys in terminal session p: enter\nIt ends the line: touch pwn',
    'Type into terminal session p\nIt ends the line: own words\nText with a return: words',
  ])
  await terminals.close()
})

test('a person answers for the model, in their own words and with the session before their eyes', async () => {
  const seen: unknown[] = []
  const toolset = createToolset({
    backend,
    tools: ['terminal'],
    requireExecuteApproval: false,
    onHelp: async (request, { context }) => {
      seen.push(request, context)
      return request.exists ? 'sesame' : 'echo by hand'
    },
  })
  const help = { id: 'h', prompt: 'Type\u001b[2J the password.' }
  const fresh = await toolset.call('shell_ask_user_for_help', help, { context: 'ctx' })
  expect(fresh.text).toBe("The person's answer was run in the new session 'h':\nby hand")
  expect(seen).toMatchObject([{ sessionId: 'h', screen: '', exists: false, runsAnswer: true }, 'ctx'])
  expect((seen[0] as { prompt: string }).prompt).not.toContain('\u001b')
  await toolset.call('shell_exec', {
    id: 'h',
    command: 'printf "Password: "; read -rs p; echo; echo "$p" | wc -c',
    block: false,
  })
  // At the beginning of a row: the command that is shown while it is typed says the same.
  await expect.poll(async () => (await toolset.call('shell_screen', { id: 'h' })).text).toMatch(/^Password:/m)
  const answered = await toolset.call('shell_ask_user_for_help', help)
  expect(answered.text).toMatch(/^The person answered; session 'h' went on:\n/)
  await shownUntil(() => toolset.call('shell_view', { id: 'h', wait: 30 }), answered, '7\n--- COMMAND FINISHED')
  expect(seen[2]).toMatchObject({ screen: expect.stringContaining('Password:'), runsAnswer: false })
  // What they answered may be a secret: it is listed nowhere.
  expect((await toolset.call('shell_list', {})).text).toBe("h  idle  (a person's command)")
  await toolset.close()
})

/** A toolset whose person answers with `answer`, when `before` is done. */
function helped(answer: string, before: () => Promise<unknown> = async () => {}) {
  const requests: HelpRequest[] = []
  const toolset = createToolset({
    backend,
    tools: ['terminal'],
    requireExecuteApproval: false,
    permissions: { execute: { default: 'allow', rules: [{ pattern: 'touch *', action: 'deny' }] } },
    onHelp: async (request) => {
      requests.push(request)
      await before()
      return answer
    },
  })
  return { toolset, requests }
}

test('nothing that a model typed before stands in the line of a person who answers', async () => {
  const { toolset, requests } = helped('echo mine')
  const call = async (tool: string, input: object) => toolset.call(tool, { id: 'h', ...input })
  await call('shell_exec', { command: 'stty -echo; until [ -e typed ]; do sleep 0.01; done', block: false })
  // What runs reads nothing, and shows nothing of it.
  const typed = await call('shell_write_to_process', { command: 'echo theirs; ', enter: false })
  expect(typed.isError).toBe(false)
  await backend.write('typed', '')
  await expect.poll(async () => (await call('shell_view', {})).data).toMatchObject({ atPrompt: true })
  const answered = await call('shell_ask_user_for_help', { prompt: 'Which branch?' })
  const told = await shownUntil(async () => call('shell_view', { wait: 30 }), answered, 'mine')
  expect(told).not.toContain('theirs')
  expect(requests).toMatchObject([{ runsAnswer: true }])
  await toolset.close()
})

test('a person is asked for nothing where a line is open in the program that runs', async () => {
  const { toolset, requests } = helped('yes')
  const call = async (tool: string, input: object) => toolset.call(tool, { id: 'h', ...input })
  await call('shell_exec', { command: 'read x; echo "got $x."', block: false })
  await call('shell_write_to_process', { command: 'begun ', enter: false })
  const refused = await call('shell_ask_user_for_help', { prompt: 'Go on?' })
  expect(refused).toMatchObject({ isError: true, code: 'INVALID_INPUT' })
  expect(refused.text).toContain('end it with `enter`')
  expect(requests).toEqual([])
  await toolset.close()
})

test('a person is shown no name of a session that is none', async () => {
  const { toolset, requests } = helped('yes')
  const asked = await toolset.call('shell_ask_user_for_help', { id: '\u001b]52;c;eA==\u0007', prompt: 'x' })
  expect(asked).toMatchObject({ isError: true, code: 'INVALID_INPUT' })
  expect(requests).toEqual([])
  await toolset.close()
})

test('a folder for logs of sessions that is not there is refused before anything is not logged', () => {
  const options = { backend, tools: ['terminal'] as const, sessionLogs: { directory: join(root, 'none') } }
  expect(() => createToolset(options)).toThrow('`sessionLogs.directory` is no directory')
})

test('an answer to what is over is typed nowhere', async () => {
  let over: () => Promise<unknown>
  const { toolset } = helped('s3cret; echo ran', async () => over())
  const call = async (tool: string, input: object) => toolset.call(tool, { id: 'h', ...input })
  await call('shell_exec', { command: 'printf "Password: "; until [ -e gone ]; do sleep 0.01; done', block: false })
  over = async () => {
    await backend.write('gone', '')
    await expect.poll(async () => (await call('shell_screen', {})).text).toMatch(/^Password: [#$]/m)
  }
  const answered = await call('shell_ask_user_for_help', { prompt: 'Type the password.' })
  expect(answered).toMatchObject({ isError: true, code: 'BUSY' })
  expect((await call('shell_exec', { command: 'echo on' })).text).not.toMatch(/s3cret|ran/)
  await toolset.close()
})

test("a helper that fails is the application's own error", async () => {
  const toolset = createToolset({
    backend,
    tools: ['terminal'],
    requireExecuteApproval: false,
    onHelp: () => {
      throw new Error('mine')
    },
  })
  await expect(toolset.call('shell_ask_user_for_help', { id: 'h', prompt: 'x' })).rejects.toThrow('mine')
  await toolset.close()
})

const wrong = (options: object): never => options as never

/** They were swallowed, and a time of `'5'` was one of 5 ms. */
test.each<[string, (terminals: Terminals) => Promise<unknown>, RegExp]>([
  ['exec: onOutput', (all) => all.exec('o', 'true', wrong({ onOutput: () => {} })), /`options\.onOutput`.*`view`/],
  ['list: onOutput', (all) => all.list(wrong({ onOutput: () => {} })), /`options\.onOutput`.*`view`/],
  [
    'exec: size',
    (all) => all.exec('o', 'true', wrong({ size: 80 })),
    /`options\.size` is not known; there are block, timeout, cwd, env, columns, rows, callId, signal, context, approval\./,
  ],
  ['exec: text as timeout', (all) => all.exec('o', 'true', wrong({ timeout: '5' })), /`timeout`.*not a string/],
  ['exec: NaN as timeout', (all) => all.exec('o', 'true', { timeout: NaN }), /`timeout`.*not NaN/],
  ['exec: a time before now', (all) => all.exec('o', 'true', { timeout: -5 }), /`timeout`.*not -5/],
  ['exec: no object', (all) => all.exec('o', 'true', wrong(['block'])), /`options` must be an object/],
  ['view: timeout', (all) => all.view('o', wrong({ timeout: 5 })), /`options\.timeout`.*there are wait, callId/],
  ['view: text as wait', (all) => all.view('o', wrong({ wait: '5' })), /`wait`.*not a string/],
  ['write: key', (all) => all.write('o', 'x', wrong({ key: 'up' })), /`options\.key`.*there are enter, keys, callId/],
  ['screen: png', (all) => all.screen('o', wrong({ png: true })), /`options\.png`.*there are image, changes, callId/],
  ['kill: signal by another name', (all) => all.kill('o', wrong({ abort: 1 })), /`options\.abort`.*there are callId/],
  ['resize: columns', (all) => all.resize('o', 80, 24, wrong({ columns: 80 })), /`options\.columns` is not known/],
  ['list: bogus', (all) => all.list(wrong({ bogus: 1 })), /`options\.bogus` is not known/],
  ['askForHelp: bogus', (all) => all.askForHelp('o', 'x', wrong({ bogus: 1 })), /`options\.bogus` is not known/],
])('an option of a terminal that is not right is refused in words (%s)', async (_name, call, message) => {
  const terminals = new Terminals({ backend, requireExecuteApproval: false })
  const error = await call(terminals).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(InvalidInputError)
  expect((error as Error).message).toMatch(message)
  expect((await terminals.list()).text).not.toMatch(/^o /m)
  await terminals.close()
})

test('a session is opened with variables and a size, and one that is open keeps its own', async () => {
  const terminals = new Terminals({ backend, requireExecuteApproval: false })
  const own = { env: { GREETING: 'hé llo' }, columns: 90, rows: 30 }
  const look = 'echo "$GREETING"; stty size'
  expect((await terminals.exec('own', look, own)).text).toBe('hé llo\n30 90')
  expect((await terminals.exec('own', look, own)).text).toBe('hé llo\n30 90')
  expect((await terminals.exec('usual', look, wrong({ env: null, columns: null }))).text).toBe('\n40 120')
  for (const [other, message] of [
    [{ env: { GREETING: 'x' } }, /Session 'own' is open with other variables: leave `env`/],
    [{ env: {} }, /other variables/],
    [{ columns: 80 }, /Session 'own' is open with 90 columns and 30 rows: leave/],
    [{ ...own, rows: 31 }, /90 columns and 30 rows/],
  ] as const) {
    const refused = await terminals.exec('own', 'touch refused', other)
    expect(refused).toMatchObject({ isError: true, code: 'INVALID_INPUT', text: expect.stringMatching(message) })
  }
  expect(await backend.stat('refused')).toBeNull()
  await terminals.resize('own', 80, 24)
  expect((await terminals.exec('own', look, { columns: 80, rows: 24 })).text).toBe('hé llo\n24 80')
  await terminals.close()
})

/** The shell ignores the request to end: it saw its program end, and ran what was behind that. */
test('a session that is ended runs nothing more of its line', async () => {
  const ended = async (command: string, end: (own: Terminals) => Promise<unknown>) => {
    const own = new Terminals({ backend, requireExecuteApproval: false })
    await own.exec('main', `${command}; touch went-on`, { block: false })
    await end(own)
    await own.close()
  }
  await ended('sleep 300', async (own) => own.kill('main'))
  await ended('sleep 300', async () => {})
  await ended("bash --norc -ic 'sleep 300; touch went-on'", async (own) => own.kill('main'))
  await ended('sleep 300\necho', async (own) => own.kill('main'))
  const [own, controller] = [new Terminals({ backend, requireExecuteApproval: false }), new AbortController()]
  const { signal } = controller
  const call = own.exec('main', 'echo begun; env --ignore-signal=INT sleep 300; touch went-on', { signal })
  await expect.poll(async () => (await own.screen('main')).text).toMatch(/^begun$/m)
  controller.abort()
  await expect(call).rejects.toMatchObject({ name: 'AbortError' })
  await own.close()
  expect(readdirSync(root)).not.toContain('went-on')
})

/** A call that was aborted waited 3 s for whoever was asked, and what a form had ended with a line end was typed with one more. */
test('a person who does not answer holds no call that is aborted, and the session goes back', async () => {
  const controller = new AbortController()
  let isAsked: (signal: AbortSignal | undefined) => void
  const asked = new Promise<AbortSignal | undefined>((resolve) => (isAsked = resolve))
  const toolset = createToolset({
    backend,
    tools: ['terminal'],
    requireExecuteApproval: false,
    onHelp: async (_request, { signal }) => {
      isAsked(signal)
      return new Promise<string>(() => {})
    },
  })
  await toolset.call('shell_exec', { id: 'h', command: 'true' })
  const help = toolset.call('shell_ask_user_for_help', { id: 'h', prompt: 'x' }, { signal: controller.signal })
  const refused = expect(help).rejects.toMatchObject({ name: 'AbortError' })
  const told = await asked
  expect((await toolset.call('shell_exec', { id: 'h', command: 'true' })).code).toBe('BUSY')
  controller.abort()
  await refused
  await expect.poll(() => told?.aborted).toBe(true)
  expect((await toolset.call('shell_exec', { id: 'h', command: 'echo mine' })).text).toContain('mine')
  await toolset.close()
})

test('a line end behind an answer answers nothing more', async () => {
  const { toolset } = helped('sesame\r\n')
  const call = async (tool: string, input: object) => toolset.call(tool, { id: 'h', ...input })
  await call('shell_exec', { command: 'read a; read b; echo "[$a] [$b]"', block: false })
  await call('shell_ask_user_for_help', { prompt: 'Type the password.' })
  const answered = await call('shell_write_to_process', { command: 'second' })
  const told = await shownUntil(async () => call('shell_view', { wait: 30 }), answered, 'COMMAND FINISHED')
  expect(told).toContain('[sesame] [second]')
  await toolset.close()
})

test('a log that is full ends with a line that says so', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gloveport-logs-'))
  const terminals = new Terminals({
    backend,
    requireExecuteApproval: false,
    sessionLogs: { directory, maxBytes: 2_000 },
  })
  await terminals.exec('long', 'seq 1 10000')
  await terminals.close()
  const log = readFileSync(join(directory, 'session_long.log'), 'utf8')
  expect(log.split('\n').at(-2)).toBe('[The log ends here: it is full. The session went on.]')
  expect(log.length).toBeLessThan(2_100)
  expect(() => new Terminals({ backend, sessionLogs: { directory, maxBytes: wrong('2' as never) } })).toThrow(
    /at 'sessionLogs\.maxBytes': wrong type: string "2", expected a whole number/,
  )
  rmSync(directory, { recursive: true })
})

test('terminals over a backend that opens none say so at once', () => {
  const message = (make: () => unknown): string => {
    try {
      make()
    } catch (error) {
      return `${(error as GloveportError).code}: ${(error as Error).message}`
    }
    return 'none'
  }
  expect(message(() => new Terminals({ backend: new StateBackend() }))).toBe(
    "UNSUPPORTED: The tool 'shell_exec' cannot run here: These files are held in memory; there is no machine to run commands on.",
  )
  const files = new LocalBackend({ root, execute: false })
  expect(message(() => new Terminals({ backend: files }))).toMatch(
    /^UNSUPPORTED: The tool 'shell_exec' cannot run here: /,
  )
  expect(createToolset({ backend: files, tools: ['terminal'] }).tools).toEqual([])
})

/** A `timeout` of null was one of 0 s, so that the call did not wait. */
test('an option of a terminal that is null is the default, and nothing is no option', async () => {
  const terminals = new Terminals({ backend, requireExecuteApproval: false })
  const nothing = wrong({ timeout: null, block: null, cwd: null, onOutput: null, bogus: undefined })
  expect((await terminals.exec('main', 'sleep 0.2; echo waited', nothing)).text).toBe('waited')
  const looks = [await terminals.view('main', wrong({ wait: null })), await terminals.view('main')]
  expect(looks.map(({ isError, text }) => [isError, text])).toEqual([
    [false, looks[1]?.text],
    [false, looks[0]?.text],
  ])
  expect((await terminals.write('main', 'true', wrong({ enter: null, keys: null }))).isError).toBe(false)
  expect((await terminals.screen('main', wrong({ image: null }))).parts).toBeUndefined()
  expect((await terminals.list(null as never)).isError).toBe(false)
  await terminals.close()
})
