// Remembers what a step was made from, so that a second run skips what is still fresh. Compares contents, never times:
// a branch switch or a restored cache cannot fool it.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './steps.mjs'

/** Every file beneath `path`, or `path` itself; nothing when it does not exist. */
function filesBeneath(path) {
  if (!existsSync(path)) return []
  if (statSync(path).isFile()) return [path]
  const found = []
  const pending = [path]
  for (let folder = pending.pop(); folder; folder = pending.pop()) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const child = join(folder, entry.name)
      if (entry.isDirectory()) pending.push(child)
      else if (entry.isFile()) found.push(child)
    }
  }
  return found.toSorted()
}

/** A digest of the contents of `paths` (files and folders beneath the repository) and of `facts`. */
export function digest(paths, facts = {}) {
  const hash = createHash('sha256').update(JSON.stringify(facts))
  for (const path of paths) {
    for (const file of filesBeneath(join(root, path))) {
      hash.update(`\0${file.slice(root.length)}\0`).update(readFileSync(file))
    }
  }
  return hash.digest('hex')
}

/**
 * @typedef {{ stamp: string, inputs: () => string, outputs?: readonly string[], make: () => Promise<unknown> }} Step
 *   `stamp` is a file that remembers; `inputs` digests what counts; `outputs` must exist; `make` makes them
 */

/** Whether the stamp says that the same inputs already made what is there. @param {Step} step */
export function isFresh({ stamp, inputs, outputs = [] }) {
  const file = join(root, stamp)
  if (!outputs.every((output) => existsSync(join(root, output)))) return false
  return existsSync(file) && readFileSync(file, 'utf8') === inputs()
}

/** Runs `make` unless it {@link isFresh}. The inputs are digested again afterwards, as `make` may change some. @param {Step} step */
export async function whenStale(step) {
  if (isFresh(step)) return
  await step.make()
  const file = join(root, step.stamp)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, step.inputs())
}
