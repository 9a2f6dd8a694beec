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

/** Stands in one file of 2,500. */
export const RARE = 'quetzalcoatlus'

/**
 * A source tree of realistic shape, the same on every machine: `count` files of 200 bytes to 60 KB, ten in a folder, some
 * of them ignored.
 */
export function sourceTree(count) {
  const root = temporaryFolder()
  const words =
    'function return const import export default async await value result error handler request response config options'.split(
      ' ',
    )
  const suffixes = 'ts ts ts ts ts ts ts ts tsx tsx js js js json json md css css html py'.split(' ')
  let state = 0x2545f491
  const below = (end) => {
    // Xorshift, for the same numbers everywhere.
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % end
  }
  // So that programs which honour ignore files in repositories only do so here.
  mkdirSync(join(root, '.git'))
  writeFileSync(join(root, '.gitignore'), 'node_modules/\ndist/\n*.log\n')
  const lines = Array.from({ length: 4_000 }, () => {
    const text = Array.from(
      { length: 2 + below(8) },
      () => words[below(words.length)] + ['.', '(', ' =', 'Id'][below(4)],
    )
    return `${'  '.repeat(below(4))}${text.join(' ')} ${below(10_000)}\n`
  })
  let folder = root
  for (let index = 0; index < count; index += 1) {
    if (index % 10 === 0) {
      const levels = Array.from({ length: 2 + below(6) }, (_, level) => words[below(16)] + below(level < 3 ? 12 : 4))
      folder = join(root, ...(index % 250 === 0 ? ['node_modules'] : []), ...levels)
      mkdirSync(folder, { recursive: true })
    }
    const bytes = Math.min(200 + Math.floor(2 ** 23 / ((below(4096) + 1) ** 2 / 4 + 140)), 60_000)
    let text = index % 2_500 === 7 ? `${RARE}\n` : ''
    while (text.length < bytes) text += lines[below(lines.length)]
    writeFileSync(join(folder, `${words[below(16)]}-${index}.${suffixes[below(suffixes.length)]}`), text)
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
