// `npm test`: sets up what is missing, runs every suite and ends with one line, `N passed, N failed`.
// `npm test -- rust vitest` runs the named suites only. `docker` starts a container engine of its own where it can.

import { join } from 'node:path'
import { AT_ONCE, hasNextest, NEXTEST_REPORT } from './lib/nextest.mjs'
import { checkRepository, generatedFiles } from './lib/repository.mjs'
import { undrivable } from './lib/programs.mjs'
import { forget, fromCargoTest, fromCode, fromJestJson, fromJunit, sum } from './lib/results.mjs'
import { testDocker, testPodman } from './lib/docker.mjs'
import { setUp } from './lib/setup.mjs'
import { testSnippets } from './lib/snippets.mjs'
import { root, run, runMain, StepError } from './lib/steps.mjs'

const VITEST_REPORT = 'target/test-reports/vitest.json'
const JEST_REPORT = 'target/test-reports/jest.json'

/** All our TypeScript, and small consumers of the package under each way of resolving modules. */
const TYPE_PROJECTS = [
  'tsconfig.json',
  ...['node16', 'nodenext', 'bundler'].map((name) => `__test__/types/tsconfig.${name}.json`),
]

/** Runs a program of node_modules with this Node; a failing test is a result here, not an end. */
const tool = (title, file, args, options) =>
  run(title, process.execPath, [join('node_modules', file), ...args], { allowFailure: true, ...options })

/** Taken before set-up, which rebuilds what is generated. */
const before = generatedFiles()

/** Every suite by the name it is asked for, each answering its counts. */
const suites = {
  async rust() {
    const skipped = undrivable()
    const withSkipped = (counts) => sum([counts, { passed: 0, failed: 0, skipped: skipped.length }])
    if (!hasNextest()) {
      const args = ['test', '--workspace', '--lib', '--bins', '--tests', '--no-fail-fast', '--']
      args.push(...skipped.flatMap((name) => ['--skip', name]))
      const { code, stdout } = await run('Rust tests (cargo test)', 'cargo', args, { tee: true, allowFailure: true })
      return withSkipped(fromCargoTest(stdout, code))
    }
    forget(NEXTEST_REPORT)
    const args = ['nextest', 'run', '--workspace', AT_ONCE]
    if (skipped.length) args.push('-E', `not (${skipped.map((name) => `test(${name})`).join(' | ')})`)
    const { code } = await run('Rust tests (cargo nextest)', 'cargo', args, { allowFailure: true })
    return withSkipped(fromJunit(NEXTEST_REPORT, code))
  },
  async doc() {
    const args = ['test', '--workspace', '--doc']
    const { code, stdout } = await run('Rust documentation tests', 'cargo', args, { tee: true, allowFailure: true })
    return fromCargoTest(stdout, code)
  },
  async vitest() {
    forget(VITEST_REPORT)
    const args = [
      'run',
      // They need an engine: the suite `docker` runs them.
      '--exclude=__test__/docker/**',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${VITEST_REPORT}`,
    ]
    const { code } = await tool('vitest', 'vitest/vitest.mjs', args)
    return fromJestJson(VITEST_REPORT, code)
  },
  async jest() {
    forget(JEST_REPORT)
    const args = ['--rootDir=__test__/jest', '--json', `--outputFile=${join(root, JEST_REPORT)}`]
    const { code } = await tool('jest consumer', 'jest/bin/jest.js', args, { capture: true })
    return fromJestJson(JEST_REPORT, code)
  },
  async types() {
    const results = []
    for (const project of TYPE_PROJECTS) {
      const { code } = await tool(`Types (${project})`, 'typescript/bin/tsc', ['--project', project, '--noEmit'])
      results.push(fromCode(code))
    }
    return sum(results)
  },
  docker: testDocker,
  podman: testPodman,
  snippets: testSnippets,
  repository: () => checkRepository(before),
}

await runMain(async () => {
  const asked = process.argv.slice(2)
  const unknown = asked.filter((name) => !(name in suites))
  if (unknown.length)
    throw new StepError(`No suite ${unknown.join(', ')}: there are ${Object.keys(suites).join(', ')}.`)
  await setUp()
  const counts = new Map()
  for (const name of asked.length ? asked : Object.keys(suites)) counts.set(name, await suites[name]())

  console.log()
  for (const [name, { passed, failed, skipped }] of counts) {
    console.log(`${name.padEnd(12)}${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`)
  }
  const total = sum([...counts.values()])
  console.log(`${total.passed} passed, ${total.failed} failed${total.skipped ? `, ${total.skipped} skipped` : ''}`)
  if (total.failed) process.exitCode = 1
  // CI installs what its tests need: nothing is skipped there.
  if (process.env.CI && total.skipped) process.exitCode = 1
})
