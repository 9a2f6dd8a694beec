// What many tests need: a project of their own on the disk, and toolsets that end with the test.

import { mkdtemp, mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { createToolset, LocalBackend, type Toolset, type ToolsetOptions } from 'gloveport'
import { onTestFinished } from 'vitest'

/** A folder with these files, removed when the test ends. */
export async function project(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'gloveport-test-')))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
  return root
}

/** A backend over a folder with these files. */
export async function localBackend(files?: Readonly<Record<string, string | Uint8Array>>): Promise<LocalBackend> {
  const backend = new LocalBackend({ root: await project(files) })
  onTestFinished(() => backend.close())
  return backend
}

/** A toolset over a folder with these files. */
export async function toolsetOver<Own extends string = never>(
  files: Readonly<Record<string, string | Uint8Array>>,
  options: Omit<ToolsetOptions<Own>, 'backend'> = {},
): Promise<Toolset> {
  const toolset = createToolset({ backend: await localBackend(files), ...options })
  onTestFinished(() => toolset.close())
  return toolset
}

/** What a promise rejects with; fails the test when it does not. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`Expected a rejection, got ${JSON.stringify(value)}`)
    },
    (error: unknown) => error,
  )
}

/** An image of one pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** The engine that `npm test -- docker` started; undefined in the other suites. */
export const engine = process.env['GLOVEPORT_TEST_DOCKER']
  ? ({
      host: process.env['GLOVEPORT_TEST_DOCKER'],
      image: process.env['GLOVEPORT_TEST_IMAGE']!,
      pull: 'never',
    } as const)
  : undefined

/** Which requirement or case a test holds: its numbers, a file of this repository, and the name of a test in it. */
export type Held = readonly (readonly [ids: string, file: string, test: string])[]

/** Those of `held` that are not there: no function of Rust, and no test or case of the contract, has that name. */
export async function missingTests(held: Held): Promise<string[]> {
  const missing: string[] = []
  for (const [ids, file, name] of held) {
    const text = await readFile(join(import.meta.dirname, '..', file), 'utf8')
    const literal = name.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)
    const declared = file.endsWith('.rs') ? `\\bfn ${literal}\\(` : `\\b(?:test|a)\\(\\s*['"]${literal}['"]`
    if (!new RegExp(declared).test(text)) missing.push(`${ids}: ${name} in ${file}`)
  }
  return missing
}
