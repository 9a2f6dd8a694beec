// The suite that needs a container engine: starts one of its own, with its own socket and data, on an image made of this
// machine's busybox, and stops it again. Nothing is pulled, and an engine that runs already is left alone.
//
// Where none can be started (no root, no Docker, a machine that is itself a container without the rights) the suite says why,
// names what it skips, and counts it; in CI it fails. The tests that need more than busybox do so too where an image of Debian
// cannot be made. What an engine that did start shows is never forgiven.

import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEBIAN_IMAGE, debianObstacle, importDebian } from './debian-image.mjs'
import { forget, fromCargoTest, fromJestJson, fromJunit, sum } from './results.mjs'
import { guestFile, setUpGuest } from './linux-programs.mjs'
import { startRelay } from './tls-relay.mjs'
import { announce, root, run, StepError } from './steps.mjs'

/** 60 s for the engine to answer, on a machine that does much else. */
const START_MS = 60_000
const IMAGE = 'gloveport-test:busybox'
/** How the functions are called that tests of Rust start as processes of their own. */
const CHILDREN = 'child_that_'
const NEXTEST_REPORT = 'target/nextest/default/junit.xml'
const VITEST_REPORT = 'target/test-reports/docker.json'

const find = (program) =>
  ['/usr/sbin', '/sbin', ...(process.env.PATH ?? '').split(':')].map((folder) => join(folder, program)).find(existsSync)

/** Why there is no engine; undefined when one can be tried. */
function obstacle() {
  if (process.platform !== 'linux') return 'an engine is started on Linux only'
  if (process.getuid() !== 0) return 'an engine of our own needs root'
  const missing = ['dockerd', 'docker', 'busybox', 'openssl'].filter((program) => !find(program))
  return missing.length ? `missing: ${missing.join(', ')} (Debian: docker.io, busybox-static, openssl)` : undefined
}

/** An engine in a folder of its own; resolves to its address and how to stop it, or rejects with the end of its log. */
async function startEngine(folder) {
  const socket = join(folder, 'docker.sock')
  const log = join(folder, 'log')
  const output = openSync(log, 'a')
  const args = [`--data-root=${folder}/data`, `--exec-root=${folder}/exec`, `--pidfile=${folder}/pid`]
  // No bridge and no rules: the network of the machine stays as it is.
  const engine = spawn(
    find('dockerd'),
    [...args, `--host=unix://${socket}`, '--iptables=false', '--ip6tables=false', '--bridge=none'],
    {
      stdio: ['ignore', output, output],
    },
  )
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
      throw new StepError(`dockerd does not start:\n${readFileSync(log, 'utf8').split('\n').slice(-8).join('\n')}`)
    }
  }
  const stop = async () => {
    engine.kill()
    await ended
  }
  return { host, stop }
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
  const args = ['run', '--rm', '--network=none', '--memory=64m', '--pids-limit=16', '--cpus=1', IMAGE, 'true']
  const ran = spawnSync(find('docker'), ['--host', host, ...args], { encoding: 'utf8' })
  if (ran.status !== 0) throw new StepError(`the engine runs no container: ${ran.stderr.trim()}`)
}

/** @param {readonly string[]} skipped names of tests */
async function suites(env, skipped) {
  const features = ['--package=gloveport-guest', '--features=engine-tests']
  const results = []
  if (spawnSync('cargo', ['nextest', '--version'], { cwd: root }).status === 0) {
    forget(NEXTEST_REPORT)
    const args = ['nextest', 'run', ...features]
    if (skipped.length) args.push('-E', `not (${skipped.map((name) => `test(${name})`).join(' | ')})`)
    const { code } = await run('Container tests (Rust)', 'cargo', args, { env, allowFailure: true })
    results.push(fromJunit(NEXTEST_REPORT, code))
  } else {
    // Not tests, but other processes of some.
    const left = [...skipped, CHILDREN]
    const args = ['test', ...features, '--test=docker', '--', ...left.flatMap((name) => ['--skip', name])]
    const { code, stdout } = await run('Container tests (Rust)', 'cargo', args, { env, tee: true, allowFailure: true })
    results.push(fromCargoTest(stdout, code))
  }
  forget(VITEST_REPORT)
  // The contract and deepagents' protocol have containers among their subjects where there is an engine.
  const files = ['__test__/docker', '__test__/contract.test.ts', '__test__/deepagents.test.ts']
  const args = ['run', ...files, '--reporter=default', '--reporter=json', `--outputFile.json=${VITEST_REPORT}`]
  const { code } = await run(
    'Container tests (vitest)',
    process.execPath,
    ['node_modules/vitest/vitest.mjs', ...args],
    {
      env,
      allowFailure: true,
    },
  )
  results.push(fromJestJson(VITEST_REPORT, code))
  return sum(results)
}

/**
 * An engine of our own with the image: how to find both, and how to stop it.
 *
 * @throws {StepError} why there can be none
 */
export async function testEngine() {
  const folder = mkdtempSync(join(tmpdir(), 'gloveport-engine-'))
  let engine
  let relay
  const stop = async () => {
    relay?.stop()
    await engine?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const why = obstacle()
    if (why) throw new StepError(why)
    engine = await startEngine(folder)
    importImage(engine.host, folder)
    checkItRuns(engine.host)
    relay = await startRelay(folder, join(folder, 'docker.sock'))
  } catch (error) {
    await stop()
    throw error
  }
  return { host: engine.host, image: IMAGE, relay, stop }
}

/** The names of the tests that need an engine, as they stand in their sources; of some files only, where they are named. */
function tests(only) {
  const named = (folder, pattern) =>
    readdirSync(join(root, folder))
      .filter((file) => only === undefined || file === only)
      .flatMap((file) =>
        Array.from(readFileSync(join(root, folder, file), 'utf8').matchAll(pattern), ([, name]) => name),
      )
  return [
    ...named('crates/guest/tests/docker', /#\[(?:tokio::)?test[^\n]*\n(?:#\[[^\n]*\n)*(?:async )?fn (\w+)/g).filter(
      (name) => !name.startsWith(CHILDREN),
    ),
    ...named('__test__/docker', /^test\('([^']+)'/gm),
  ]
}

/** Says what is skipped and why; in CI nothing is. */
function skip(why, skipped) {
  if (process.env.CI) throw new StepError(why)
  console.error(`! ${why}`)
  console.error(`! skipping ${skipped.join(', ')}, which CI runs`)
  return skipped
}

/** Everything that a real engine shows. */
export async function testDocker() {
  let engine
  try {
    engine = await testEngine()
  } catch (error) {
    if (!(error instanceof StepError)) throw error
    announce('Container tests')
    const { length } = skip(`no engine can be started here: ${error.message}`, tests())
    return { passed: 0, failed: 0, skipped: length }
  }
  try {
    const obstacle = debianObstacle()
    const skipped = obstacle ? skip(`no image of Debian can be made here: ${obstacle}`, tests('debian.rs')) : []
    if (!obstacle) await importDebian(find('docker'), engine.host)
    await setUpGuest()
    const env = {
      GLOVEPORT_TEST_DOCKER: engine.host,
      GLOVEPORT_TEST_IMAGE: engine.image,
      GLOVEPORT_TEST_DEBIAN: DEBIAN_IMAGE,
      GLOVEPORT_TEST_TLS: engine.relay.host,
      GLOVEPORT_TEST_CERTIFICATES: engine.relay.certs,
      GLOVEPORT_TEST_GUEST: join(root, guestFile()),
    }
    return sum([await suites(env, skipped), { passed: 0, failed: 0, skipped: skipped.length }])
  } finally {
    await engine.stop()
  }
}
