// What one call costs: a small file read through a backend and through a toolset, a call with hooks, beside plain Node; and what
// rules add to a read, a write and a command.

import { readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { analyzeCommand, createToolset, LocalBackend, StateBackend } from 'gloveport'
import { figure, median, temporaryFolder } from './support.mjs'

const RUNS = 5_000
/** The first ones warm up. */
const WARM = 500

const root = temporaryFolder()
const path = join(root, 'file.ts')
writeFileSync(path, 'const value = 1 // forty-nine more characters of text\n'.repeat(100).slice(0, 5_000))
const backend = new LocalBackend({ root })
const plain = createToolset({ backend })
const hooked = createToolset({ backend, hooks: { pre: () => {}, post: () => {} } })

/** The microseconds of each subject, in turns, so that a slow moment of the machine meets all alike. */
async function timesOf(subjects) {
  const times = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]))
  for (let run = 0; run < RUNS; run += 1) {
    for (const [name, subject] of Object.entries(subjects)) {
      const started = performance.now()
      await subject()
      times[name].push((performance.now() - started) * 1_000)
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, samples]) => [name, samples.slice(WARM)]))
}

const times = await timesOf({
  'fs.readFileSync': async () => readFileSync(path, 'utf8'),
  'fs.promises.readFile': () => readFile(path, 'utf8'),
  'backend.read': () => backend.read('file.ts'),
  'toolset.call read_file': () => plain.call('read_file', { path: 'file.ts' }),
  'toolset.call read_file, two hooks': () => hooked.call('read_file', { path: 'file.ts' }),
})
for (const [name, samples] of Object.entries(times)) {
  console.log(`     5 KB by ${name.padEnd(36)} ${median(samples).toFixed(1).padStart(8)} µs (median)`)
}
const over = (name) => median(times[name]) - median(times['backend.read'])
figure('a call without hooks, over the backend call', over('toolset.call read_file'), 30, 'µs')
figure('a call with two hooks, over the backend call', over('toolset.call read_file, two hooks'), 300, 'µs')
figure('a 5 KB file read through the toolset', median(times['toolset.call read_file']), 60, 'µs')

// Rules: the default preset, and a ruleset of fifty rules that allow, ask and deny by names and directories. Over files in memory
// and a command that does nothing, so that what is measured is the way to them.
const names = ['build', 'dist', 'vendor', 'private', 'secrets', 'certs', 'data', 'backup', 'legacy', 'generated']
const deny = (suffix) => names.map((name) => ({ pattern: `**/${name}/**/*.${suffix}`, action: 'deny' }))
const rules = {
  default: 'ask',
  read: { default: 'allow', rules: [...deny('pem'), ...deny('key')] },
  write: { rules: [...deny('lock'), { pattern: '/**', action: 'allow' }] },
  execute: {
    rules: [
      ...names.map((name) => ({ pattern: `**${name} --force**`, action: 'deny' })),
      ...names.slice(1).map((name) => ({ pattern: `npm run ${name}**`, action: 'allow' })),
      { pattern: 'git status**', action: 'allow' },
    ],
  },
}
const memory = new StateBackend({ files: { '/file.ts': readFileSync(path, 'utf8') } })
const object = {
  read: (file) => memory.read(file),
  write: (file, content) => memory.write(file, content),
  execute: async () => ({ output: '', exitCode: 0 }),
}
const judged = {
  'the default preset': { permissions: 'default', preApproved: ['write_file', 'execute'] },
  'fifty rules': { permissions: rules },
}
const content = 'const value = 2\n'
for (const [title, options] of Object.entries(judged)) {
  const files = createToolset({ backend: memory, ...options })
  const commands = createToolset({ backend: object, ...options })
  const bare = createToolset({ backend: object, requireExecuteApproval: false })
  const measured = await timesOf({
    'backend.read': () => memory.read('/file.ts'),
    read: () => files.call('read_file', { path: '/file.ts' }),
    'backend.write': () => memory.write('/out.ts', content),
    write: () => files.call('write_file', { path: '/out.ts', content }),
    'backend.execute': () => bare.call('execute', { command: 'git status' }),
    command: () => commands.call('execute', { command: 'git status' }),
  })
  const cost = (name, beside) => median(measured[name]) - median(measured[beside])
  figure(`a read under ${title}, over the backend call`, cost('read', 'backend.read'), 30, 'µs')
  figure(`a write under ${title}, over the backend call`, cost('write', 'backend.write'), 30, 'µs')
  figure(`a command under ${title}, over the same without rules`, cost('command', 'backend.execute'), 30, 'µs')
  await Promise.all([files.close(), commands.close(), bare.close()])
}
await memory.close()

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
  figure(`analyzeCommand of ${command.length} characters`, median(samples.slice(WARM)), 50, 'µs')
}
await Promise.all([plain.close(), hooked.close()])
await backend.close()
