// Agents without a disk: what 10,000 toolsets over files in memory take, and what one small call costs beside the same work
// (numbering, matching) in plain JavaScript.

import { createToolset, StateBackend } from 'gloveport'
import { figure, median } from './support.mjs'

const MANY = 10_000
const FILES = 10_000
const RUNS = 3_000

/** Only where Node was started with `--expose-gc`; without it sizes are an upper bound. */
const gc = globalThis.gc ?? (() => {})

/** Bytes of the process, after everything that nobody holds is gone. */
async function resident() {
  for (let round = 0; round < 3; round += 1) {
    gc()
    await new Promise(setImmediate)
  }
  return process.memoryUsage().rss
}

/** Microseconds of each of several pieces of work, run in turns so that a slow moment of the machine meets all alike. */
async function times(subjects, runs) {
  const samples = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]))
  for (let run = 0; run < runs; run += 1) {
    for (const [name, subject] of Object.entries(subjects)) {
      const started = performance.now()
      await subject(run)
      samples[name].push((performance.now() - started) * 1_000)
    }
  }
  return Object.fromEntries(Object.entries(samples).map(([name, all]) => [name, median(all.slice(runs / 10))]))
}

const numbered = (text) =>
  text
    .split('\n')
    .map((line, index) => `${String(index + 1).padStart(6)}\t${line}`)
    .join('\n')

/** The lines that two texts do not share at their beginning and end, as the answer to a write shows them. */
function diff(old, content) {
  const [from, to] = [old.split('\n'), content.split('\n')]
  let start = 0
  while (start < from.length && start < to.length && from[start] === to[start]) start += 1
  let end = 0
  const most = Math.min(from.length, to.length) - start
  while (end < most && from[from.length - 1 - end] === to[to.length - 1 - end]) end += 1
  const taken = from.slice(start, from.length - end).map((line) => `-${line}`)
  const put = to.slice(start, to.length - end).map((line) => `+${line}`)
  return [`@@ -${start + 1},${taken.length} +${start + 1},${put.length} @@`, ...taken, ...put].join('\n')
}

/** What an edit replaces by what, back and forth. */
const words = (run) => (run % 2 ? ['noodle', 'needle'] : ['needle', 'noodle'])

/** Plain JavaScript: a map of strings, and of the bytes that a file has. */
function plain(path, text) {
  const files = new Map([[path, text]])
  const bytes = new Map([[path, Buffer.from(text)]])
  return {
    read: async () => numbered(files.get(path)),
    write: async (run) => {
      const content = `${text}${run % 10}`
      const buffer = Buffer.from(content)
      const result = { path, bytes: buffer.length, created: !files.has(path), diff: diff(files.get(path), content) }
      files.set(path, content)
      bytes.set(path, buffer)
      return result
    },
    edit: async (run) => {
      const [from, to] = words(run)
      const old = files.get(path)
      const at = old.indexOf(from)
      if (at < 0 || old.includes(from, at + 1)) throw new Error('not once')
      const content = `${old.slice(0, at)}${to}${old.slice(at + from.length)}`
      files.set(path, content)
      return { path, replacements: 1, diff: diff(old, content) }
    },
    grep: async () => {
      const matches = []
      for (const [name, content] of files) {
        content.split('\n').forEach((line, index) => {
          if (/need.e/.test(line)) matches.push(`${name}:${index + 1}:${line}`)
        })
      }
      return matches.join('\n')
    },
  }
}

function ours(path, text) {
  const backend = new StateBackend({ files: { [path]: text } })
  const toolset = createToolset({ backend })
  return {
    // As a model reads it: numbered by the core, behind rules and hooks.
    read: () => toolset.call('read_file', { path }),
    write: (run) => backend.write(path, `${text}${run % 10}`),
    edit: (run) => {
      const [oldString, newString] = words(run)
      return backend.edit(path, { oldString, newString })
    },
    grep: () => backend.grep('need.e'),
  }
}

async function manyToolsets() {
  // What is made once for a process, and for a hot function, is made before.
  for (let warm = 0; warm < 500; warm += 1) void createToolset({ backend: new StateBackend() }).tools
  const before = await resident()
  const started = performance.now()
  const made = Array.from({ length: MANY }, () => {
    const backend = new StateBackend()
    return { backend, toolset: createToolset({ backend }) }
  })
  const seconds = (performance.now() - started) / 1_000
  const each = ((await resident()) - before) / MANY / 1_024
  figure(`${MANY} toolsets over memory, each at rest`, each, 20, 'KB')
  figure(`${MANY} toolsets over memory, time for each`, (seconds * 1e6) / MANY, 50, 'µs')
  const answers = await Promise.all(made.map(({ toolset }) => toolset.call('ls', {})))
  if (answers.some((answer) => answer.isError)) throw new Error('a toolset does not work')
  await Promise.all(made.map(({ toolset }) => toolset.close()))
}

async function snapshots() {
  const files = Object.fromEntries(Array.from({ length: FILES }, (_, index) => [`/d${index % 100}/f${index}`, 'text']))
  const backend = new StateBackend({ files })
  const { clone } = await times({ clone: () => backend.clone() }, 200)
  figure(`a snapshot of ${FILES} files`, clone / 1_000, 1, 'ms')
}

async function smallCalls() {
  const line = 'const value = compute(first, second) // a line of code\n'
  for (const [name, size] of [
    ['2 KB', 2_000],
    ['100 KB', 100_000],
  ]) {
    const text = `${line.repeat(size / line.length / 2)}one needle here\n${line.repeat(size / line.length / 2)}`
    const [theirs, mine] = [plain('/src/file.ts', text), ours('/src/file.ts', text)]
    for (const work of ['read', 'write', 'edit', 'grep']) {
      const found = await times({ theirs: theirs[work], mine: mine[work] }, size > 50_000 ? RUNS / 5 : RUNS)
      const label = `${work} of ${name}: plain ${found.theirs.toFixed(1)} µs, gloveport ${found.mine.toFixed(1)} µs; more`
      figure(label, found.mine - found.theirs, size > 50_000 ? 0 : 20, 'µs')
    }
  }
}

await manyToolsets()
await snapshots()
await smallCalls()
