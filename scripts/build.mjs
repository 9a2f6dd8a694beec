// Builds the package in place: `npm run build` for a release, `npm run build:dev` for work on it. With `--guests` the programs
// that work inside containers are built as a release has them, and the tests of containers take those.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { notices } from './lib/notices.mjs'
import { buildGuests } from './lib/linux-programs.mjs'
import { setUp } from './lib/setup.mjs'
import { root, runMain } from './lib/steps.mjs'

await runMain(async () => {
  const release = process.argv.includes('--release')
  await setUp({ profile: release ? 'release' : 'debug' })
  if (process.argv.includes('--guests')) await buildGuests()
  if (release) writeFileSync(join(root, 'dist/THIRD-PARTY-NOTICES.txt'), notices())
})
