// Measures the release build against what the package promises: the addon's size, the time that `require` takes, and a
// program for containers for each processor.
// Run after `npm run build`.

import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { guestFile } from './lib/linux-programs.mjs'
import { addonFile } from './lib/setup.mjs'
import { root, runMain, StepError } from './lib/steps.mjs'

/** 8.4 MB: an install stays quick, also on a slow line. 6 MB is the aim, which images, terminals, containers and commands went beyond. */
const MOST_BYTES = 8_400_000
/** 30 ms: nobody waits for the import at the start of a program. */
const MOST_LOAD_MS = 30
/** 9 fresh processes; their median hides one that the machine delayed. */
const RUNS = 9

/** By processor, its number in the header of a program (`e_machine`). */
const MACHINES = { x64: 0x3e, arm64: 0xb7 }
/** 5 MB: a guest goes into every container that is made. */
const MOST_GUEST_BYTES = 5_000_000
/** The number of a program header that names an interpreter, which a static program has not (`PT_INTERP`). */
const INTERPRETER = 3

/** What is wrong with a guest; undefined when it is a static program for that processor. */
function guestFault(program, machine) {
  if (program.readUInt32BE(0) !== 0x7f454c46 || program.readUInt16LE(18) !== machine) return 'is for another processor'
  const [start, size, count] = [Number(program.readBigUInt64LE(32)), program.readUInt16LE(54), program.readUInt16LE(56)]
  const kinds = Array.from({ length: count }, (_, index) => program.readUInt32LE(start + index * size))
  if (kinds.includes(INTERPRETER)) return 'is not static'
  return program.length > MOST_GUEST_BYTES ? 'is too large' : undefined
}

function loadTime() {
  const program = `const start = performance.now(); require('gloveport'); console.log(performance.now() - start)`
  return Number(execFileSync(process.execPath, ['-e', program], { cwd: root, encoding: 'utf8' }))
}

await runMain(() => {
  const { size } = statSync(join(root, addonFile))
  const times = Array.from({ length: RUNS }, loadTime).toSorted((a, b) => a - b)
  const median = times[Math.floor(RUNS / 2)]
  console.log(
    `addon ${(size / 1e6).toFixed(2)} MB (at most ${MOST_BYTES / 1e6}), require ${median.toFixed(1)} ms (at most ${MOST_LOAD_MS})`,
  )
  for (const [processor, machine] of Object.entries(MACHINES)) {
    const file = guestFile(processor)
    const program = readFileSync(join(root, file))
    console.log(`${file} ${(program.length / 1e6).toFixed(2)} MB (at most ${MOST_GUEST_BYTES / 1e6})`)
    const fault = guestFault(program, machine)
    if (fault) throw new StepError(`${file} ${fault}`)
  }
  if (size > MOST_BYTES) throw new StepError('the addon is too large')
  // A time depends on what else the machine does: it is shown, and judged by whoever measures on a quiet one.
  if (median > MOST_LOAD_MS) console.log('the package loads more slowly here than is promised for a quiet machine')
})
