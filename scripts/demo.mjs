// `npm run demo`: sets up what is missing, then lets an agent mend a failing test (examples/fix-failing-test.ts).

import { spawnSync } from 'node:child_process'
import { setUp } from './lib/setup.mjs'
import { root, runMain } from './lib/steps.mjs'

await runMain(async () => {
  await setUp()
  // Keyboard and terminal belong to the example: it may colour its output.
  const example = ['--import', 'tsx', 'examples/fix-failing-test.ts', ...process.argv.slice(2)]
  process.exitCode = spawnSync(process.execPath, example, { cwd: root, stdio: 'inherit' }).status ?? 1
})
