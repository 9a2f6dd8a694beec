// Builds the package in place: `npm run build` for a release, `npm run build:dev` for work on it.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { notices } from './lib/notices.mjs'
import { setUp } from './lib/setup.mjs'
import { root, runMain } from './lib/steps.mjs'

await runMain(async () => {
  const release = process.argv.includes('--release')
  await setUp({ profile: release ? 'release' : 'debug' })
  if (release) writeFileSync(join(root, 'dist/THIRD-PARTY-NOTICES.txt'), notices())
})
