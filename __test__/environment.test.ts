// Environments of Python and Node, really made, without a network.

import { spawnSync } from 'node:child_process'
import { chmodSync } from 'node:fs'

import { LocalBackend, setUpEnvironment, StateBackend, type EnvironmentProgress } from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { localBackend, project } from './support.js'

/** CI has it installed, and fails without it. */
const withPython = test.skipIf(!process.env['CI'] && spawnSync('python3', ['--version']).status !== 0)

/** Debian has what puts `pip` into an environment in a package of its own, which CI installs too. */
const withPip = test.skipIf(!process.env['CI'] && spawnSync('python3', ['-c', 'import ensurepip']).status !== 0)

/** Writes a wheel by hand: a package `said` with the program `say`. */
const WHEEL = `
import zipfile
meta = 'said-1.0.dist-info/'
files = {
    'said.py': 'def say(): print("said")\\n',
    meta + 'METADATA': 'Metadata-Version: 2.1\\nName: said\\nVersion: 1.0\\n',
    meta + 'WHEEL': 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n',
    meta + 'entry_points.txt': '[console_scripts]\\nsay = said:say\\n',
}
files[meta + 'RECORD'] = ''.join(f'{name},,\\n' for name in [*files, meta + 'RECORD'])
with zipfile.ZipFile('said-1.0-py3-none-any.whl', 'w') as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
`

withPip(
  'packages of Python and their programs are installed',
  async () => {
    const backend = await localBackend({ 'wheel.py': WHEEL })
    expect(await backend.execute('python3 wheel.py')).toMatchObject({ exitCode: 0 })
    const lines: string[] = []
    const { env, created } = await setUpEnvironment(backend, {
      kind: 'python',
      packages: ['./said-1.0-py3-none-any.whl'],
      onProgress: ({ step, line }) => step === 'install' && line !== undefined && lines.push(line),
    })
    expect(created).toBe(true)
    expect(lines.join('\n')).toMatch(/Successfully installed said-1\.0/)
    expect((await backend.execute('say && python -c "import said; said.say()"', { env })).stdout).toBe('said\nsaid\n')
  },
  // The standard library's own pip is unpacked and compiled.
  240_000,
)

withPython('a virtual environment is made once, and its variables put commands into it', async () => {
  const root = await project()
  const first = new LocalBackend({ root })
  onTestFinished(() => first.close())
  const steps: EnvironmentProgress[] = []
  const options = { kind: 'python', pip: false, onProgress: (step: EnvironmentProgress) => steps.push(step) } as const
  const made = await setUpEnvironment(first, options)
  expect(made).toMatchObject({ kind: 'python', directory: `${root}/.venv`, created: true })
  expect(made.version).toMatch(/^3\.\d+/)
  expect(steps.filter(({ line }) => line === undefined).map(({ step }) => step)).toEqual(['check', 'check', 'create'])
  expect(steps).toContainEqual({ step: 'check', line: made.version })

  const backend = new LocalBackend({ root, env: made.env })
  onTestFinished(() => backend.close())
  const { stdout } = await backend.execute(`python -c 'import sys; print(sys.prefix, sys.prefix != sys.base_prefix)'`)
  expect(stdout).toBe(`${root}/.venv True\n`)
  expect(await setUpEnvironment(backend, { kind: 'python', pip: false })).toMatchObject({ created: false })
})

/** The version of whatever `python3` was on the path was told. */
test('the version of an environment that is there is that of its own interpreter', async () => {
  const root = await project({
    'bin/python3': '#!/bin/sh\necho 3.0.1\n',
    '.venv/bin/python': '#!/bin/sh\necho 3.9.9\n',
  })
  for (const program of ['bin/python3', '.venv/bin/python']) chmodSync(`${root}/${program}`, 0o755)
  const backend = new LocalBackend({ root })
  onTestFinished(() => backend.close())
  expect(await setUpEnvironment(backend, { kind: 'python', interpreter: `${root}/bin/python3` })).toMatchObject({
    created: false,
    version: '3.9.9',
  })
})

withPython(
  "the interpreter's own packages are seen where that was asked for, and pip is there where it was not refused",
  async () => {
    const backend = await localBackend()
    for (const inherit of [true, false]) {
      const directory = `env-${inherit}`
      const { env } = await setUpEnvironment(backend, { kind: 'python', pip: false, inherit, directory })
      const { stdout } = await backend.execute(`ls ${directory}/bin; grep site ${directory}/pyvenv.cfg`, { env })
      expect(stdout).toContain(`include-system-site-packages = ${inherit}`)
      expect(stdout).not.toMatch(/^pip/m)
    }
  },
)

test('a project of Node is made, and local packages and their programs are installed', async () => {
  const backend = await localBackend({
    'tool/package.json': '{ "name": "tool", "version": "1.0.0", "bin": { "say": "./say.js" } }',
    'tool/say.js': '#!/usr/bin/env node\nconsole.log("said")\n',
  })
  const lines: string[] = []
  const { env, created, version } = await setUpEnvironment(backend, {
    kind: 'node',
    packages: ['./tool'],
    onProgress: ({ step, line }) => step === 'install' && line !== undefined && lines.push(line),
  })
  expect([created, version.split('.').length]).toEqual([true, 3])
  expect(lines.join('\n')).toMatch(/added 1 package/)
  expect((await backend.execute('say', { env })).stdout).toBe('said\n')
  expect(JSON.parse((await backend.read('package.json')).content)).toMatchObject({
    private: true,
    dependencies: { tool: 'file:tool' },
  })
  expect(await setUpEnvironment(backend, { kind: 'node' })).toMatchObject({ created: false })
})

withPython('what cannot be set up is a typed error that says why', async () => {
  const backend = await localBackend({ 'file.txt': '' })
  const python = { kind: 'python', pip: false } as const
  const failing = [
    [{ ...python, interpreter: 'no-such-python' }, 'UNSUPPORTED', "There is no 'no-such-python' that works here"],
    [{ ...python, directory: 'file.txt/env' }, 'IO', "failed at 'create'"],
    [{ kind: 'node', packages: ['./missing'] }, 'IO', "failed at 'install'"],
    [{ ...python, timeout: 0 }, 'TIMEOUT', "at 'check'"],
    [{ ...python, signal: AbortSignal.abort() }, 'ABORTED', ''],
  ] as const
  for (const [options, code, message] of failing) {
    await expect(setUpEnvironment(backend, options)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    })
  }
  const wrong: object[] = [
    {},
    { kind: 'ruby' },
    { kind: 'node', directory: '../x' },
    { kind: 'node', directory: '/x' },
    { kind: 'node', packages: ['--global'] },
    { kind: 'node', packages: 'zod' },
    { kind: 'node', packages: ['a\nb'] },
    { kind: 'python', pip: false, packages: ['x'] },
    { kind: 'node', onProgress: 1 },
    { kind: 'node', package: [] },
  ]
  for (const options of wrong) {
    await expect(setUpEnvironment(backend, options as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  }
  await expect(setUpEnvironment(new StateBackend(), { kind: 'node' })).rejects.toMatchObject({ code: 'UNSUPPORTED' })
})

test('names are words for the shell, never more', async () => {
  const backend = await localBackend()
  const directory = `it's $(touch x) "env"`
  const { directory: made } = await setUpEnvironment(backend, { kind: 'node', directory })
  expect(made.endsWith(`/${directory}`)).toBe(true)
  expect([...(await backend.ls('.'))].map(({ path }) => path.split('/').at(-1))).toEqual([directory])
})

test('a listener that throws ends the set-up with its error', async () => {
  const backend = await localBackend()
  const onProgress = (): void => {
    throw new Error('mine')
  }
  await expect(setUpEnvironment(backend, { kind: 'node', onProgress })).rejects.toThrow('mine')
})
