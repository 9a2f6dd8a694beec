// How long Node's event loop is held up while the core searches 50,000 files: the worst delay of a timer, and the 99th
// percentile, as Node's own histogram counts them.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { LocalBackend } from 'gloveport'
import { figure, manyFiles } from './support.mjs'

/** 1 ms: the histogram's grain; it counts each sample's distance from the last, so this much is always in it. */
const RESOLUTION_MS = 1
const FILES = 50_000

const backend = new LocalBackend({ root: manyFiles(FILES) })
await backend.grep('needle')
for (const [name, search] of [
  ['grep', () => backend.grep('need.e')],
  ['glob', () => backend.glob('**/*.ts', { limit: 100 })],
]) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  const started = performance.now()
  for (let run = 0; run < 5; run += 1) await search()
  const each = (performance.now() - started) / 5
  delay.disable()
  const above = (nanoseconds) => Math.max(nanoseconds / 1e6 - RESOLUTION_MS, 0)
  console.log(`     ${name} of ${FILES} files: ${each.toFixed(0)} ms each`)
  figure(`event loop, worst delay during ${name}`, above(delay.max), 20, 'ms')
  figure(`event loop, 99th percentile during ${name}`, above(delay.percentile(99)), 10, 'ms')
}
await backend.close()
