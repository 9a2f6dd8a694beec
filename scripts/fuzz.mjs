// `npm run fuzz`: builds every fuzz target and runs each for a bounded time, from the same seed and the committed inputs, so
// that two runs on one machine try the same. `npm run fuzz -- text media` runs the named ones; `--seconds 600` looks longer,
// and `--build` only builds.
//
// The pinned compiler does it, without cargo-fuzz and without a nightly: libFuzzer needs the coverage passes of LLVM, which
// are ordinary code generation options. A sanitizer is not needed to find panics in code without `unsafe`.

import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { execFileSync } from 'node:child_process'
import { root, run, runMain, StepError } from './lib/steps.mjs'

/** 10 s a target: a hundred thousand inputs of most, and a minute and a half for all. */
const SECONDS = 10
/** Two targets at a time: as many as a small machine has processors. */
const AT_ONCE = 2
/** The same inputs in every run; a longer run may say `--seed` to see others. */
const SEED = 1
/** 25 s: an input that takes longer hangs. The largest picture that is decoded takes 3 s, built like this. */
const INPUT_TIMEOUT = 25
/** 4 KiB: what is wrong with long inputs is wrong with short ones. */
const MAX_LENGTH = 4096
/** 2 GiB: a decoder of images takes hundreds of megabytes for the largest that are allowed. */
const MEMORY_MB = 2048

const FLAGS = [
  '--cfg=fuzzing',
  '-Cpasses=sancov-module',
  ...[
    '-sanitizer-coverage-level=4',
    '-sanitizer-coverage-inline-8bit-counters',
    '-sanitizer-coverage-pc-table',
    '-sanitizer-coverage-trace-compares',
  ].map((argument) => `-Cllvm-args=${argument}`),
].join(' ')

const folder = join(root, 'fuzz')
const targets = readdirSync(join(folder, 'fuzz_targets')).map((file) => file.replace(/\.rs$/, ''))

function optionsOf(args) {
  const options = { names: [], seconds: SECONDS, seed: SEED, isBuild: false }
  for (let index = 0; index < args.length; index += 1) {
    const argument = args[index]
    if (argument === '--seconds' || argument === '--seed') {
      index += 1
      options[argument.slice(2)] = Number(args[index])
    } else if (argument === '--build') {
      options.isBuild = true
    } else {
      options.names.push(argument)
    }
  }
  const unknown = options.names.filter((name) => !targets.includes(name))
  if (unknown.length || !(options.seconds > 0) || !Number.isInteger(options.seed)) {
    throw new StepError(`Usage: npm run fuzz -- [--build] [--seconds N] [--seed N] [${targets.join(' | ')}]…`)
  }
  return options
}

await runMain(async () => {
  const { names, seconds, seed, isBuild } = optionsOf(process.argv.slice(2))
  const host = /^host: (.+)$/m.exec(execFileSync('rustc', ['-vV'], { cwd: root, encoding: 'utf8' }))[1]
  const output = join(root, 'target/fuzz')
  // Not `--locked`: the lock file follows when the core gets another dependency, and is committed like any other.
  // With a target named, build scripts and macros are built without the flags.
  const build = ['build', '--release', '--manifest-path', join(folder, 'Cargo.toml'), '--target', host]
  await run('Build the fuzz targets', 'cargo', [...build, '--target-dir', output], { env: { RUSTFLAGS: FLAGS } })
  if (isBuild) return
  const fuzz = async (name) => {
    // Found inputs go to a folder of their own; what a run begins with is only what is committed.
    const found = join(output, 'found', name)
    rmSync(found, { recursive: true, force: true })
    mkdirSync(found, { recursive: true })
    const artifacts = join(output, 'failures', name)
    mkdirSync(artifacts, { recursive: true })
    const seeds = join(folder, 'seeds', name)
    const limits = [`-max_total_time=${seconds}`, `-timeout=${INPUT_TIMEOUT}`, `-rss_limit_mb=${MEMORY_MB}`]
    const inputs = [`-seed=${seed}`, `-max_len=${MAX_LENGTH}`, `-artifact_prefix=${artifacts}/`, found, seeds]
    const program = join(output, host, 'release', name)
    const { code } = await run(
      `Fuzz ${name} for ${seconds} s`,
      program,
      [...limits, '-print_final_stats=1', ...inputs],
      {
        quiet: true,
        allowFailure: true,
      },
    )
    if (code !== 0) {
      throw new StepError(
        `${name} found a failure; run it again with: ${join('target/fuzz', host, 'release', name)} target/fuzz/failures/${name}/…`,
      )
    }
  }
  const waiting = [...(names.length ? names : targets)]
  const oneByOne = async () => {
    for (let name = waiting.shift(); name; name = waiting.shift()) await fuzz(name)
  }
  // Each has one thread. What one found waits until the other is done.
  const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, oneByOne))
  const failed = ended.find(({ status }) => status === 'rejected')
  if (failed) throw failed.reason
})
