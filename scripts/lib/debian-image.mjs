// An image with what busybox is not: bash, the GNU tools, git and Python, made of the packages of this machine's own Debian by
// mmdebstrap. It is made once, and kept below target/.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root, run, StepError } from './steps.mjs'

const PACKAGES = 'apt,bash,coreutils,git,python3'
/** What no test reads. */
const LEFT_OUT = ['/usr/share/doc/*', '/usr/share/man/*', '/usr/share/locale/*']
const FOLDER = 'target/test-images'
export const DEBIAN_IMAGE = 'gloveport-test:debian'

/** The name of this machine's release of Debian; undefined elsewhere. */
function release() {
  if (!existsSync('/etc/debian_version')) return undefined
  return /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1]
}

/** Why it cannot be made here; undefined when it is there, or can be tried. */
export function debianObstacle() {
  const name = release()
  if (!name) return 'an image of Debian is made on Debian only'
  if (existsSync(archive(name))) return undefined
  const there = spawnSync('mmdebstrap', ['--version'], { stdio: 'ignore' }).status === 0
  return there ? undefined : 'missing: mmdebstrap (Debian: mmdebstrap)'
}

const archive = (name) => join(root, FOLDER, `${name}-${PACKAGES.replaceAll(',', '-')}.tar`)

/**
 * Makes the image and gives it to the engine.
 *
 * @param {string} docker the program
 * @param {string} host the engine's address
 */
export async function importDebian(docker, host) {
  const name = release()
  const made = archive(name)
  if (!existsSync(made)) {
    mkdirSync(join(root, FOLDER), { recursive: true })
    const unfinished = `${made}.unfinished.tar`
    const leftOut = LEFT_OUT.map((path) => `--dpkgopt=path-exclude=${path}`)
    const args = ['--variant=essential', `--include=${PACKAGES}`, ...leftOut, name, unfinished]
    const { code } = await run('Make an image of Debian', 'mmdebstrap', args, { allowFailure: true })
    if (code !== 0) {
      rmSync(unfinished, { force: true })
      throw new StepError(
        'mmdebstrap made no image of Debian: see above; its packages come from the mirror that apt uses',
      )
    }
    renameSync(unfinished, made)
  }
  const imported = spawnSync(docker, ['--host', host, 'import', made, DEBIAN_IMAGE], { encoding: 'utf8' })
  if (imported.status !== 0) throw new StepError(`the image of Debian cannot be imported: ${imported.stderr}`)
}
