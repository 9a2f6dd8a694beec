// A person takes a terminal session over, at a terminal of their own.

import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'

import {
  createToolset,
  LocalBackend,
  type TerminalSession,
  terminalTakeover,
  type TerminalTakeoverOptions,
  type ToolResult,
} from 'gloveport'
import { afterAll, expect, test } from 'vitest'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'gloveport-takeover-')))
const backend = new LocalBackend({ root })
afterAll(async () => {
  await backend.close()
  rmSync(root, { recursive: true })
})

/** Waits until a terminal shows `text`. */
async function shown(terminal: TerminalSession, text: string | RegExp): Promise<string> {
  for (let since: number | undefined; ;) {
    const { lines, position, ended } = await terminal.painting({ since })
    const all = lines.join('\n')
    if (all.search(text) >= 0 || ended) return all
    since = position
  }
}

test('their keys reach the program, what they see is harmless, and they leave with a key', async () => {
  const program = fileURLToPath(new URL('takeover-program.mjs', import.meta.url))
  const result = join(root, 'result.json')
  await using person = await backend.openTerminal({
    command: `'${process.execPath}' '${program}' '${root}' '${result}'`,
    columns: 90,
    rows: 12,
  })
  const before = await shown(person, 'Name:')
  expect(before).toContain("Ctrl-] gives 'h' back | Type a name\\u{1b}[2J")
  await person.write('Ann\r')
  expect(await shown(person, 'hello Ann')).toContain('hello Ann')
  // All of it is over when the shell shows its prompt.
  await shown(person, /11 90\n[#$]/)
  await person.write('\u001D')
  expect(await person.wait()).toMatchObject({ exitCode: 0 })

  const raw = (await person.read()).text
  // The clipboard, the title and the printer of the program, and what the model wrote, stay in the session.
  for (const escape of ['\u001B]', '\u001B[5i']) expect(raw).not.toContain(escape)
  expect(raw.indexOf('\u001B[?1049h')).toBeGreaterThanOrEqual(0)
  expect(raw.indexOf('\u001B[?1049l')).toBeGreaterThan(raw.indexOf('hello Ann'))

  const { typed, told, size } = JSON.parse(readFileSync(result, 'utf8')) as Record<string, ToolResult>
  expect(typed).toMatchObject({ code: 'BUSY', isError: true })
  expect(told?.text).toMatch(/^The person worked in session 'h' and gave it back. Output meanwhile:\n/)
  expect(told?.text).toContain('hello Ann\n11 90\n--- COMMAND FINISHED (exit code 0) ---')
  expect(told?.data).toMatchObject({ tookOver: true, running: false, open: true, exitCode: 0 })
  expect(size?.text).toBe('40 120')
})

/** A person's terminal without a kernel's. */
function terminal(): Required<Pick<TerminalTakeoverOptions, 'input' | 'output'>> & {
  input: PassThrough
  raw: boolean[]
} {
  const raw: boolean[] = []
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (mode: boolean) => raw.push(mode) })
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 60, rows: 10 })
  output.resume()
  return { input, output, raw }
}

/** Says `ready`; the word does not stand in the command, which the shell echoes. */
const READY = "printf 'rea%s\\n' dy"

/** A session in a person's hands: once its program says `ready`, `act` does what they do. */
async function taken(
  command: string,
  act: (session: TerminalSession, person: ReturnType<typeof terminal>, stop: AbortController) => unknown,
  options: TerminalTakeoverOptions = {},
): Promise<{ readonly told: ToolResult; readonly raw: boolean[] }> {
  const person = terminal()
  const stop = new AbortController()
  const takeover = terminalTakeover({ ...person, ...options })
  const toolset = createToolset({
    backend,
    tools: ['terminal'],
    requireExecuteApproval: false,
    onHelp: async (request, call) => {
      await shown(call.session!, 'ready')
      const over = takeover(request, call)
      await act(call.session!, person, stop)
      return over
    },
  })
  try {
    await toolset.call('shell_exec', { id: 's', command, block: false })
    const told = await toolset.call('shell_ask_user_for_help', { id: 's', prompt: 'x' }, { signal: stop.signal })
    return { told, raw: person.raw }
  } finally {
    await toolset.close()
  }
}

test('arrow keys come in the form that the program asked for', async () => {
  const { told, raw } = await taken("printf '\\033[?1hrea%s\\n' dy; cat -v", async (session, { input }) => {
    await shown(session, 'ready')
    input.write('\u001B[A\r')
    await shown(session, /\^\[OA\n\^\[OA/)
    input.write('\u001D')
  })
  expect(told.text).toContain('^[OA\n^[OA')
  expect(raw).toEqual([true, false])
})

test('what is typed before the leaving key arrives, what comes behind it does not; the key can be another', async () => {
  const { told } = await taken(
    `${READY}; cat -v`,
    (_session, { input }) => void input.write('kept\u001D\r\u0011lost\r'),
    { leaveKey: 'q' },
  )
  expect(told.text).not.toContain('lost')
  expect(told.isError).toBe(false)
  for (const leaveKey of ['', '1', 'ab']) expect(() => terminalTakeover({ leaveKey })).toThrow(/leaveKey/)
})

test('a slow terminal is given no more than it takes, however much a program draws', async () => {
  const { told } = await taken(
    `${READY}; read go; i=0; while :; do i=$((i+1)); echo "line $i ${'x'.repeat(40)}"; done`,
    async (session, { input, output }) => {
      const stalled = output as PassThrough
      stalled.pause()
      input.write('\r')
      const more = async (): Promise<void> => {
        const { position } = await session.painting()
        await session.painting({ since: position })
      }
      while (!stalled.writableNeedDrain) await more()
      const held = stalled.writableLength + stalled.readableLength
      for (let round = 0; round < 20; round += 1) await more()
      expect(stalled.writableLength + stalled.readableLength).toBe(held)
      stalled.resume()
      input.write('\u001D')
    },
  )
  expect(told.text).toContain('gave it back')
})

test('it ends with the session, with the end of the input, and with the call', async () => {
  const ended = await taken(`${READY}; read x; exit 3`, (_session, { input }) => void input.write('go\r'))
  expect(ended.told.text).toMatch(/--- SESSION TERMINATED \(exit code 3\) ---$/)
  const hungUp = await taken(`${READY}; cat`, (_session, { input }) => void input.end())
  expect(hungUp.told.text).toContain('gave it back')
  expect(hungUp.raw).toEqual([true, false])
  const stopped = taken(`${READY}; cat`, (_session, _person, stop) => stop.abort())
  await expect(stopped).rejects.toMatchObject({ name: 'AbortError' })
})

test('without a terminal nobody is there; without a session a command is asked for', async () => {
  const options = { backend, tools: ['terminal'], requireExecuteApproval: false } as const
  const nobody = createToolset({
    ...options,
    onHelp: terminalTakeover({ input: new PassThrough(), output: new PassThrough() }),
  })
  const help = { id: 'new', prompt: 'Log\u001B[2J in.' }
  expect(await nobody.call('shell_ask_user_for_help', help)).toMatchObject({ code: 'UNSUPPORTED' })
  await nobody.close()

  const person = terminal()
  const pieces: Buffer[] = []
  ;(person.output as PassThrough).on('data', (piece: Buffer) => pieces.push(piece))
  const toolset = createToolset({ ...options, onHelp: terminalTakeover(person) })
  person.input.write('echo by hand\n')
  expect((await toolset.call('shell_ask_user_for_help', help)).text).toContain('by hand')
  expect(Buffer.concat(pieces).toString()).toContain('Help is asked for: Log\\u{1b}[2J in.')
  await toolset.close()
})
