// What one call costs: a small file read through a backend and through a toolset, a call with hooks, beside plain Node.

import { readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { analyzeCommand, createToolset, LocalBackend } from 'gloveport'
import { figure, median, temporaryFolder } from './support.mjs'

const RUNS = 5_000

const root = temporaryFolder()
const path = join(root, 'file.ts')
writeFileSync(path, 'const value = 1 // forty-nine more characters of text\n'.repeat(100).slice(0, 5_000))
const backend = new LocalBackend({ root })
const plain = createToolset({ backend })
const hooked = createToolset({ backend, hooks: { pre: () => {}, post: () => {} } })

const subjects = {
  'fs.readFileSync': async () => readFileSync(path, 'utf8'),
  'fs.promises.readFile': () => readFile(path, 'utf8'),
  'backend.read': () => backend.read('file.ts'),
  'toolset.call read_file': () => plain.call('read_file', { path: 'file.ts' }),
  'toolset.call read_file, two hooks': () => hooked.call('read_file', { path: 'file.ts' }),
}
const times = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]))
for (let run = 0; run < RUNS; run += 1) {
  // In turns, so that a slow moment of the machine meets all alike.
  for (const [name, subject] of Object.entries(subjects)) {
    const started = performance.now()
    await subject()
    times[name].push((performance.now() - started) * 1_000)
  }
}
for (const [name, samples] of Object.entries(times)) {
  console.log(`     5 KB by ${name.padEnd(36)} ${median(samples.slice(500)).toFixed(1).padStart(8)} µs (median)`)
}
const over = (name) => median(times[name].slice(500)) - median(times['backend.read'].slice(500))
figure('a call without hooks, over the backend call', over('toolset.call read_file'), 30, 'µs')
figure('a call with two hooks, over the backend call', over('toolset.call read_file, two hooks'), 300, 'µs')
figure('a 5 KB file read through the toolset', median(times['toolset.call read_file'].slice(500)), 60, 'µs')

const COMMANDS = [
  'git status',
  'cd packages/core && npm test -- --watch=false 2>&1 | tail -n 40',
  'for f in $(find . -name "*.ts"); do grep -n "foo" "$f" > /tmp/out; done',
]
for (const command of COMMANDS) {
  const samples = Array.from({ length: RUNS }, () => {
    const started = performance.now()
    analyzeCommand(command)
    return (performance.now() - started) * 1_000
  })
  figure(`analyzeCommand of ${command.length} characters`, median(samples.slice(500)), 50, 'µs')
}
await Promise.all([plain.close(), hooked.close()])
await backend.close()
