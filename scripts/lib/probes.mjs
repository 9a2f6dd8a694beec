// The probes of `npm run test:soak`: each promise about commands and terminals, tried once.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { root as repository } from './steps.mjs'

/** The variable that marks every command of a run. */
export const MARK = 'GLOVEPORT_SOAK'
/** A second for the end of a tree after its time; a loaded machine gets longer times, and must keep it in one of them. */
const END_MS = 1_000
const LONGEST_MS = 8_000

/** Every promise that is kept within a second or two. */
export async function probes(backend, gloveport, mark) {
  await oneCommand(backend)
  await bounds(backend)
  await surroundings(backend, mark)
  await beside(backend, gloveport)
  await kept(gloveport, mark)
  await terminals(backend, gloveport)
}

async function oneCommand(backend) {
  // It returns when the shell does, and what it left behind is ended.
  const left = await backend.execute('sleep 300 & echo $!')
  equal(left.timedOut, false)
  equal(left.processesLeft, 1)
  dead(left.stdout)
  // Nothing is read unless given; streams are told apart; code and signal.
  equal((await backend.execute('cat; echo end')).output, 'end\n')
  equal((await backend.execute('cat', { stdin: 'given' })).output, 'given')
  const streams = await backend.execute('echo out; echo err >&2; exit 3')
  equal(`${streams.stdout}${streams.stderr}${streams.exitCode}`, 'out\nerr\n3')
  equal((await backend.execute('kill -KILL $$')).signal, 'SIGKILL')
  // The whole tree ends within a second of its time, with the output so far.
  const late = await inTime(
    backend,
    'echo $$; setsid sleep 300 & echo $!; (setsid sh -c "sleep 300 & echo \\$!; sleep 300" &); sleep 300',
  )
  late.output.trim().split('\n').forEach(dead)
  // No time at all starts nothing, and is not the same as none given.
  const never = await backend.execute('echo started', { timeout: 0 })
  equal(`${never.timedOut} ${never.output}`, 'true ')
  // An abort too.
  const abort = new AbortController()
  let pid = ''
  const aborted = backend.execute('echo $$; sleep 300', {
    signal: abort.signal,
    onOutput: ({ text }) => {
      pid += text
      abort.abort()
    },
  })
  equal(await aborted.catch((error) => error.name), 'AbortError')
  dead(pid)
}

/** What a command prints and uses is bounded. */
async function bounds(backend) {
  // Bounded output, and bytes that are no text.
  const long = await backend.execute('yes é | head -c 3000000; echo last')
  equal(long.truncated && long.output.endsWith('last\n') && long.output.length < 120_000, true)
  equal((await backend.execute(String.raw`printf 'a\377b'`)).output, 'a\uFFFDb')
  // Ceilings: files, memory of one process and of all, processes. The bomb goes out by itself should nobody stop it.
  equal((await backend.execute('ulimit -n', { limits: { openFiles: 64 } })).stdout, '64\n')
  const large = await backend.execute('exec head -c 100000 /dev/zero > large', { limits: { fileBytes: 4_096 } })
  equal(large.signal, 'SIGXFSZ')
  const hold = '{ head -c 30000000 /dev/zero; exec sleep 300; } | tail -n 1'
  const many = await backend.execute(`for i in 1 2 3 4; do ${hold} & done; wait`, { limits: { memoryBytes: 64 << 20 } })
  equal(many.ceiling, 'memory')
  const bomb = 'b() { if [ $1 -lt 9 ]; then b $(($1 + 1)) & b $(($1 + 1)) & fi; sleep 60; }; b 0'
  equal((await backend.execute(bomb, { limits: { processes: 100 } })).ceiling, 'processes')
  // What was used is told.
  const { peakMemoryBytes } = await backend.execute('head -c 40000000 /dev/zero | tail -n 1 | wc -c')
  equal(peakMemoryBytes > 40_000_000 && peakMemoryBytes < 500_000_000, true, `${peakMemoryBytes}`)
}

/** Where a command runs, and what it is told. */
async function surroundings(backend, mark) {
  const { stdout } = await backend.execute('env', { env: { GIVEN: 'given' } })
  equal(stdout.includes('GIVEN=given\n') && stdout.includes(mark) && !stdout.includes('SOAK_API_KEY'), true)
  equal((await backend.execute('mkdir -p inner && cd inner && pwd')).stdout.endsWith('/inner\n'), true)
  equal((await backend.execute('pwd', { cwd: 'inner' })).stdout.endsWith('/inner\n'), true)
  for (const [cwd, code] of [
    ['nowhere', 'FILE_NOT_FOUND'],
    ['/etc', 'PATH_NOT_IN_SANDBOX'],
  ]) {
    equal(await backend.execute('true', { cwd }).catch((error) => error.code), code)
  }
}

/** Commands that run beside their caller, and the file of an output that is too long. */
async function beside(backend, { createToolset }) {
  // The background: the same process, new output only, its end.
  const { process: running, stdout } = await backend.execute('echo $$; read line; echo "got $line"', {
    timeout: 100,
    onTimeout: 'background',
  })
  equal(stdout.trim() === '' || stdout.trim() === String(running.pid), true, stdout)
  await running.write('it\n')
  equal((await running.wait()).exitCode, 0)
  let rest = stdout
  for await (const text of running) rest += text
  equal(rest, `${running.pid}\ngot it\n`)
  const toolset = createToolset({ backend, tools: ['console', 'background'], requireExecuteApproval: false })
  const spilled = await toolset.call('execute', { command: 'seq 1 60000' })
  const last = await toolset.call('read_file', { path: spilled.data.spillPath, offset: 59_999 })
  equal(last.text.includes('60000'), true, last.text)
  const started = await toolset.call('run_in_background', { command: 'sleep 300 & sleep 300' })
  await toolset.close()
  dead(String(started.data.pid))
}

/** What is to be kept lives until its backend closes. */
async function kept({ LocalBackend }, mark) {
  const backend = new LocalBackend({ root: tmpdir(), env: { [MARK]: mark } })
  const { stdout, processesKept } = await backend.execute('sleep 300 & echo $!', { background: 'keep' })
  equal(String(processesKept), stdout.trim())
  equal(isAlive(stdout), true)
  await backend.close()
  dead(stdout)
}

async function terminals(backend, { Terminals, terminalTakeover }) {
  // Terminals: every byte before the end; a shell that lasts.
  const terminal = await backend.openTerminal({ command: 'seq 1 2000' })
  let lines = ''
  for await (const text of terminal) lines += text
  equal(lines, Array.from({ length: 2_000 }, (_, index) => `${index + 1}\r\n`).join(''))
  // A person: their keys reach the program, and they leave with one.
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 60, rows: 10 }).resume()
  const takeover = terminalTakeover({ input, output })
  const onHelp = async (request, call) => {
    const over = takeover(request, call)
    const shown = async (text) => {
      for (let since; ;) {
        const { lines, position, ended } = await call.session.painting({ since })
        if (ended || lines.join('\n').includes(text)) return
        since = position
      }
    }
    // A key that comes while the shell still edits its line is no end of a line for what runs then.
    await shown('line? ')
    input.write('typed\r')
    await shown('got typed')
    input.write('\u001D')
    return over
  }
  const terminals = new Terminals({ backend, requireExecuteApproval: false, onHelp })
  await terminals.exec('s', 'X=1; f() { echo "f$X"; }; false')
  equal((await terminals.exec('s', 'f')).text, 'f1')
  const going = await terminals.exec('s', 'echo $BASHPID; sleep 300', { timeout: 100 })
  equal((await terminals.write('s', undefined, { keys: ['ctrl-c'] })).data.exitCode, 130, going.text)
  await terminals.resize('s', 77, 22)
  const size = await terminals.exec('s', 'stty size')
  equal(size.text, '22 77', `${JSON.stringify(size.data)} ${(await terminals.list()).text}`)
  await terminals.exec('h', 'read -p "li""ne? " line; echo "got $line"', { block: false })
  const helped = await terminals.askForHelp('h', 'type')
  equal(helped.text.includes('got typed'), true, helped.text)
  await terminals.close()
}

/** What takes seconds. */
export async function slowProbes(backend) {
  // Processor time of all together: each of them lives for less.
  const short = 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'
  const busy = await backend.execute(`while :; do sh -c '${short}'; done`, { limits: { cpuMs: 1_000 } })
  equal(busy.ceiling, 'cpuTime')
}

/** A command that is over when its time is. */
async function inTime(backend, command) {
  for (let timeout = 400; timeout <= LONGEST_MS; timeout *= 2) {
    const late = await backend.execute(command, { timeout })
    equal(late.timedOut, true)
    if (late.durationMs < timeout + END_MS && late.output.trim().split('\n').length === 3) return late
  }
  throw new Error('it was never ended within a second')
}

/** The tree dies with its host, also when that is killed, a daemon too, and where the command has stopped its supervisor. */
export async function hostIsKilled(mark) {
  const program = `
    const { LocalBackend } = require(${JSON.stringify(join(repository, 'index.js'))})
    const command = 'echo $$; setsid sleep 300 & echo $!; (setsid sh -c "sleep 300 & echo \\\\$!"); kill -STOP $PPID; echo $$; sleep 300'
    new LocalBackend({ root: ${JSON.stringify(tmpdir())}, env: { ${MARK}: '${mark}' } }).execute(command, {
      onOutput: ({ text }) => process.stdout.write(text),
    })`
  const host = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  for await (const text of host.stdout.setEncoding('utf8')) {
    output += text
    if (output.trim().split('\n').length < 4) continue
    host.kill('SIGKILL')
    break
  }
  const end = Date.now() + 5_000
  for (const pid of output.trim().split('\n')) {
    while (isAlive(pid)) {
      if (Date.now() > end) throw new Error(`${pid} outlived its host`)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

function isAlive(pid) {
  try {
    const stat = readFileSync(`/proc/${pid.trim()}/stat`, 'utf8')
    return !'ZX'.includes(stat.slice(stat.lastIndexOf(')') + 2)[0])
  } catch {
    return false
  }
}

function dead(pid) {
  if (!/^\d+$/.test(pid.trim())) throw new Error(`'${pid}' is no process number`)
  if (isAlive(pid)) throw new Error(`process ${pid.trim()} is left`)
}

function equal(actual, expected, note = '') {
  if (actual !== expected) {
    throw new Error(
      `${JSON.stringify(actual)?.slice(0, 500)} is not ${JSON.stringify(expected)?.slice(0, 500)} ${note}`,
    )
  }
}
