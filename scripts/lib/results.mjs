// Reads what the test runners write for machines. A report that is missing or cannot be read counts as one failure:
// a suite that did not run is never a pass.

import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './steps.mjs'

/**
 * @typedef {{ passed: number, failed: number, skipped: number }} Counts
 */

/** What a suite counts for that ended without a report. */
const DID_NOT_RUN = { passed: 0, failed: 1, skipped: 0 }

/** Removes an old report, so that it cannot be taken for the one of this run, and makes the folder of the next one. */
export function forget(report) {
  mkdirSync(dirname(join(root, report)), { recursive: true })
  rmSync(join(root, report), { force: true })
}

function read(report) {
  const file = join(root, report)
  return existsSync(file) ? readFileSync(file, 'utf8') : null
}

/** A run that fails without naming a failed test still fails. @returns {Counts} */
function honest(counts, code) {
  return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts
}

/** JUnit XML, as nextest writes it. @returns {Counts} */
export function fromJunit(report, code) {
  const head = /<testsuites\b[^>]*>/.exec(read(report) ?? '')?.[0]
  if (!head) return DID_NOT_RUN
  const attribute = (name) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? 0)
  const failed = attribute('failures') + attribute('errors')
  return honest({ passed: attribute('tests') - failed, failed, skipped: 0 }, code)
}

/** The summary lines of `cargo test`, one for each program it ran. @returns {Counts} */
export function fromCargoTest(stdout, code) {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const [, passed, failed, ignored] of stdout.matchAll(
    /^test result: \S+ (\d+) passed; (\d+) failed; (\d+) ignored/gm,
  )) {
    counts.passed += Number(passed)
    counts.failed += Number(failed)
    counts.skipped += Number(ignored)
  }
  return honest(counts, code)
}

/** The JSON report that jest defined and vitest writes too. @returns {Counts} */
export function fromJestJson(report, code) {
  const text = read(report)
  if (!text) return DID_NOT_RUN
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, numFailedTestSuites } = JSON.parse(text)
  const counts = { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests + numTodoTests }
  return honest(counts, code || numFailedTestSuites)
}

/** One step that passes or fails as a whole. @returns {Counts} */
export function fromCode(code) {
  return code === 0 ? { passed: 1, failed: 0, skipped: 0 } : DID_NOT_RUN
}

/** @param {readonly Counts[]} all @returns {Counts} */
export function sum(all) {
  return all.reduce(
    (total, { passed, failed, skipped }) => ({
      passed: total.passed + passed,
      failed: total.failed + failed,
      skipped: total.skipped + skipped,
    }),
    { passed: 0, failed: 0, skipped: 0 },
  )
}
