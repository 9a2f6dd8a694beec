// Runs programs as named steps: says what runs, how long it took, and that it still runs. Decides nothing about what to run.

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The top folder of the repository. */
export const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[/\\]$/, '')

/** 30 s: a step that says nothing for longer looks dead to whoever waits for it. */
const HEARTBEAT_MS = 30_000

/** A failure whose message is all that its reader needs: printed without a stack. */
export class StepError extends Error {}

/** Prints the title of what starts now. */
export function announce(title) {
  console.error(`▸ ${title}`)
}

/** Seconds since `start`, as text. */
export function seconds(start) {
  return `${((Date.now() - start) / 1000).toFixed(1)} s`
}

/**
 * Runs one program to its end.
 *
 * @param {string} title what a person reads while it runs
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{
 *   cwd?: string,
 *   env?: Record<string, string | undefined>,
 *   capture?: boolean, // collect stdout instead of showing it
 *   tee?: boolean, // collect stdout and show it as well
 *   quiet?: boolean, // show output only when it fails
 *   allowFailure?: boolean, // resolve instead of throwing on a non-zero exit
 * }} options
 * @returns {Promise<{ code: number, stdout: string }>}
 * @throws {StepError} when the program cannot be started, or fails and may not
 */
export async function run(title, command, args, options = {}) {
  const start = Date.now()
  announce(title)
  const collected = []
  const pipe = options.capture || options.tee || options.quiet
  const child = spawn(command, args, {
    cwd: options.cwd ?? root,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', pipe ? 'pipe' : 'inherit', options.quiet ? 'pipe' : 'inherit'],
    // npm is a batch file on Windows, which only a shell can start; our arguments hold nothing that a shell would read.
    shell: process.platform === 'win32' && !command.endsWith('.exe'),
  })
  const errors = []
  child.stdout?.on('data', (chunk) => {
    collected.push(chunk)
    if (options.tee) process.stdout.write(chunk)
  })
  child.stderr?.on('data', (chunk) => errors.push(chunk))
  const heartbeat = setInterval(() => console.error(`  … ${title}: still running, ${seconds(start)}`), HEARTBEAT_MS)
  let code
  try {
    code = await new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (exitCode, signal) => resolve(exitCode ?? (signal ? 1 : 0)))
    })
  } catch (error) {
    throw new StepError(`${title}: cannot start ${command} (${error.code ?? error.message})`)
  } finally {
    clearInterval(heartbeat)
  }
  const stdout = Buffer.concat(collected).toString()
  if (code !== 0 && options.quiet) process.stderr.write(stdout + Buffer.concat(errors).toString())
  if (code !== 0 && !options.allowFailure) throw new StepError(`${title}: failed with exit code ${code}`)
  console.error(`  ${code === 0 ? 'done' : 'failed'} in ${seconds(start)}`)
  return { code, stdout }
}

/** Runs `main` and turns a failure into a short message and exit code 1. */
export async function runMain(main) {
  try {
    await main()
  } catch (error) {
    console.error(error instanceof StepError ? `✗ ${error.message}` : error)
    process.exitCode = 1
  }
}
