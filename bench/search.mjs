// Searching a tree of 50,000 files through the package, beside what one would use instead: the programs `rg` and `fd`, their
// process start included, and pure JavaScript (fast-glob, and as many workers as there are processors that read and match).
// Each question is put to all in turn, medians count, and answers that differ end the run.

import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fastGlob from 'fast-glob'
import { LocalBackend } from 'gloveport'
import { JavaScriptGrep } from './javascript-grep.mjs'
import { figure, median, RARE, sourceTree, temporaryFolder } from './support.mjs'

const FILES = 50_000
const run = promisify(execFile)
const OUTPUT = { maxBuffer: 1 << 28 }

/** Lines that a program prints; one that finds nothing ends with code 1. */
async function lines(program, args, cwd) {
  const { stdout } = await run(program, args, { ...OUTPUT, cwd }).catch((error) => {
    if (error.code === 1) return error
    throw error
  })
  return stdout.split('\n').length - 1
}

/** `fd` is called `fdfind` on Debian. */
const fd = await run('fdfind', ['--version']).then(
  () => 'fdfind',
  () => 'fd',
)

/** Milliseconds of each subject, in turns; the first round warms up and is checked alone. */
async function compare(subjects, rounds) {
  const times = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]))
  for (let round = 0; round <= rounds; round += 1) {
    const answers = {}
    for (const [name, { ask, every = 1 }] of Object.entries(subjects)) {
      if (round % every !== 0) continue
      const started = performance.now()
      answers[name] = await ask()
      if (round > 0) times[name].push(performance.now() - started)
    }
    if (new Set(Object.values(answers)).size > 1) throw new Error(`different answers: ${JSON.stringify(answers)}`)
  }
  return Object.fromEntries(Object.entries(times).map(([name, samples]) => [name, median(samples)]))
}

function show(question, medians) {
  const shown = Object.entries(medians).map(([name, time]) => `${name} ${time.toFixed(0)} ms`)
  console.log(`     ${question}: ${shown.join(', ')}`)
}

const root = sourceTree(FILES)
const backend = new LocalBackend({ root })
const inJavaScript = new JavaScriptGrep()

const regex = String.raw`(async|await)\w* \w+\(`
for (const [question, pattern, glob] of [
  ['grep, rare literal', RARE],
  ['grep, no match', 'zyzzyva_nowhere'],
  ['grep, common regex', regex],
  ['grep, common regex in *.ts', regex, '*.ts'],
]) {
  const args = ['-n', ...(glob ? ['-g', glob] : []), '-e', pattern, '.']
  const globs = glob ? [glob] : []
  const medians = await compare(
    {
      gloveport: { ask: async () => (await backend.grep(pattern, { globs, limit: 200 })).totalMatches },
      rg: { ask: () => lines('rg', args, root) },
      JavaScript: { ask: () => inJavaScript.grep(root, pattern, glob), every: 3 },
    },
    9,
  )
  show(question, medians)
  figure(`${question}: of rg's time`, medians.gloveport / medians.rg, 1, 'times')
  figure(`${question}: of pure JavaScript's time`, medians.gloveport / medians.JavaScript, 0.2, 'times')
}
await inJavaScript.close()

const globbed = await compare(
  {
    gloveport: { ask: async () => (await backend.glob('**/*.ts')).total },
    fd: { ask: () => lines(fd, ['-t', 'f', '-g', '*.ts'], root) },
    rg: { ask: () => lines('rg', ['--files', '-g', '*.ts'], root) },
  },
  9,
)
show('glob **/*.ts', globbed)
figure("glob **/*.ts: of fd's time", globbed.gloveport / globbed.fd, 1, 'times')
figure("glob **/*.ts: of rg --files' time", globbed.gloveport / globbed.rg, 1, 'times')
const ignoring = await compare(
  {
    gloveport: { ask: async () => (await backend.glob('**/*.ts', { ignore: false })).total },
    'fast-glob': { ask: async () => (await fastGlob('**/*.ts', { cwd: root })).length },
  },
  9,
)
show('glob **/*.ts, ignored files too', ignoring)
figure("glob **/*.ts: of fast-glob's time", ignoring.gloveport / ignoring['fast-glob'], 0.25, 'times')

// How the time grows with the files, and from one search to the next of the same question.
const perFile = {}
for (const files of [500, 5_000, FILES]) {
  const small = files === FILES ? backend : new LocalBackend({ root: sourceTree(files) })
  const [first, second] = [[], []]
  for (let round = 0; round <= 15; round += 1) {
    for (const times of [first, second]) {
      const started = performance.now()
      await small.grep(regex, { limit: 200 })
      if (round > 0) times.push(performance.now() - started)
    }
  }
  perFile[files] = (median([...first, ...second]) * 1_000) / files
  console.log(`     grep of ${files} files: ${perFile[files].toFixed(1)} µs a file`)
  if (files === FILES) figure('the second search of two', median(second) / median(first), 1.1, 'times the first')
  if (small !== backend) await small.close()
}
figure('a file among 50,000', perFile[FILES] / perFile[5_000], 1.5, 'times one among 5,000')
figure('a file among 5,000', perFile[5_000] / perFile[500], 1.5, 'times one among 500')
// The fewer files there are, the more of what each takes is the beginning of the search.
figure('a file among 500', perFile[500] / perFile[FILES], 3, 'times one among 50,000')

// How soon an abort is heard: while files are searched, and with a pattern whose automaton grows with every character.
for (const [name, search] of [
  ['grep', (signal) => backend.grep('zyzzyva_nowhere', { signal })],
  ['grep that is slow', (signal) => backend.grep('[a-z (]*a[a-z (]{400}0', { signal })],
  ['glob', (signal) => backend.glob('**/*.ts', { signal })],
  ['find', (signal) => backend.find('request handler', { signal })],
  ['ls of the tree', (signal) => backend.ls('.', { depth: 3, counts: true, signal })],
]) {
  const heard = []
  for (let run = 0; run < 20; run += 1) {
    const controller = new AbortController()
    let aborted = 0
    const searching = search(controller.signal).catch((error) => {
      if (error.code !== 'ABORTED') throw error
      return performance.now() - aborted
    })
    await new Promise((resolve) => setTimeout(resolve, 5 + run))
    aborted = performance.now()
    controller.abort()
    const late = await searching
    if (typeof late === 'number') heard.push(late)
  }
  // Searches that all ended before their abort would show nothing.
  const latest = heard.length > 0 ? Math.max(...heard) : Infinity
  figure(`${name}: an abort is heard at the latest of ${heard.length} after`, latest, 20, 'ms')
}

// A pattern that makes an engine which backtracks hang.
const folder = temporaryFolder()
writeFileSync(join(folder, 'a'), `${'a'.repeat(100_000)}!`)
const hostile = new LocalBackend({ root: folder })
const times = []
for (let run = 0; run < 9; run += 1) {
  const started = performance.now()
  await hostile.grep('(a+)+$')
  times.push(performance.now() - started)
}
figure('(a+)+$ on 100 KB of a', median(times), 10, 'ms')
await hostile.close()

// The memory of a process that does nothing but search.
const program = `
  const { LocalBackend } = require('gloveport')
  const backend = new LocalBackend({ root: ${JSON.stringify(root)} })
  ;(async () => {
    for (let run = 0; run < 3; run += 1) {
      await backend.grep(${JSON.stringify(regex)}, { limit: 200 })
      await backend.glob('**/*.ts', { limit: 200 })
    }
    console.log(process.resourceUsage().maxRSS / 1024)
  })()`
const { stdout: peak } = await run(process.execPath, ['-e', program], { cwd: join(import.meta.dirname, '..') })
figure('peak memory of a process that searches', Number(peak), 100, 'MB')
await backend.close()
