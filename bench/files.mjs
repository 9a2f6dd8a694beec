// Reading, editing and listing through the package, beside what people would write with plain Node, and beside another
// library of agents' file tools. Every subject of a table runs in turns in one run. What the system calls alone cost is in
// `crates/core/benches/files.rs`.

import { createReadStream, existsSync, mkdirSync, openSync, closeSync, writeFileSync, writeSync } from 'node:fs'
import { lstat, open, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createToolset, LocalBackend } from 'gloveport'
import { median, temporaryFolder } from './support.mjs'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
const place = temporaryFolder()
const backend = new LocalBackend({ root: place })
const toolset = createToolset({ backend })
const peer = await deepagents()

/** `FilesystemBackend` of deepagents, where `npm install --prefix bench/peers` put it. */
async function deepagents() {
  const entry = join(import.meta.dirname, 'peers/node_modules/deepagents/dist/index.js')
  if (!existsSync(entry)) {
    console.log('     (deepagents is not installed: npm install --prefix bench/peers)')
    return undefined
  }
  const { FilesystemBackend } = await import(pathToFileURL(entry).href)
  return new FilesystemBackend({ rootDir: place, virtualMode: true, maxFileSizeMb: 1_000 })
}

/** Runs the subjects in turns and prints the median of each. `undefined` ones are left out. */
async function table(title, runs, subjects) {
  console.log(`  ${title}`)
  const present = Object.entries(subjects).filter(([, subject]) => subject)
  const times = Object.fromEntries(present.map(([name]) => [name, []]))
  for (let run = 0; run < runs; run += 1) {
    for (const [name, subject] of present) {
      // What one subject left is not collected in another's time.
      collect()
      const started = performance.now()
      await subject()
      times[name].push(performance.now() - started)
    }
  }
  for (const [name, samples] of Object.entries(times)) {
    console.log(`     ${name.padEnd(44)} ${median(samples).toFixed(3).padStart(10)} ms (median of ${runs})`)
  }
}

function linesFile(name, bytes) {
  const file = openSync(join(place, name), 'w')
  let number = 0
  for (let size = 0; size < bytes;) {
    let block = ''
    for (let line = 0; line < 10_000; line += 1, number += 1) {
      block += `${String(number).padStart(8)} ${'lorem ipsum dolor '.repeat(2 + (number % 7))}\n`
    }
    size += writeSync(file, block)
  }
  closeSync(file)
}

async function byReadline(path, from, count) {
  const lines = []
  const stream = createReadStream(path)
  const reader = createInterface({ input: stream, crlfDelay: Infinity })
  let number = 0
  for await (const line of reader) {
    if (number >= from) lines.push(line)
    number += 1
    if (lines.length === count) break
  }
  reader.close()
  stream.destroy()
  return lines
}

const large = join(place, 'large.txt')
linesFile('large.txt', 200_000_000)
await table('the first 2,000 lines of 200 MB', 7, {
  'toolset.call read_file': () => toolset.call('read_file', { path: 'large.txt' }),
  'backend.read': () => backend.read('large.txt', { limit: 2_000 }),
  'node:readline over a stream': () => byReadline(large, 0, 2_000),
  'fs.promises.readFile, split, slice': async () => (await readFile(large, 'utf8')).split('\n').slice(0, 2_000),
  'deepagents FilesystemBackend.read': peer && (() => peer.read('/large.txt', 0, 2_000)),
})
await table('lines 1,000,000 to 1,002,000 of 200 MB', 5, {
  'toolset.call read_file': () => toolset.call('read_file', { path: 'large.txt', offset: 1_000_000 }),
  'node:readline over a stream': () => byReadline(large, 1_000_000, 2_000),
  'fs.promises.readFile, split, slice': async () => (await readFile(large, 'utf8')).split('\n').slice(1e6, 1e6 + 2_000),
  'deepagents FilesystemBackend.read': peer && (() => peer.read('/large.txt', 1_000_000, 2_000)),
})

for (const [title, lines, runs] of [
  ['5 KB', 100, 300],
  ['5 MB', 100_000, 15],
]) {
  const text = Array.from(
    { length: lines },
    (_, line) => `let value_${String(line).padStart(8)} = compute(${line}, a);\n`,
  )
  for (const name of ['ours.ts', 'plain.ts', 'peer.ts']) writeFileSync(join(place, name), text.join(''))
  const place5 = `compute(${lines / 2}, `
  const flips = { ours: false, plain: false, peer: false }
  const words = (who) => {
    flips[who] = !flips[who]
    return flips[who] ? [`${place5}a`, `${place5}b`] : [`${place5}b`, `${place5}a`]
  }
  await table(`a unique replacement in ${title}`, runs, {
    'toolset.call edit_file (data on the disk)': () => {
      const [old_string, new_string] = words('ours')
      return toolset.call('edit_file', { path: 'ours.ts', old_string, new_string })
    },
    'read, replace, write, fdatasync, rename': async () => {
      const [from, to] = words('plain')
      const path = join(place, 'plain.ts')
      const next = (await readFile(path, 'utf8')).replace(from, () => to)
      const file = await open(`${path}.tmp`, 'w')
      await file.writeFile(next)
      await file.datasync()
      await file.close()
      await rename(`${path}.tmp`, path)
    },
    'read, replace, write over it (may be torn)': async () => {
      const [from, to] = words('plain')
      const path = join(place, 'plain.ts')
      await writeFile(
        path,
        (await readFile(path, 'utf8')).replace(from, () => to),
      )
    },
    'deepagents FilesystemBackend.edit (may be torn)':
      peer &&
      (() => {
        const [from, to] = words('peer')
        return peer.edit('/peer.ts', from, to)
      }),
  })
}

mkdirSync(join(place, 'many'))
for (let index = 0; index < 10_000; index += 1) writeFileSync(join(place, 'many', `component-${index}.tsx`), 'x')
await table('10,000 entries with sizes and times', 10, {
  'backend.ls': () => backend.ls('many'),
  'readdir, and lstat of each': async () => {
    const folder = join(place, 'many')
    const names = await readdir(folder)
    return Promise.all(names.map((name) => lstat(join(folder, name))))
  },
  'deepagents FilesystemBackend.ls': peer && (() => peer.ls('/many')),
})
await toolset.close()
await backend.close()
