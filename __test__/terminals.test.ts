// Terminals through the package.

import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createToolset, LocalBackend, RunningCommand, Terminals, TerminalSession, type ToolResult } from 'gloveport'
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

/** The text of `result` and of all looks behind it, until `text` came. */
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
  await expect(terminal.resize(0, 20)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await terminal.write('go\r')
  let rest = ''
  for await (const text of terminal) rest += text
  expect(rest).toBe('go\r\n20 80\r\n')
  expect(await terminal.wait()).toMatchObject({ exitCode: 4 })
})

test('sessions keep their shell; the methods are the tools', async () => {
  const terminals = new Terminals({ backend, requireExecuteApproval: false })
  expect((await terminals.exec('main', 'mkdir sub; cd sub; export X=1')).isError).toBe(false)
  expect((await terminals.exec('main', 'pwd; echo $X')).text).toBe(`${root}/sub\n1`)
  const left = await terminals.exec('main', 'read line; echo "got $line"', { timeout: 200 })
  expect(left.text).toMatch(/^Command still runs after 0.2 s/)
  const answered = await terminals.write('main', 'it')
  const finished = await shownUntil(() => terminals.view('main', { wait: 30_000 }), answered, 'COMMAND FINISHED')
  expect(finished).toContain('got it\n--- COMMAND FINISHED (exit code 0) ---')
  expect((await terminals.view('main', { wait: 0 })).text).toMatch(/^\[No new output\]/)
  expect((await terminals.resize('main', 90, 30)).isError).toBe(false)
  expect((await terminals.screen('main')).text).toMatch(/^\[screen 90 x 30, cursor line/)
  expect((await terminals.screen('main', { image: true })).parts).toMatchObject([
    { type: 'image', mediaType: 'image/png' },
  ])
  expect((await terminals.list()).text).toMatch(/^main {2}running/)
  expect((await terminals.kill('main')).text).toBe("Process in session 'main' has been terminated.")
  await terminals.close()
  await expect(terminals.list()).rejects.toMatchObject({ code: 'CLOSED' })
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
  expect((await toolset.call('shell_list', {})).text).toBe("h  running  (a person's command)")
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
