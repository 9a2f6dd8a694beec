// Commands that run beside the conversation, through the package.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type AuditEvent, ClosedError, createToolset, LocalBackend, RunningCommand } from 'gloveport'
import { afterAll, expect, test } from 'vitest'

const root = mkdtempSync(join(tmpdir(), 'gloveport-background-'))
const backend = new LocalBackend({ root })
afterAll(async () => {
  await backend.close()
  rmSync(root, { recursive: true })
})

function isAlive(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(pid, 0)
  } catch {
    return false
  }
}

/** What comes behind `before` until `text` came: a busy machine may not have come to it in time. */
async function readUntil(command: RunningCommand, before: string, text: string): Promise<string> {
  let rest = ''
  while (!(before + rest).includes(text)) rest += (await command.read()).text
  return rest
}

test('a command whose time is over runs on as the same process, with its input open', async () => {
  const left = await backend.execute('echo $$; read line; echo "got $line"; cat', {
    timeout: 300,
    onTimeout: 'background',
  })
  const command = left.process as RunningCommand
  expect(command).toBeInstanceOf(RunningCommand)
  expect(left.timedOut).toBe(true)
  expect(left.output + (await readUntil(command, left.output, '\n'))).toBe(`${command.pid}\n`)
  await command.write('a\n')
  expect(await command.read()).toEqual({ text: 'got a\n', dropped: 0, ended: false })
  expect(await command.read({ wait: 0 })).toEqual({ text: '', dropped: 0, ended: false })
  await command.write(new TextEncoder().encode('ünd\n'))
  await command.closeInput()
  const pieces: string[] = []
  for await (const text of command) pieces.push(text)
  expect(pieces.join('')).toBe('ünd\n')
  expect(await command.wait()).toMatchObject({ exitCode: 0, timedOut: false })
  await expect(command.write('late')).rejects.toBeInstanceOf(ClosedError)
})

test('input that nobody waits for in between is read in the order of the calls, and its end is the end', async () => {
  const given = Array.from({ length: 2_000 }, (_, index) => `${index};`)
  const left = await backend.execute('cat', { timeout: 50, onTimeout: 'background' })
  const command = left.process as RunningCommand
  await Promise.all([...given.map((text) => command.write(text)), command.closeInput()])
  let read = ''
  for await (const text of command) read += text
  expect(read).toBe(given.join(''))

  const terminal = await backend.openTerminal({ command: 'stty raw -echo; echo ready; exec cat' })
  while (!(await terminal.read()).text.includes('ready\n'));
  await Promise.all(given.map((text) => terminal.write(text)))
  const shown = await readUntil(terminal, '', given.join(''))
  expect(shown).toBe(given.join(''))
  await terminal.kill()
})

test('input that nobody reads is refused, with how much of it was given', async () => {
  const { process } = await backend.execute('exec head -c 10', { timeout: 50, onTimeout: 'background' })
  const command = process as RunningCommand
  await command.write('12345')
  const refused = await command.write('x'.repeat(1 << 20)).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(ClosedError)
  const { partial } = (refused as ClosedError).details as { partial: { givenBytes: number } }
  expect(partial.givenBytes).toBeGreaterThanOrEqual(5)
  expect(partial.givenBytes).toBeLessThan(1 << 20)
  expect((await command.wait()).output).toBe('12345xxxxx')

  const closed = await backend.execute('exec <&-; echo closed; exec sleep 60', {
    timeout: 500,
    onTimeout: 'background',
  })
  if (closed.process) await readUntil(closed.process, closed.output, 'closed\n')
  await expect(closed.process?.write('x')).rejects.toThrow('The process reads no more input: it has closed it.')
  await closed.process?.closeInput()
  await closed.process?.kill()
})

test('a command in time is a result like any other', async () => {
  const ended = await backend.execute('echo done; exit 3', { onTimeout: 'background' })
  expect(ended).toMatchObject({ output: 'done\n', exitCode: 3, timedOut: false })
  expect(ended.process).toBeUndefined()
  expect((await backend.execute('grep x /dev/null')).exitMeaning).toBe('no line matched')
})

test('a running command is signalled, waited for with a stop, and killed', async () => {
  const { process: command, output } = await backend.execute(
    'trap "echo int" INT; echo ready; while :; do sleep 0.05; done',
    { timeout: 300, onTimeout: 'background' },
  )
  if (!command) throw new Error('it ended')
  await readUntil(command, output, 'ready\n')
  await command.signal('SIGINT')
  expect((await command.read()).text).toBe('int\n')
  await expect(command.signal('SIGNOSUCH' as 'SIGINT')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await expect(command.wait({ signal: AbortSignal.timeout(50) })).rejects.toMatchObject({ name: 'AbortError' })
  expect(isAlive(command.pid)).toBe(true)
  expect(await command.kill()).toBe(true)
  expect(isAlive(command.pid)).toBe(false)
  expect(await command.kill()).toBe(false)
})

test('the tools start, read, list and end; the end is told; close waits until all is gone', async () => {
  const events: AuditEvent[] = []
  const toolset = createToolset({
    backend,
    tools: ['background'],
    requireExecuteApproval: false,
    onEvent: (event) => events.push(event),
  })
  expect(toolset.tools.map((tool) => tool.name)).toEqual([
    'run_in_background',
    'read_output',
    'shell_input',
    'kill_shell',
    'list_shells',
  ])
  const started = await toolset.call('run_in_background', { command: 'echo hi; sleep 300' }, { callId: 'one' })
  const { pid } = started.data as { pid: number }
  expect((await toolset.call('read_output', { shell_id: 'bg_1', wait: 20 })).text).toBe('[bg_1] running\nhi')
  expect((await toolset.call('list_shells', {})).text).toBe('bg_1  running  echo hi; sleep 300')
  await toolset.close()
  expect(isAlive(pid)).toBe(false)
  await expect
    .poll(() => events.filter((event) => event.type === 'session-ended'))
    .toMatchObject([{ sessionId: 'bg_1', callId: 'one', tool: 'run_in_background', exitCode: null, signal: 'SIGTERM' }])
})

/** What was gone was thrown away: 5,000,000 bytes were some 1,050,000 without a word. */
test('a loop over the output of a command that prints faster than it reads is told how many bytes are gone', async () => {
  const left = await backend.execute('read go; head -c 5000000 /dev/zero | tr "\\0" a', {
    timeout: 50,
    onTimeout: 'background',
  })
  const command = left.process as RunningCommand
  await command.write('go\n')
  await command.wait()
  const pieces: string[] = []
  for await (const text of command) pieces.push(text)
  const gone = /^\n\.\.\. \[(\d+) bytes were not read in time and are gone\] \.\.\.\n$/
  expect(pieces[0]).toMatch(gone)
  const printed = pieces.slice(1).join('')
  expect(printed).toMatch(/^a+$/)
  expect(printed.length).toBe(1 << 20)
  expect(Number(gone.exec(pieces[0] ?? '')?.[1]) + printed.length).toBe(5_000_000)
})

/** Reads stood in a line that nobody could leave: the second one hung for as long as the first. */
test('a read behind another one answers within its own wait, and rejects at its own abort', async () => {
  const left = await backend.execute('cat', { timeout: 50, onTimeout: 'background' })
  const command = left.process as RunningCommand
  const front = command.read()
  const nothing = { text: '', dropped: 0, ended: false }
  expect(await command.read({ wait: 0 })).toEqual(nothing)
  expect(await command.read({ wait: 50 })).toEqual(nothing)
  const controller = new AbortController()
  const aborted = command.read({ signal: controller.signal })
  const reason = new Error('enough')
  controller.abort(reason)
  await expect(aborted).rejects.toMatchObject({ name: 'AbortError', code: 'ABORTED', cause: reason })
  await expect(command.read({ signal: controller.signal })).rejects.toMatchObject({ name: 'AbortError' })
  for (const wrong of [{ wait: '5' }, { wait: -1 }, { wait: 0.5 }, { wait: NaN }, { signal: 5 }, { timeout: 5 }]) {
    await expect(command.read(wrong as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  }
  await command.write('a\n')
  expect(await front).toEqual({ text: 'a\n', dropped: 0, ended: false })
  await command.kill()
})

test('reads that wait behind one another get the output in order, each piece once, whoever gives up', async () => {
  const left = await backend.execute('cat', { timeout: 50, onTimeout: 'background' })
  const command = left.process as RunningCommand
  const controller = new AbortController()
  const front = command.read({ signal: controller.signal })
  const leaves = command.read({ wait: 20 })
  const second = command.read({ wait: 2_147_483_648 })
  const third = command.read()
  expect((await leaves).text).toBe('')
  controller.abort()
  await expect(front).rejects.toMatchObject({ name: 'AbortError' })
  await command.write('one\n')
  expect((await second).text).toBe('one\n')
  await command.write('two\n')
  expect((await third).text).toBe('two\n')
  const last = [command.read(), command.read({ wait: 30_000 })]
  await command.closeInput()
  expect(await Promise.all(last)).toEqual(Array.from({ length: 2 }, () => ({ text: '', dropped: 0, ended: true })))
})

/** What was no string was a TypeError of the inner workings. */
test.each([
  ['a number', 15, '`signal` must be a string, not a number.'],
  ['nothing', undefined, '`signal` must be a string, not undefined.'],
  ['null', null, '`signal` must be a string, not null.'],
])('a signal that is %s is refused with what it is', async (_name, signal, message) => {
  const left = await backend.execute('cat', { timeout: 50, onTimeout: 'background' })
  const command = left.process as RunningCommand
  await expect(command.signal(signal as never)).rejects.toMatchObject({ code: 'INVALID_INPUT', message })
  await command.kill()
})

test('what a command in the background left behind and was ended with it is told', async () => {
  const toolset = createToolset({ backend, tools: ['background'], requireExecuteApproval: false })
  await toolset.call('run_in_background', { command: 'sleep 66 & echo started' })
  let ended = await toolset.call('read_output', { shell_id: 'bg_1', wait: 30 })
  let text = ended.text
  while ((ended.data as { running: boolean }).running) {
    ended = await toolset.call('read_output', { shell_id: 'bg_1', wait: 30 })
    text += `\n${ended.text}`
  }
  expect(text).toMatch(/\[bg_1\] exited \(code 0\)/)
  expect(text).toContain('started')
  expect(text).toMatch(/\n\n\(1 process\(es\) that the command left behind were ended\.\)$/)
  expect(ended.data).toMatchObject({ processesLeft: 1, exitCode: 0 })
  await toolset.close()
})

test('a command that ended well and used its processor time up is told so by each tool', async () => {
  const bounded = new LocalBackend({ root, commandLimits: { cpuMs: 1_000 } })
  const toolset = createToolset({
    backend: bounded,
    tools: ['execute', 'background', 'terminal'],
    requireExecuteApproval: false,
  })
  // By ticks, one that the kernel ends for a second may have had less than one: its parent has a part of its own.
  const command = "sh -c 'while :; do :; done'; echo next; i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done; exit 3"
  const spent =
    'but its processes used up the processor time that they may have, and some of them may have been ended for that'
  const executed = await toolset.call('execute', { command })
  expect(executed.text).toContain(`Command ended with exit code 3, ${spent}. Output:\n`)
  expect(executed.data).toMatchObject({ stdout: 'next\n' })
  expect(executed.data).toMatchObject({ exitCode: 3, ceiling: 'cpuTime' })
  const closed = await toolset.call('shell_exec', { id: 's', command, timeout: 60 })
  expect(closed.text).toContain(`--- SESSION TERMINATED (exit code 3, ${spent}) ---`)
  await toolset.call('run_in_background', { command })
  let read = await toolset.call('read_output', { shell_id: 'bg_1', wait: 30 })
  while ((read.data as { running: boolean }).running) {
    read = await toolset.call('read_output', { shell_id: 'bg_1', wait: 30 })
  }
  expect(read.text).toContain(`[bg_1] exited (code 3), ${spent}\n`)
  expect(read.data).toMatchObject({ exitCode: 3, ceiling: 'cpuTime' })
  await toolset.close()
  await bounded.close()
})
