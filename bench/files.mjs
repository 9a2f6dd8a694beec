// Reading, editing and listing through the package, beside what people would write with plain Node, and beside another
// library of agents' file tools. What the system calls alone cost is in `crates/core/benches/files.rs`.
//
// Each subject of a table has a process of its own, and the processes are asked in turns: what one leaves behind (a heap that
// grew by 200 MB, half a collection, a timer) is in nobody else's time, and what the machine does meets all of them.

import { fork } from 'node:child_process'
import { createReadStream, existsSync, mkdirSync, openSync, closeSync, writeFileSync, writeSync } from 'node:fs'
import { lstat, open, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createToolset, LocalBackend } from 'gloveport'
import { median, temporaryFolder } from './support.mjs'

const PEER = join(import.meta.dirname, 'peers/node_modules/deepagents/dist/index.js')

/** `FilesystemBackend` of deepagents, where `npm install --prefix bench/peers` put it. */
async function deepagents(place) {
  const { FilesystemBackend } = await import(pathToFileURL(PEER).href)
  return new FilesystemBackend({ rootDir: place, virtualMode: true, maxFileSizeMb: 1_000 })
}

/** A toolset and its backend, which the end of the process closes. */
function ours(place) {
  const backend = new LocalBackend({ root: place })
  return { backend, toolset: createToolset({ backend }) }
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

/** Two thousand lines of `large.txt`, beginning at `offset`. */
const reading = (offset) => ({
  'toolset.call read_file': (place) => {
    const { toolset } = ours(place)
    return () => toolset.call('read_file', { path: 'large.txt', offset })
  },
  'backend.read': (place) => {
    const { backend } = ours(place)
    return () => backend.read('large.txt', { offset, limit: 2_000 })
  },
  'node:readline over a stream': (place) => () => byReadline(join(place, 'large.txt'), offset, 2_000),
  'fs.promises.readFile, split, slice': (place) => async () =>
    (await readFile(join(place, 'large.txt'), 'utf8')).split('\n').slice(offset, offset + 2_000),
  'deepagents FilesystemBackend.read': async (place) => {
    const peer = await deepagents(place)
    return () => peer.read('/large.txt', offset, 2_000)
  },
})

/** One line of `lines` is changed, there and back; each subject has a file of its own. */
function editing(lines) {
  const text = Array.from(
    { length: lines },
    (_, line) => `let value_${String(line).padStart(8)} = compute(${line}, a);\n`,
  ).join('')
  const subject = (name, edit) => (place) => {
    const path = join(place, name)
    writeFileSync(path, text)
    const words = [`compute(${lines / 2}, a`, `compute(${lines / 2}, b`]
    return async () => {
      const [from, to] = words
      words.reverse()
      await edit(place, path, from, to)
    }
  }
  let made
  return {
    'toolset.call edit_file (data on the disk)': subject('ours.ts', async (place, _, old_string, new_string) => {
      made ??= ours(place)
      const result = await made.toolset.call('edit_file', { path: 'ours.ts', old_string, new_string })
      if (result.isError) throw new Error(result.text)
    }),
    'read, replace, write, fdatasync, rename': subject('plain.ts', async (_, path, from, to) => {
      const next = (await readFile(path, 'utf8')).replace(from, () => to)
      const file = await open(`${path}.tmp`, 'w')
      await file.writeFile(next)
      await file.datasync()
      await file.close()
      await rename(`${path}.tmp`, path)
    }),
    'read, replace, write over it (may be torn)': subject('torn.ts', async (_, path, from, to) => {
      await writeFile(
        path,
        (await readFile(path, 'utf8')).replace(from, () => to),
      )
    }),
    'deepagents FilesystemBackend.edit (may be torn)': subject('peer.ts', async (place, _, from, to) => {
      made ??= await deepagents(place)
      await made.edit('/peer.ts', from, to)
    }),
  }
}

const listing = {
  'backend.ls': (place) => {
    const { backend } = ours(place)
    return () => backend.ls('many')
  },
  'readdir, and lstat of each': (place) => async () => {
    const folder = join(place, 'many')
    const names = await readdir(folder)
    return Promise.all(names.map((name) => lstat(join(folder, name))))
  },
  'deepagents FilesystemBackend.ls': async (place) => {
    const peer = await deepagents(place)
    return () => peer.ls('/many')
  },
}

/** What is measured: how often, and by whom. A subject is made in its process, and is then what that does at each turn. */
const TABLES = [
  { title: 'the first 2,000 lines of 200 MB', runs: 9, subjects: reading(0) },
  { title: 'lines 1,000,000 to 1,002,000 of 200 MB', runs: 5, subjects: reading(1_000_000) },
  { title: 'a unique replacement in 5 KB', runs: 300, subjects: editing(100) },
  { title: 'a unique replacement in 5 MB', runs: 15, subjects: editing(100_000) },
  { title: '10,000 entries with sizes and times', runs: 15, subjects: listing },
]

/** The process of one subject: at each message one turn, answered with its milliseconds. */
async function serve(place, table, name) {
  const turn = await TABLES[table].subjects[name](place)
  // Told before the first turn too, so that no turn waits for this process to start.
  process.send('ready')
  process.once('disconnect', () => process.exit())
  process.on('message', async () => {
    globalThis.gc()
    const started = performance.now()
    await turn()
    process.send(performance.now() - started)
  })
}

/** Runs the subjects of a table in turns and prints the median of each. The first turn warms up and is not counted. */
async function measure(place, table) {
  const { title, runs, subjects } = TABLES[table]
  console.log(`  ${title}`)
  const asked = []
  for (const name of Object.keys(subjects)) {
    if (name.startsWith('deepagents') && !existsSync(PEER)) continue
    const process = fork(fileURLToPath(import.meta.url), [place, String(table), name], { execArgv: ['--expose-gc'] })
    // One that ends early would be waited for without end.
    process.once('exit', (code) => code && exit(`${name} ended with ${code}`))
    await once(process, 'message')
    asked.push({ name, process, times: [] })
  }
  for (let run = 0; run <= runs; run += 1) {
    for (const { process, times } of asked) {
      process.send('turn')
      const [time] = await once(process, 'message')
      if (run > 0) times.push(time)
    }
  }
  for (const { name, process, times } of asked) {
    process.removeAllListeners('exit').disconnect()
    console.log(`     ${name.padEnd(48)} ${median(times).toFixed(3).padStart(10)} ms (median of ${runs})`)
  }
}

function exit(reason) {
  console.error(reason)
  process.exit(1)
}

function linesFile(path, bytes) {
  const file = openSync(path, 'w')
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

const [, , asked, table, subject] = process.argv
if (asked) {
  await serve(asked, Number(table), subject)
} else {
  const place = temporaryFolder()
  if (!existsSync(PEER)) console.log('     (deepagents is not installed: npm install --prefix bench/peers)')
  linesFile(join(place, 'large.txt'), 200_000_000)
  mkdirSync(join(place, 'many'))
  for (let index = 0; index < 10_000; index += 1) writeFileSync(join(place, 'many', `component-${index}.tsx`), 'x')
  for (let index = 0; index < TABLES.length; index += 1) await measure(place, index)
}
