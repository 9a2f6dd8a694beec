// The example of containers, as its reader starts it.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

import { engine as started } from '../support.js'

if (!started) throw new Error('no engine: use `npm test -- docker`')
const engine = started

test('the example of containers shows two people a container each', async () => {
  const root = join(import.meta.dirname, '../..')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', 'examples/container.ts', engine.image],
    { cwd: root, env: { ...process.env, DOCKER_HOST: engine.host } },
  )
  expect(stdout).toContain('Hello from inside.\n0\nlo\n')
  expect(stdout.endsWith('\nlo\n\n')).toBe(true)
})
