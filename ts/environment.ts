// Sets up what a program's language needs in the working directory of a backend: a virtual environment of Python, or a
// project of Node. Plain commands of the backend and nothing else, so that it works wherever commands run; what is there
// already is used, and without packages nothing is fetched.

import type { Backend, CallSignal, ExecuteResult } from './backend/types.js'
import { checkFlag, checkFunction, checkKnown, checkMilliseconds, checkText, describe } from './encode.js'
import { GloveportError } from './errors/gloveport-error.js'
import { InvalidInputError } from './errors/invalid-input-error.js'
import { TimeoutError } from './errors/timeout-error.js'
import { UnsupportedError } from './errors/unsupported-error.js'
import { escapeControls } from './escape-controls.js'
import { checkSignal } from './native-call.js'

/** Where a set-up is. */
export interface EnvironmentProgress {
  /** `check` looks for the program, `create` makes the environment, `install` installs packages. */
  readonly step: 'check' | 'create' | 'install'
  /** One line that a program of the step printed, control characters escaped; absent when the step begins. */
  readonly line?: string
}

/** What {@link setUpEnvironment} takes. */
export interface EnvironmentOptions extends CallSignal {
  /** `python`: a virtual environment. `node`: a `package.json`, with packages in `node_modules`. */
  readonly kind: 'python' | 'node'
  /** Where, below the working directory; default `.venv` for Python, the working directory itself for Node. */
  readonly directory?: string | undefined
  /** The interpreter that it is made of; default `python3` or `node`. */
  readonly interpreter?: string | undefined
  /** Packages to install, as `pip` or `npm` name them: `requests==2.32.0`, `zod@4`, `./local`. */
  readonly packages?: readonly string[] | undefined
  /** Python: whether the interpreter's own packages are seen too, as in a clone of it; default false. One that is there stays as it is. */
  readonly inherit?: boolean | undefined
  /** Python: whether `pip` is put into it; default true. Without it no packages can be installed. */
  readonly pip?: boolean | undefined
  /** Milliseconds that each step may take; default 300,000. */
  readonly timeout?: number | undefined
  /** Is told of each step, and of what its programs print. */
  readonly onProgress?: ((progress: EnvironmentProgress) => void) | undefined
}

/** An environment that is ready. */
export interface Environment {
  readonly kind: 'python' | 'node'
  /** As commands know it. */
  readonly directory: string
  /** Of the interpreter that commands in it run, such as `3.13.5`. */
  readonly version: string
  /** Whether it was made now; false where it was there. */
  readonly created: boolean
  /** Variables that put commands into it: for `env` of a backend, of a command or of a terminal. */
  readonly env: Readonly<Record<string, string>>
}

/** 300 s for a step, as an installation takes. */
const STEP_MS = 300_000
/** 20 lines of what a failed step printed last. */
const TAIL_LINES = 20
/** Has an interpreter print its version. */
const PYTHON_VERSION = `-c 'import platform; print(platform.python_version())'`

/**
 * Sets an environment up with commands of `backend`, once, before an agent works there. It runs what packages bring along, with
 * the rights of commands: the packages are the application's choice, never a model's.
 *
 * @example
 * const { env } = await setUpEnvironment(new LocalBackend({ root }), { kind: 'python', packages: ['requests'] })
 * const backend = new LocalBackend({ root, env })
 *
 * @throws {InvalidInputError} an option has the wrong type or value, or is not known
 * @throws {UnsupportedError} the backend runs no commands, or has no such interpreter
 * @throws {GloveportError} `IO`: a step failed; the message ends with what it printed last
 * @throws {TimeoutError} a step took longer than `timeout`
 */
export async function setUpEnvironment(backend: Backend, options: EnvironmentOptions): Promise<Environment> {
  return new SetUp(backend, check(options)).run()
}

interface Checked extends EnvironmentOptions {
  readonly directory: string
  readonly interpreter: string
  readonly packages: readonly string[]
  readonly pip: boolean
}

class SetUp {
  constructor(
    readonly backend: Backend,
    readonly options: Checked,
  ) {}

  async run(): Promise<Environment> {
    const { kind, packages } = this.options
    const { version: found, workingDirectory, path } = await this.#look()
    const below = this.options.directory === '.' ? '' : `/${this.options.directory}`
    const directory = `${workingDirectory}${below}`
    const there = kind === 'python' ? await this.#versionOf(directory) : undefined
    const created = kind === 'python' ? await this.#makeVenv(directory, there) : await this.#makeProject(directory)
    const version = there ?? found
    if (packages.length > 0) await this.#install(directory)
    const env: Record<string, string> =
      kind === 'python'
        ? { VIRTUAL_ENV: directory, PATH: `${directory}/bin:${path}` }
        : { PATH: `${directory}/node_modules/.bin:${path}` }
    return { kind, directory, version, created, env }
  }

  /** What is there to begin with; the commands' own picture of it. */
  async #look(): Promise<{ version: string; workingDirectory: string; path: string }> {
    const { kind, interpreter } = this.options
    const program = kind === 'python' ? PYTHON_VERSION : `-p 'process.versions.node'`
    const result = await this.#run('check', `${quote(interpreter)} ${program} && pwd && printf '%s\n' "$PATH"`)
    const [version, workingDirectory, path] = result.stdout.split('\n')
    if (result.exitCode !== 0 || !version || !workingDirectory || path === undefined) {
      const name = escapeControls(interpreter)
      throw new UnsupportedError(`There is no '${name}' that works here; install it, or name another \`interpreter\`.`)
    }
    return { version, workingDirectory: workingDirectory === '/' ? '' : workingDirectory, path }
  }

  /** That of the interpreter of an environment that is there: another one may have made it. */
  async #versionOf(directory: string): Promise<string | undefined> {
    const python = quote(`${directory}/bin/python`)
    const { exitCode, stdout } = await this.#run('check', `test -x ${python} && ${python} ${PYTHON_VERSION}`)
    return exitCode === 0 ? stdout.trim() : undefined
  }

  async #makeVenv(directory: string, there: string | undefined): Promise<boolean> {
    const { interpreter, inherit, pip } = this.options
    if (there !== undefined) return false
    const flags = [pip ? '' : ' --without-pip', inherit ? ' --system-site-packages' : ''].join('')
    await this.#must('create', `${quote(interpreter)} -m venv${flags} -- ${quote(directory)}`)
    return true
  }

  async #makeProject(directory: string): Promise<boolean> {
    const file = quote(`${directory}/package.json`)
    const { exitCode } = await this.#run('check', `test -e ${file}`)
    if (exitCode === 0) return false
    const content = `${JSON.stringify({ name: 'workspace', version: '0.0.0', private: true }, undefined, 2)}\n`
    await this.#must('create', `mkdir -p -- ${quote(directory)} && printf %s ${quote(content)} > ${file}`)
    return true
  }

  async #install(directory: string): Promise<void> {
    const packages = this.options.packages.map(quote).join(' ')
    const command =
      this.options.kind === 'python'
        ? `${quote(`${directory}/bin/python`)} -m pip --disable-pip-version-check install -- ${packages}`
        : `cd ${quote(directory)} && npm install --no-audit --no-fund --no-update-notifier -- ${packages}`
    await this.#must('install', command)
  }

  /** Runs a step that has to succeed. */
  async #must(step: EnvironmentProgress['step'], command: string): Promise<void> {
    const { exitCode, output } = await this.#run(step, command)
    if (exitCode === 0) return
    const tail = output.trimEnd().split('\n').slice(-TAIL_LINES).map(escapeControls).join('\n')
    throw new GloveportError('IO', `Setting the environment up failed at '${step}' (exit code ${exitCode}):\n${tail}`, {
      details: { step, exitCode },
    })
  }

  async #run(step: EnvironmentProgress['step'], command: string): Promise<ExecuteResult> {
    const { timeout = STEP_MS, signal, onProgress } = this.options
    const execute = this.backend.execute?.bind(this.backend)
    if (!execute) throw new UnsupportedError('This backend runs no commands, so no environment can be set up.')
    onProgress?.({ step })
    let line = ''
    const onOutput = ({ text }: { readonly text: string }): void => {
      const lines = `${line}${text}`.split(/\r?\n|\r/)
      line = lines.pop() ?? ''
      for (const whole of lines) onProgress?.({ step, line: escapeControls(whole) })
    }
    const result = await execute(command, { timeout, signal, ...(onProgress ? { onOutput } : {}) })
    if (line !== '') onProgress?.({ step, line: escapeControls(line) })
    if (result.timedOut)
      throw new TimeoutError(`Setting the environment up took longer than ${timeout} ms at '${step}'.`)
    return result
  }
}

const OPTIONS = [
  'kind',
  'directory',
  'interpreter',
  'packages',
  'inherit',
  'pip',
  'timeout',
  'signal',
  'onProgress',
] as const satisfies (keyof EnvironmentOptions)[]

function check(options: EnvironmentOptions): Checked {
  const given = checkKnown(options, OPTIONS) as EnvironmentOptions
  const { kind } = given
  const packages = given.packages ?? []
  const pip = checkFlag(given.pip ?? undefined, 'options.pip') ?? true
  if (kind !== 'python' && kind !== 'node') {
    throw new InvalidInputError(`\`options.kind\` must be 'python' or 'node', not ${shown(kind)}.`)
  }
  const directory = word(given.directory ?? (kind === 'python' ? '.venv' : '.'), 'directory')
  const parts = directory.split('/')
  if (directory !== '.' && parts.some((part) => part === '' || part === '.' || part === '..')) {
    throw new InvalidInputError(`\`options.directory\` must lie below the working directory, not ${shown(directory)}.`)
  }
  if (!Array.isArray(packages)) {
    throw new InvalidInputError(`\`options.packages\` must be an array of names, not ${describe(packages)}.`)
  }
  if (!pip && packages.length > 0) {
    throw new InvalidInputError('`options.packages` cannot be installed where `options.pip` is false.')
  }
  return {
    ...given,
    directory,
    interpreter: word(given.interpreter ?? (kind === 'python' ? 'python3' : 'node'), 'interpreter'),
    packages: packages.map((name, index) => word(name, `packages[${index}]`)),
    pip,
    inherit: checkFlag(given.inherit ?? undefined, 'options.inherit'),
    timeout: checkMilliseconds(given.timeout, 'options.timeout'),
    signal: checkSignal(given.signal),
    onProgress: checkFunction(given.onProgress, 'options.onProgress'),
  }
}

/** A word for a command line: no option, and nothing that no name holds. */
function word(value: unknown, name: string): string {
  // oxlint-disable-next-line no-control-regex
  if (typeof value === 'string' && value !== '' && !value.startsWith('-') && !/[\u0000-\u001F\u007F]/.test(value)) {
    return checkText(value, `options.${name}`)
  }
  throw new InvalidInputError(
    `\`options.${name}\` must be text without control characters that is not empty and does not begin with '-', not ${shown(value)}.`,
  )
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : describe(value)
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
