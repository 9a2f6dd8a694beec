// The programs that work inside containers, beside the addon in this package. Which one is needed depends on the engine,
// which may be on another machine: all that are there are offered, and the core takes the one for the engine's processor.

import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Processors as container engines name them, and the files of this package. */
const FILES = { x86_64: 'gloveport-guest.x64', aarch64: 'gloveport-guest.arm64' } as const

/** `[processors, paths]` of the programs that are there. */
export function guestPrograms(): readonly [string[], string[]] {
  // The facade is one file in dist/.
  const root = join(__dirname, '..')
  const found = Object.entries(FILES)
    .map(([processor, file]) => [processor, join(root, file)] as const)
    .filter(([, path]) => existsSync(path))
  return [found.map(([processor]) => processor), found.map(([, path]) => path)]
}
