// An image with what busybox is not: bash, the GNU tools, git, Python with pip, and Node with npm. It is made of the packages of this
// machine's own Debian by mmdebstrap, and of npm's registry where Debian's would bring hundreds of packages. It is made once, and
// kept below target/.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, run, StepError } from './steps.mjs'

const PACKAGES = 'apt,bash,coreutils,git,python3,python3-pip,python3-venv'
/** Node's own program as a package of npm's registry, and npm with all that it is made of. */
const NODE = { [`node-linux-${process.arch}`]: '20.19.5', npm: '10.9.4' }
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

const archive = (name) => {
  const parts = [name, ...PACKAGES.split(','), ...Object.entries(NODE).flat()]
  return join(root, FOLDER, `${parts.join('-')}.tar`)
}

/** Puts Node and npm into an archive, where the official images have them. */
function addNode(file) {
  const folder = mkdtempSync(join(tmpdir(), 'gloveport-node-'))
  try {
    const packages = Object.entries(NODE).map(([name, version]) => `${name}@${version}`)
    const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts']
    const done = (program, args) => {
      const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
      if (status !== 0) throw new StepError(`the image of Debian gets no Node: ${program}: ${stderr}`)
    }
    done('npm', ['install', `--prefix=${folder}`, ...quiet, ...packages])
    const local = join(folder, 'usr/local')
    const [program] = Object.keys(NODE)
    mkdirSync(join(local, 'bin'), { recursive: true })
    mkdirSync(join(local, 'lib/node_modules'), { recursive: true })
    renameSync(join(folder, 'node_modules', program, 'bin/node'), join(local, 'bin/node'))
    renameSync(join(folder, 'node_modules/npm'), join(local, 'lib/node_modules/npm'))
    symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'))
    // The directories that they lie in are there, and an engine takes no path twice.
    const paths = ['./usr/local/bin/node', './usr/local/bin/npm', './usr/local/lib/node_modules']
    done('tar', ['--append', `--file=${file}`, '--owner=0', '--group=0', `--directory=${folder}`, ...paths])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

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
    try {
      const { code } = await run('Make an image of Debian', 'mmdebstrap', args, { allowFailure: true })
      if (code !== 0) {
        throw new StepError(
          'mmdebstrap made no image of Debian: see above; its packages come from the mirror that apt uses',
        )
      }
      addNode(unfinished)
      renameSync(unfinished, made)
    } finally {
      rmSync(unfinished, { force: true })
    }
  }
  const imported = spawnSync(docker, ['--host', host, 'import', made, DEBIAN_IMAGE], { encoding: 'utf8' })
  if (imported.status !== 0) throw new StepError(`the image of Debian cannot be imported: ${imported.stderr}`)
}
