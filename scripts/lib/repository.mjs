// What must hold for the files of the repository themselves: nothing of one machine in them, generated ones up to date.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { digest } from './fresh.mjs'
import { drivenTests } from './programs.mjs'
import { fromCode, sum } from './results.mjs'
import { announce, root, StepError } from './steps.mjs'

/** Written by the build or by a package manager, committed, never edited by hand. */
const GENERATED = ['binding.js', 'binding.d.ts', 'package-lock.json', 'Cargo.lock']

/** A download address ties a lock file or a script to one registry; both package managers know theirs by configuration. */
const REGISTRY_HOST = /\b(?:registry|index|static)\.[a-z0-9-]+\.(?:org|io|com|dev)\b|"resolved": "https?:/

/** Crates with which others compile, configure or bind C: who installs from source has Node, npm and Rust, and no compiler of C. */
const C_BUILDERS = ['autotools', 'bindgen', 'cc', 'clang-sys', 'cmake', 'nasm-rs', 'pkg-config', 'psm', 'vcpkg']

/** The generated files as they are now: take it before set-up and hand it to {@link checkRepository}. */
export function generatedFiles() {
  return digest(GENERATED)
}

const textOf = (path) => readFileSync(join(root, path), 'utf8')

function git(args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  if (status !== 0) throw new StepError(`git ${args[0]} failed: the checks of the repository need a git checkout`)
  return stdout
}

/** Folders of this machine, which no committed file has a reason to name. */
function placesOfThisMachine() {
  const common = git(['rev-parse', '--path-format=absolute', '--git-common-dir']).trim()
  const cargoHome = process.env.CARGO_HOME ?? join(homedir(), '.cargo')
  return [...new Set([root, dirname(common), join(cargoHome, 'registry')])]
}

/** Tracked text files, each with its lines that name a machine or a registry. */
function strayReferences() {
  const places = placesOfThisMachine()
  const found = []
  for (const path of git(['ls-files', '-z']).split('\0').filter(Boolean)) {
    const file = join(root, path)
    if (!existsSync(file)) continue
    const bytes = readFileSync(file)
    if (bytes.includes(0)) continue
    for (const [index, line] of bytes.toString().split('\n').entries()) {
      const stray = places.find((place) => line.includes(`${place}/`)) ?? REGISTRY_HOST.exec(line)?.[0]
      if (stray) found.push(`${path}:${index + 1} names ${stray}`)
    }
  }
  return found
}

/** What ARCHITECTURE.md must name and does not: every error code, every dependency. */
function missingInArchitecture() {
  const codes = [...textOf('crates/core/src/error.rs').matchAll(/=> "([A-Z_]+)"/g)].map((match) => match[1])
  const shared = /^\[workspace\.dependencies\]\n(.*?)^\[/ms.exec(textOf('Cargo.toml'))?.[1] ?? ''
  const crates = [...shared.matchAll(/^([\w-]+) = /gm)]
    .map((match) => match[1])
    .filter((name) => !name.startsWith('gloveport'))
  const packages = Object.keys(JSON.parse(textOf('package.json')).devDependencies)
  const architecture = textOf('ARCHITECTURE.md')
  return [...codes, ...crates, ...packages].filter((name) => !architecture.includes(`\`${name}\``))
}

/** The rows of ARCHITECTURE.md's table of the core's modules, the topmost first: the names of each. */
function coreRows() {
  const table = /^Inside `crates\/core\/src`[^]*?\n\n(\|[^]*?)\n\n/m.exec(textOf('ARCHITECTURE.md'))?.[1] ?? ''
  const firstCells = table.split('\n').map((row) => row.split('|')[1] ?? '')
  return firstCells
    .map((cell) => [...cell.matchAll(/`(\w+)\/?`/g)].map((match) => match[1]))
    .filter((row) => row.length > 0)
}

/** Imports of the core that go up in that table, and modules that it does not name. Tests may look at everything. */
function upwardImports() {
  const rows = coreRows()
  const rowOf = (module) => rows.findIndex((row) => row.includes(module))
  const source = 'crates/core/src/'
  const files = git(['ls-files', '-z', source]).split('\0')
  return files
    .filter(
      (path) =>
        path.endsWith('.rs') && path !== `${source}lib.rs` && !/test/.test(path) && existsSync(join(root, path)),
    )
    .flatMap((path) => {
      const own = path.slice(source.length).split(/[/.]/)[0]
      const code = textOf(path)
        .split('\n#[cfg(test)]\nmod ')[0]
        .replaceAll(/^\s*\/\/.*$/gm, '')
      const named = new Set([...code.matchAll(/\bcrate::([a-z_]+)/g)].map((match) => match[1]))
      if (rowOf(own) < 0) return [`${path} is in a module that the table does not name`]
      const upward = [...named].filter((module) => rowOf(module) >= 0 && rowOf(module) < rowOf(own))
      return upward.map((module) => `${path} imports ${module}, which stands above ${own}`)
    })
}

/** Crates of the lock file that need a compiler of C. */
function cBuilders() {
  const names = new Set([...textOf('Cargo.lock').matchAll(/^name = "([\w-]+)"$/gm)].map((match) => match[1]))
  if (!names.has('gloveport-core')) return ['Cargo.lock names no crates that could be read']
  return C_BUILDERS.filter((name) => names.has(name)).map((name) => `${name} is in Cargo.lock`)
}

/** Exports of the addon that would let a panic end the Node process. */
function bareExports() {
  const files = git(['ls-files', '-z', 'src']).split('\0')
  const found = files
    .filter((path) => path.endsWith('.rs'))
    .flatMap((path) => {
      // What stands between an attribute and its function: further attributes and comments.
      const exports = /^ *#\[napi\b(.*?)\]\n(?: *(?:#\[|\/\/).*\n)* *pub (?:async )?fn (\w+)/gm
      return [...textOf(path).matchAll(exports)].map(([, options, name]) => ({ path, options, name }))
    })
  if (found.length === 0) return ['no export of the addon could be read']
  const bare = found.filter(({ options }) => !options.includes('catch_unwind'))
  return bare.map(({ path, name }) => `${path}: ${name} is exported without catch_unwind`)
}

/** Names of tests that a missing program skips, and that name no test or more than one. */
function misnamedTests() {
  const files = git(['ls-files', '-z', '*.rs']).split('\0')
  const sources = files.filter((path) => path && existsSync(join(root, path))).map(textOf)
  const functions = sources.flatMap((source) => [...source.matchAll(/\bfn (\w+)/g)].map((match) => match[1]))
  const counted = drivenTests.map((name) => ({ name, count: functions.filter((test) => test.includes(name)).length }))
  return counted
    .filter(({ count }) => count !== 1)
    .map(({ name, count }) => `${name} is in the names of ${count} tests`)
}

function check(title, problems) {
  announce(title)
  for (const problem of problems) console.error(`  ${problem}`)
  return fromCode(problems.length)
}

/** Checks the repository's own files. `before` is {@link generatedFiles} from before set-up. */
export async function checkRepository(before) {
  const stale = generatedFiles() === before ? [] : [`the build changed one of ${GENERATED.join(', ')}: commit it`]
  return sum([
    check('No place of one machine and no registry host in tracked files', strayReferences()),
    check('Generated files are up to date', stale),
    check('ARCHITECTURE.md names every error code and dependency', missingInArchitecture()),
    check('No crate compiles C', cBuilders()),
    check('No export of the addon lets a panic out', bareExports()),
    check('Each test that a missing program skips is there, and is one', misnamedTests()),
    check('No module of the core imports one that stands above it in ARCHITECTURE.md', upwardImports()),
  ])
}
