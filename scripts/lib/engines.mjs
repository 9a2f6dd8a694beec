// Container engines of our own for tests and measurements: each with its own socket and data, on an image made of this machine's
// busybox. Nothing is pulled, and an engine that runs already is left alone.

import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRelay } from './tls-relay.mjs'
import { StepError } from './steps.mjs'

/** 60 s for the engine to answer, on a machine that does much else. */
const START_MS = 60_000
const IMAGE = 'gloveport-test:busybox'
/** The machine's address on the usual network of an engine that is apart: one that is nobody's (RFC 5737). */
const GATEWAY = '192.0.2.1'

/** Where a program is, also of those that are root's alone. */
export const find = (program) =>
  ['/usr/sbin', '/sbin', ...(process.env.PATH ?? '').split(':')].map((folder) => join(folder, program)).find(existsSync)

/**
 * Podman gives every container a million processes and open files, and none starts where root may not raise its own limits, as
 * in some virtual machines: there a step before `runc` takes those two out.
 */
function podmanSettings(folder) {
  const runtime = join(folder, 'runtime')
  writeFileSync(
    runtime,
    `#!/bin/sh
for word; do
  if [ -f "$word/config.json" ]; then word=$word/config.json; fi
  if [ -f "$word" ]; then sed -i -E 's/\\{"type":"RLIMIT_(NPROC|NOFILE)","hard":1048576,"soft":1048576\\},?//g; s/\\},\\]/}]/g' "$word"; fi
done
exec runc "$@"
`,
    { mode: 0o755 },
  )
  return `[engine]\nruntime = "narrowed"\n[engine.runtimes]\nnarrowed = ["${runtime}"]\n`
}

/** The engines: how each is started in a folder of its own, on a socket. */
const ENGINES = {
  docker: {
    program: 'dockerd',
    // A network of its own, which leads nowhere: its bridge and addresses are not the machine's, nor another engine's.
    isApart: true,
    args: (folder, socket) => [
      `--data-root=${folder}/data`,
      `--exec-root=${folder}/exec`,
      `--pidfile=${folder}/pid`,
      `--host=unix://${socket}`,
      '--iptables=false',
      '--ip6tables=false',
      `--bip=${GATEWAY}/24`,
    ],
  },
  podman: {
    program: 'podman',
    settings: podmanSettings,
    args: (folder, socket) => [
      `--root=${folder}/data`,
      `--runroot=${folder}/exec`,
      '--cgroup-manager=cgroupfs',
      'system',
      'service',
      '--time=0',
      `unix://${socket}`,
    ],
  },
}

/** Why there is no engine; undefined when one can be tried. */
function obstacle({ program }) {
  if (process.platform !== 'linux') return 'an engine is started on Linux only'
  if (process.getuid() !== 0) return 'an engine of our own needs root'
  const missing = [program, 'docker', 'busybox', 'openssl'].filter((name) => !find(name))
  return missing.length
    ? `missing: ${missing.join(', ')} (Debian: docker.io, podman, busybox-static, openssl)`
    : undefined
}

/** What starts a program in a network of its own that has nothing but loopback, and becomes it. */
const APART = ['unshare', '--net', 'sh', '-c', 'busybox ip link set lo up && exec "$@"', 'sh']

/**
 * An engine in a folder of its own; resolves to its address, the file of its network and how to stop it, or rejects with the end of
 * its log.
 */
async function startEngine({ program, args, isApart = false, settings = () => '' }, folder, socket) {
  const log = join(folder, 'log')
  const output = openSync(log, 'a')
  const CONTAINERS_CONF = join(folder, 'containers.conf')
  writeFileSync(CONTAINERS_CONF, settings(folder))
  const [first, ...words] = [...(isApart ? APART : []), find(program), ...args(folder, socket)]
  const engine = spawn(first, words, {
    // What watches Podman's containers leaves a file where it was started.
    cwd: folder,
    env: { ...process.env, CONTAINERS_CONF },
    stdio: ['ignore', output, output],
  })
  closeSync(output)
  const ended = new Promise((resolve) => engine.once('exit', resolve).once('error', resolve))
  const host = `unix://${socket}`
  const deadline = Date.now() + START_MS
  let alive = true
  ended.then(() => (alive = false))
  while (spawnSync(find('docker'), ['--host', host, 'version'], { stdio: 'ignore' }).status !== 0) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    if (!alive || Date.now() > deadline) {
      engine.kill()
      await ended
      throw new StepError(`${program} does not start:\n${readFileSync(log, 'utf8').split('\n').slice(-8).join('\n')}`)
    }
  }
  const stop = async () => {
    engine.kill()
    await ended
  }
  return { host, network: `/proc/${engine.pid}/ns/net`, stop }
}

/** Busybox and its names, as a folder that becomes an image. */
function importImage(host, folder) {
  const image = join(folder, 'image')
  for (const name of ['bin', 'etc', 'tmp']) mkdirSync(join(image, name), { recursive: true })
  // As every image has it: an engine takes the mode of what it mounts upon.
  chmodSync(join(image, 'tmp'), 0o1777)
  cpSync(find('busybox'), join(image, 'bin/busybox'), { dereference: true })
  const { stdout } = spawnSync(join(image, 'bin/busybox'), ['--list'], { encoding: 'utf8' })
  for (const name of stdout.split('\n').filter((name) => name && name !== 'busybox')) {
    symlinkSync('busybox', join(image, 'bin', name))
  }
  const pack = spawnSync('tar', ['-c', '-C', image, '.'], { maxBuffer: 64 << 20 })
  const imported = spawnSync(find('docker'), ['--host', host, 'import', '--change', 'ENV PATH=/bin', '-', IMAGE], {
    input: pack.stdout,
    encoding: 'utf8',
  })
  if (imported.status !== 0) throw new StepError(`the image cannot be imported: ${imported.stderr}`)
}

/** Throws where the engine is there and the machine lets it run nothing, as within another container without the rights. */
function checkItRuns(host) {
  const docker = (...args) => spawnSync(find('docker'), ['--host', host, ...args], { encoding: 'utf8' })
  // Not in the foreground: Podman attaches to no container that does not run yet.
  const ran = docker('run', '--detach', '--network=none', '--memory=64m', '--pids-limit=16', '--cpus=1', IMAGE, 'true')
  const container = ran.stdout.trim()
  const code = ran.status === 0 ? docker('wait', container).stdout.trim() : undefined
  docker('rm', '--force', container)
  if (code !== '0') throw new StepError(`the engine runs no container: ${ran.stderr.trim() || `exit code ${code}`}`)
}

/** Engines mount their stores upon themselves, and Podman leaves it so. */
function unmountBelow(folder) {
  const points = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1])
  for (const point of points.filter((each) => each?.startsWith(`${folder}/`)).toReversed()) {
    spawnSync('umount', [point], { stdio: 'ignore' })
  }
}

/**
 * An engine of our own with the image: how to find both, and how to stop it.
 *
 * @param {keyof typeof ENGINES} name
 * @throws {StepError} why there can be none
 */
export async function testEngine(name = 'docker') {
  const folder = mkdtempSync(join(tmpdir(), 'gloveport-engine-'))
  const socket = join(folder, 'docker.sock')
  let engine
  let relay
  const stop = async () => {
    relay?.stop()
    await engine?.stop()
    unmountBelow(folder)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const why = obstacle(ENGINES[name])
    if (why) throw new StepError(why)
    engine = await startEngine(ENGINES[name], folder, socket)
    importImage(engine.host, folder)
    checkItRuns(engine.host)
    relay = await startRelay(folder, socket)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    host: engine.host,
    network: engine.network,
    gateway: ENGINES[name].isApart ? GATEWAY : '',
    image: IMAGE,
    docker: find('docker'),
    relay,
    stop,
  }
}
