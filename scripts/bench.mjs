// `npm run bench`: sets up what is missing, with a release build, and runs every benchmark: those of the core, and those
// that go through the package. `npm run bench -- event-loop opening` runs the named ones only.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setUp } from './lib/setup.mjs'
import { root, run, runMain, StepError } from './lib/steps.mjs'

/** What benchmarks import. */
const SHARED = new Set(['support.mjs', 'javascript-grep.mjs'])
const ofPackage = readdirSync(join(root, 'bench'))
  .filter((file) => file.endsWith('.mjs') && !SHARED.has(file))
  .map((file) => file.slice(0, -'.mjs'.length))
const manifest = readFileSync(join(root, 'crates/core/Cargo.toml'), 'utf8')
const ofCore = [...manifest.matchAll(/\[\[bench\]\]\s+name = "(.+?)"/g)].map((match) => match[1])

await runMain(async () => {
  const asked = process.argv.slice(2)
  const unknown = asked.filter((name) => !ofPackage.includes(name) && !ofCore.includes(name))
  if (unknown.length) {
    throw new StepError(`No benchmark ${unknown.join(', ')}: there are ${[...ofPackage, ...ofCore].join(', ')}.`)
  }
  const chosen = (names) => names.filter((name) => !asked.length || asked.includes(name))
  await setUp({ profile: 'release' })
  const codes = []
  for (const name of chosen(ofPackage)) {
    const { code } = await run(`Benchmark ${name}`, process.execPath, [join('bench', `${name}.mjs`)], {
      allowFailure: true,
    })
    codes.push(code)
  }
  for (const name of chosen(ofCore)) {
    const args = ['bench', '--package', 'gloveport-core', '--bench', name]
    const { code } = await run(`Benchmark ${name} (core)`, 'cargo', args, { allowFailure: true })
    codes.push(code)
  }
  if (codes.some((code) => code !== 0)) throw new StepError('a figure is worse than what is promised')
})
