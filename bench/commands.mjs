// What commands cost through the package: one at a time beside a bare `posix_spawn` of a small program, with an ordinary and
// with a 2 GB heap, eight at a time beside `child_process`, a command in a session that lasts, and much output.

import { execFile, execFileSync, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import { LocalBackend, Terminals } from 'gloveport'
import { figure, median, temporaryFolder } from './support.mjs'

const RUNS = 200
const root = temporaryFolder()

/** A small program that starts `sh -c true` by `posix_spawn` and waits for it: microseconds of each run. */
const FLOOR = `
import os, time
for _ in range(${RUNS}):
    begin = time.perf_counter_ns()
    os.waitpid(os.posix_spawn('/bin/sh', ['sh', '-c', 'true'], {'PATH': '/usr/bin:/bin'}), 0)
    print((time.perf_counter_ns() - begin) / 1000)
`
const floor = () => median(execFileSync('python3', ['-c', FLOOR], { encoding: 'utf8' }).trim().split('\n').map(Number))

async function timed(runs, work) {
  const times = []
  for (let run = 0; run < runs; run += 1) {
    const begin = performance.now()
    await work()
    times.push((performance.now() - begin) * 1_000)
  }
  return median(times)
}

const ready = new LocalBackend({ root })
const once = () => ready.execute('true')
const cold = async () => {
  const backend = new LocalBackend({ root })
  await backend.execute('true')
  await backend.close()
}
const terminals = new Terminals({ backend: ready, requireExecuteApproval: false })
await timed(20, once)
await terminals.exec('s', 'true')

const bare = median([floor(), floor(), floor()])
console.log(`     bare posix_spawn of sh -c true: ${bare.toFixed(0)} µs (median)`)
figure('sh -c true, supervisor started for it', (await timed(RUNS, cold)) / bare, 3, 'x bare')
figure('sh -c true, supervisor ready', (await timed(RUNS, once)) / bare, 1.2, 'x bare')
figure(
  'a command in a session that lasts',
  (await timed(RUNS, () => terminals.exec('s', 'true'))) / bare,
  0.2,
  'x bare',
)

// Touched, so that the pages are there to be copied by whoever forks.
const heap = Array.from({ length: 2_000 }, () => new Float64Array(131_072).fill(1.5))
figure('sh -c true, ready, 2 GB heap', (await timed(RUNS, once)) / bare, 1.2, 'x bare')
figure('sh -c true, cold, 2 GB heap', (await timed(RUNS, cold)) / bare, 3, 'x bare')
console.log(`     heap ${(process.memoryUsage().rss / 2 ** 30).toFixed(1)} GB, ${heap.length} blocks`)
heap.length = 0

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
for (let round = 0; round < 5; round += 1) {
  floors.push(await drain())
  takes.push(await take())
}
clearInterval(watch)
figure('100 MB of output', median(takes) / median(floors), 1.3, 'x floor')
figure('memory for it', (peak - before) / 1e6, 60, 'MB')

await terminals.close()
await ready.close()
