// `npm run test:soak [-- ROUNDS]`: the promises about commands and terminals, round after round under load, through the
// package. Afterwards nothing may be left behind: no process, no file descriptor, no terminal.

import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { root as repository, runMain, StepError } from './lib/steps.mjs'
import { setUp } from './lib/setup.mjs'

const DEFAULT_ROUNDS = 1_000
/** The host that is killed costs the start of a Node process: not in every round. */
const KILL_EVERY = 20
const LANES = 4

/** What a closed backend still holds (its root) goes with the object itself. */
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc')

await runMain(async () => {
  const rounds = Number(process.argv[2] ?? DEFAULT_ROUNDS)
  if (!Number.isInteger(rounds) || rounds < 1) throw new StepError('Give a number of rounds, from 1.')
  await setUp()
  const gloveport = createRequire(import.meta.url)(join(repository, 'index.js'))
  // What is made once and kept, by Node or by the runtime, is there before anything is counted.
  await soak(1, gloveport)
  const before = await settled()
  const started = Date.now()
  await soak(rounds, gloveport)
  const after = await settled()
  console.log(`before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`)
  for (const kind of Object.keys(before)) {
    if (after[kind] > before[kind]) throw new StepError(`${after[kind] - before[kind]} ${kind} were left behind`)
  }
  console.log(`${rounds} rounds passed in ${Math.round((Date.now() - started) / 1_000)} s`)
})

/** The rounds, over one backend that is closed afterwards, with load on every core besides the probes themselves. */
async function soak(rounds, { createToolset, LocalBackend, Terminals }) {
  const backend = new LocalBackend({ root: tmpdir() })
  const load = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  )
  const started = Date.now()
  try {
    let next = 0
    const lane = async () => {
      while (next < rounds) {
        const round = (next += 1)
        try {
          await probes(backend, createToolset, Terminals)
          if (round % KILL_EVERY === 1) await hostIsKilled()
        } catch (error) {
          throw new StepError(`round ${round}: ${error.stack ?? error}`)
        }
        if (round % 100 === 0) console.log(`  ${round} rounds, ${Math.round((Date.now() - started) / 1_000)} s`)
      }
    }
    await Promise.all(Array.from({ length: Math.min(LANES, rounds) }, lane))
  } finally {
    for (const process of load) process.kill('SIGKILL')
    await backend.close()
  }
}

async function probes(backend, createToolset, Terminals) {
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
  // The whole tree ends in time, with the output so far.
  const late = await backend.execute(
    'echo $$; setsid sleep 300 & echo $!; (setsid sh -c "sleep 300 & echo \\$!; sleep 300" &); sleep 300',
    { timeout: 400 },
  )
  equal(late.timedOut, true)
  equal(late.durationMs < 400 + 3_000, true, `${late.durationMs} ms`)
  late.output.trim().split('\n').forEach(dead)
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
  // Bounded output, and bytes that are no text.
  const long = await backend.execute('yes é | head -c 3000000; echo last')
  equal(long.truncated && long.output.endsWith('last\n') && long.output.length < 120_000, true)
  equal((await backend.execute(String.raw`printf 'a\377b'`)).output, 'a\uFFFDb')
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
  const toolset = createToolset({ backend, tools: ['background'], requireExecuteApproval: false })
  const started = await toolset.call('run_in_background', { command: 'sleep 300 & sleep 300' })
  await toolset.close()
  dead(String(started.data.pid))
  // Terminals: every byte before the end; a shell that lasts.
  const terminal = await backend.openTerminal({ command: 'seq 1 2000' })
  let lines = ''
  for await (const text of terminal) lines += text
  equal(lines, Array.from({ length: 2_000 }, (_, index) => `${index + 1}\r\n`).join(''))
  const terminals = new Terminals({ backend, requireExecuteApproval: false })
  await terminals.exec('s', 'X=1; f() { echo "f$X"; }; false')
  equal((await terminals.exec('s', 'f')).text, 'f1')
  const going = await terminals.exec('s', 'echo $BASHPID; sleep 300', { timeout: 100 })
  equal((await terminals.write('s', undefined, { keys: ['ctrl-c'] })).data.exitCode, 130, going.text)
  await terminals.close()
}

/** The tree dies with its host, also when that is killed. */
async function hostIsKilled() {
  const program = `
    const { LocalBackend } = require(${JSON.stringify(join(repository, 'index.js'))})
    new LocalBackend({ root: ${JSON.stringify(tmpdir())} }).execute('echo $$; setsid sleep 300 & echo $!; sleep 300', {
      onOutput: ({ text }) => process.stdout.write(text),
    })`
  const host = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  for await (const text of host.stdout.setEncoding('utf8')) {
    output += text
    if (output.trim().split('\n').length < 2) continue
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

/** What is held once nothing changes any more: processes are reaped by a thread, and objects end after the fact. */
async function settled() {
  const end = Date.now() + 10_000
  let last = ''
  for (let same = 0; same < 10 && Date.now() < end;) {
    collectGarbage()
    await new Promise((resolve) => setTimeout(resolve, 50))
    const now = JSON.stringify(count())
    same = now === last ? same + 1 : 0
    last = now
  }
  return count()
}

/** Of this process: its descendants, its descriptors, and those of them that are terminals. */
function count() {
  const descriptors = readdirSync('/proc/self/fd').map((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`)
    } catch {
      return ''
    }
  })
  return {
    processes: descendants(process.pid),
    descriptors: descriptors.length,
    terminals: descriptors.filter((target) => target.includes('ptmx')).length,
  }
}

function descendants(pid) {
  let found = 0
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const children = readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim()
      for (const child of children ? children.split(' ') : []) found += 1 + descendants(child)
    }
  } catch {
    // It ended while it was looked at.
  }
  return found
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
