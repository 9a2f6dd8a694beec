// What the benchmarks share: a tree of many files, and figures as ratios or against a bound, printed one a line.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder that is removed when the process ends. */
export function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'gloveport-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A tree of `count` TypeScript files of about 2 KB, 50 in each folder. */
export function manyFiles(count) {
  const root = temporaryFolder()
  const line = 'export function work(value: number): number { return value * 2 + 1 }\n'
  for (let index = 0; index < count; index += 1) {
    const folder = join(root, `part-${Math.floor(index / 2_500)}`, `folder-${Math.floor(index / 50)}`)
    if (index % 50 === 0) mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `file-${index}.ts`), line.repeat(30) + (index % 10_000 === 0 ? '// needle\n' : ''))
  }
  return root
}

/** The middle of some numbers. */
export function median(numbers) {
  const sorted = [...numbers].toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}

/** Prints one figure and what it is held to; a figure that is worse makes the process fail. */
export function figure(name, value, bound, unit) {
  const holds = value <= bound
  console.log(`${holds ? 'ok  ' : 'MISS'} ${name}: ${value.toFixed(2)} ${unit} (at most ${bound})`)
  if (!holds) process.exitCode = 1
}
