// The notices of the crates that are linked into the programs we ship: most licences ask that their text goes with them.
// Made from the packages themselves when a release is built, so that it is never out of date and never in the repository.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root, StepError } from './steps.mjs'

/** Files of a package that hold its terms. */
const TERMS = /^(licen[cs]e|copying|notice|unlicense|copyright)/i

function metadata() {
  const host = /^host: (.+)$/m.exec(execFileSync('rustc', ['-vV'], { cwd: root, encoding: 'utf8' }))[1]
  const args = ['metadata', '--locked', '--format-version=1', `--filter-platform=${host}`]
  return JSON.parse(execFileSync('cargo', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20 }))
}

/** Every package that a member of the workspace links at run time, directly or not, without the members themselves. */
function linked({ packages, resolve, workspace_members: members }) {
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]))
  const seen = new Set(members)
  for (const id of seen) {
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) {
      if (kinds.some(({ kind }) => kind === null)) seen.add(pkg)
    }
  }
  return packages.filter(({ id }) => seen.has(id) && !members.includes(id))
}

function termsOf({ manifest_path: manifest }) {
  const folder = dirname(manifest)
  const files = readdirSync(folder, { withFileTypes: true }).filter((file) => file.isFile() && TERMS.test(file.name))
  return files.map((file) => readFileSync(join(folder, file.name), 'utf8').replaceAll('\r\n', '\n').trim())
}

/** The text of the notices: each of the terms once, under the packages that come with it. */
export function notices() {
  const holders = new Map()
  const without = []
  for (const item of linked(metadata()).toSorted((one, other) => one.id.localeCompare(other.id))) {
    if (!item.license && !item.license_file) throw new StepError(`${item.name} names no licence; it cannot be shipped`)
    const title = `${item.name} ${item.version} (${item.license ?? 'see below'})`
    const terms = termsOf(item)
    if (terms.length === 0) without.push(`${title}${item.authors.length ? `, by ${item.authors.join(', ')}` : ''}`)
    for (const text of terms) holders.set(text, [...(holders.get(text) ?? []), title])
  }
  const parts = [...holders].map(([text, titles]) => `${titles.join('\n')}\n\n${text}`)
  if (without.length > 0) parts.push(`These packages come without the text of their licence:\n\n${without.join('\n')}`)
  const head =
    'The native programs of gloveport hold the following packages, and the standard library of Rust (MIT OR Apache-2.0).'
  return `${[head, ...parts].join(`\n\n${'─'.repeat(80)}\n\n`)}\n`
}
