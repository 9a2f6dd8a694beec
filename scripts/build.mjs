// Builds the package in place: `npm run build` for a release, `npm run build:dev` for work on it.

import { setUp } from './lib/setup.mjs'
import { runMain } from './lib/steps.mjs'

await runMain(() => setUp({ profile: process.argv.includes('--release') ? 'release' : 'debug' }))
