// What commands cost through the package: one at a time beside a bare `posix_spawn` of a small program, with an ordinary and
// with a 2 GB heap, eight at a time beside `child_process`, a command in a session that lasts, a terminal to its first prompt, and
// much output. What stands ready is a supervisor with the shell of its next command, as behind every command of a backend.
//
// What a machine does in a moment differs from the next moment: floor and figure take turns, and each is the median of all of its
// runs. Beside the figures stand facts of the same minute: what the least is that such a thing costs without this package.

import { execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { LocalBackend, Terminals } from 'gloveport'
import { figure, median, temporaryFolder } from './support.mjs'

const ROUNDS = 10
/** Of each thing in each round. */
const RUNS = 20
/** Calls of a session before any is timed: Node compiles what is called often. The first ones of a process stand beside it as a fact. */
const WARM = 1_000
const root = temporaryFolder()

const PROMPT = 'at-the-prompt>'
/** A shell on a terminal. */
const SHELL = 'exec /bin/bash --noprofile --norc -i'

/**
 * A small program. It starts `sh -c true` by `posix_spawn` and waits for it, types `true` at a bash on a terminal and waits for
 * its next prompt, or starts such a bash and waits for its first, as often as a line says, and answers with the microseconds of
 * each run; or does the first of it once and says so. It types at once, or 100 µs later: a processor that had nothing to do for
 * that long is slower to begin, and so much does whoever asks it by JavaScript do in between.
 */
const SMALL = `
import os, pty, sys, time
def start():
    os.waitpid(os.posix_spawn('/bin/sh', ['sh', '-c', 'true'], {'PATH': '/usr/bin:/bin'}), 0)
PROMPT = b'${PROMPT}'
def prompt(terminal):
    seen = b''
    while not seen.endswith(PROMPT):
        seen = (seen + os.read(terminal, 65536))[-200:]
opened = []
def open_shell():
    master, slave = pty.openpty()
    terminal = os.ttyname(slave)
    os.close(slave)
    child = os.posix_spawn('/bin/sh', ['sh', '-c', '${SHELL}'],
        {'PATH': '/usr/bin:/bin', 'TERM': 'xterm-256color', 'PS1': '${PROMPT}'}, setsid=True,
        file_actions=[(os.POSIX_SPAWN_OPEN, 0, terminal, os.O_RDWR, 0)] + [(os.POSIX_SPAWN_DUP2, 0, to) for to in (1, 2)])
    prompt(master)
    opened.append((child, master))
child, terminal = pty.fork()
if child == 0:
    os.execve('/bin/bash', ['bash', '--noprofile', '--norc', '-i'],
              {'PATH': '/usr/bin:/bin', 'TERM': 'xterm-256color', 'PS1': PROMPT.decode()})
def type_true():
    os.write(terminal, b'\\x1b[200~true\\x1b[201~\\r')
    prompt(terminal)
prompt(terminal)
for line in sys.stdin:
    what, count = line.split()
    work = {'start': start, 'type': type_true, 'later': type_true, 'open': open_shell, 'once': start}[what]
    times = []
    for _ in range(int(count)):
        begin = time.perf_counter_ns()
        if what == 'later':
            while time.perf_counter_ns() < begin + 100_000: pass
            begin = time.perf_counter_ns()
        work()
        times.append((time.perf_counter_ns() - begin) / 1000)
    for shell, master in opened:
        os.close(master)
        os.waitpid(shell, 0)
    opened.clear()
    os.write(1, ('[]' if what == 'once' else str(times)).encode() + b'\\n')
`
const small = spawn('python3', ['-c', SMALL], { stdio: ['pipe', 'pipe', 'inherit'] })
const bash = spawn('/bin/bash', { stdio: ['pipe', 'pipe', 'inherit'] })
/** Asks a program by a line, and waits for a line. */
const asker = (program) => {
  let told
  createInterface({ input: program.stdout }).on('line', (line) => told(line))
  return (line) =>
    new Promise((resolve) => {
      told = resolve
      program.stdin.write(`${line}\n`)
    })
}
const [askSmall, askBash] = [asker(small), asker(bash)]

async function timed(work) {
  const begin = performance.now()
  await work()
  return (performance.now() - begin) * 1_000
}
/** Times of some runs of one thing. */
const here =
  (work, runs = RUNS) =>
  async () => {
    const times = []
    for (let run = 0; run < runs; run += 1) times.push(await timed(work))
    return times
  }
const there = (what) => async () => JSON.parse(await askSmall(`${what} ${RUNS}`))

/**
 * The median of each thing, in microseconds, after rounds in which they take turns, each round with another one first: what ran just
 * before decides how the kernel shares out the processors.
 */
async function inTurns(things) {
  const times = Object.fromEntries(Object.keys(things).map((name) => [name, []]))
  const all = Object.entries(things)
  for (let round = 0; round < ROUNDS; round += 1) {
    const order = round % 2 === 0 ? all : all.toReversed()
    const first = (round >> 1) % all.length
    for (const [name, some] of [...order.slice(first), ...order.slice(0, first)]) times[name].push(...(await some()))
  }
  return Object.fromEntries(Object.entries(times).map(([name, all]) => [name, median(all)]))
}

const ready = new LocalBackend({ root })
const once = () => ready.execute('true')
const cold = async () => {
  const backend = new LocalBackend({ root })
  await backend.execute('true')
  await backend.close()
}
const terminals = new Terminals({ backend: ready, requireExecuteApproval: false })
/** What a call costs whose line is judged and refused: nothing is typed, and nobody waits for a shell. */
const refusing = new Terminals({ backend: ready, requireExecuteApproval: false, allowedCommands: ['true'] })
const refused = async () => {
  const { code } = await refusing.exec('s', 'false')
  if (code !== 'COMMAND_BLOCKED') throw new Error(`It was to be refused: ${code}`)
}
await here(once)()
const inSession = here(() => terminals.exec('s', 'true'))
for (const some of [terminals, refusing]) await some.exec('s', 'true')
const first = median(await inSession())
for (let call = 0; call < WARM; call += 1) await terminals.exec('s', 'true')

async function toPrompt() {
  const terminal = await ready.openTerminal({ command: SHELL, env: { PS1: PROMPT } })
  let seen = ''
  while (!seen.endsWith(PROMPT)) seen += (await terminal.read()).text
  return terminal
}
/** As `here`; what was opened is closed behind the clock. */
const opening = async () => {
  const times = []
  for (let run = 0; run < RUNS; run += 1) {
    const begin = performance.now()
    const terminal = await toPrompt()
    times.push((performance.now() - begin) * 1_000)
    await terminal.write('exit\r')
    await terminal.wait()
  }
  return times
}

const bare = there('start')
const ordinary = await inTurns({
  bare,
  cold: here(cold),
  ready: here(once),
  session: inSession,
  refused: here(refused),
  typed: there('type'),
  later: there('later'),
  ordered: here(() => askSmall('once 1')),
  piped: here(() => askBash('true; echo $?')),
  spawned: here(
    () => new Promise((resolve) => spawn('/bin/sh', ['-c', 'true'], { stdio: 'ignore' }).once('exit', resolve)),
  ),
})
const fact = (name, micros, bare = ordinary.bare) => console.log(`     ${name}: ${(micros / bare).toFixed(2)} x bare`)
console.log(`     bare posix_spawn of sh -c true: ${ordinary.bare.toFixed(0)} µs (median)`)
figure('sh -c true, supervisor started for it', ordinary.cold / ordinary.bare, 3, 'x bare')
figure('sh -c true, supervisor ready', ordinary.ready / ordinary.bare, 1.2, 'x bare')
fact('least: Node has a small program do it that stands ready', ordinary.ordered)
fact('child_process', ordinary.spawned)
figure('a command in a session that lasts', ordinary.session / ordinary.bare, 0.2, 'x bare')
console.log(`     the same: ${ordinary.session.toFixed(0)} µs (median)`)
fact(`the same, the first ${RUNS} of a process`, first)
fact('the same, 2,000 in a row', median(await here(() => terminals.exec('s', 'true'), 2_000)()))
fact('least: a call of a session that is refused before it types', ordinary.refused)
fact('least: a small program types it at a bash on a terminal', ordinary.typed)
fact('least: the same 100 µs behind the one before', ordinary.later)
fact('least: Node gives it to a bash on pipes', ordinary.piped)

const opened = await inTurns({ floor: there('open'), package: opening })
figure('a terminal, from the start to its prompt', opened.package / opened.floor, 1.3, 'x floor')

// Touched, so that the pages are there to be copied by whoever forks.
const heap = Array.from({ length: 2_000 }, () => new Float64Array(131_072).fill(1.5))
const ordered = here(() => askSmall('once 1'))
const large = await inTurns({ bare, ready: here(once), cold: here(cold), ordered })
figure('sh -c true, ready, 2 GB heap', large.ready / large.bare, 1.2, 'x bare')
fact('least: Node has a small program do it, 2 GB heap', large.ordered, large.bare)
figure('sh -c true, cold, 2 GB heap', large.cold / large.bare, 3, 'x bare')
console.log(`     heap ${(process.memoryUsage().rss / 2 ** 30).toFixed(1)} GB, ${heap.length} blocks`)
heap.length = 0
for (const program of [small, bash]) program.stdin.end()

const run = promisify(execFile)
const eight = async (work) => {
  const begin = performance.now()
  for (let round = 0; round < 40; round += 1) await Promise.all(Array.from({ length: 8 }, work))
  return performance.now() - begin
}
await eight(once)
const plain = await eight(() => run('/bin/sh', ['-c', 'true']))
figure('8 at a time, of the time of child_process', (await eight(once)) / plain, 0.5, 'x')

// Much output: read and thrown away by a pipe's other end is what nobody can beat.
const BYTES = 100_000_000
const print = `head -c ${BYTES} /dev/zero | tr '\\0' x`
const drain = () =>
  new Promise((resolve) => {
    const begin = performance.now()
    const child = spawn('/bin/sh', ['-c', `${print} | cat >/dev/null`], { stdio: 'ignore' })
    child.once('close', () => resolve(performance.now() - begin))
  })
const take = async () => {
  const begin = performance.now()
  const result = await ready.execute(print)
  if (!result.truncated) throw new Error('100 MB were kept')
  return performance.now() - begin
}
globalThis.gc?.()
await take()
const before = process.memoryUsage().rss
let peak = before
const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5)
const [floors, takes] = [[], []]
// As often as that because each run is one of two kinds: three programs share two processors, and where they land decides.
for (let round = 0; round < 15; round += 1) {
  floors.push(await drain())
  takes.push(await take())
}
clearInterval(watch)
figure('100 MB of output', median(takes) / median(floors), 1.3, 'x floor')
figure('memory for it', (peak - before) / 1e6, 60, 'MB')

for (const some of [terminals, refusing]) await some.close()
await ready.close()
