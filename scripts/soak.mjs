// `npm run test:soak [-- ROUNDS]`: the promises about commands and terminals, round after round under load, through the
// package. Afterwards nothing may be left behind: no process, no file descriptor, no terminal.

import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { root as repository, runMain, StepError } from './lib/steps.mjs'
import { setUp } from './lib/setup.mjs'
import { hostIsKilled, MARK, probes, slowProbes } from './lib/probes.mjs'

const DEFAULT_ROUNDS = 1_000
/** The host that is killed costs the start of a Node process, and others seconds: not in every round. */
const SLOW_EVERY = 20
const LANES = 4
/** In the environment of every command: what is left of any is found by it, whoever its parent has become. */
const mark = randomUUID()

/** What a closed backend still holds (its root) goes with the object itself. */
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc')

await runMain(async () => {
  const rounds = Number(process.argv[2] ?? DEFAULT_ROUNDS)
  if (!Number.isInteger(rounds) || rounds < 1) throw new StepError('Give a number of rounds, from 1.')
  await setUp()
  const gloveport = createRequire(import.meta.url)(join(repository, 'index.js'))
  // A secret of the host, which no command may be given.
  process.env['SOAK_API_KEY'] = mark
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
async function soak(rounds, gloveport) {
  const root = mkdtempSync(join(tmpdir(), 'gloveport-soak-'))
  const backend = new gloveport.LocalBackend({ root, env: { [MARK]: mark } })
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
          await probes(backend, gloveport, mark)
          if (round % SLOW_EVERY === 1) {
            await slowProbes(backend)
            await hostIsKilled(mark)
          }
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
    rmSync(root, { recursive: true })
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

/** Of this process: its descendants, its descriptors, and those of them that are terminals. Of the machine: what has the mark. */
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
    marked: marked(),
    descriptors: descriptors.length,
    terminals: descriptors.filter((target) => target.includes('ptmx')).length,
  }
}

function marked() {
  const variable = `${MARK}=${mark}\0`
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && `${readFileSync(`/proc/${name}/environ`, 'latin1')}\0`.includes(variable)
    } catch {
      // Another user's, or gone.
      return false
    }
  }).length
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
