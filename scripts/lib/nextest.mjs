// What the suites of Rust tests know of nextest, which runs them where it is installed.

import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { root } from './steps.mjs'

/** Where it writes what came of each test (.config/nextest.toml). */
export const NEXTEST_REPORT = 'target/nextest/default/junit.xml'

/** Half of their time tests wait for commands, or for an engine. */
export const AT_ONCE = `--test-threads=${Math.ceil(availableParallelism() * 1.5)}`

export const hasNextest = () => spawnSync('cargo', ['nextest', '--version'], { cwd: root }).status === 0
