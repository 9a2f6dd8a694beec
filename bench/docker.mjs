// What a call into a container costs, beside `docker exec` of the same: a warm command, and a file read, both also where the
// container takes no program of ours and is served through its shell; then fifty sessions at once. Needs an engine of its own, so root, Docker and busybox; without them it says so and measures nothing.

import { spawnSync } from 'node:child_process'
import { DockerBackend, SessionManager } from 'gloveport'
import { testEngine } from '../scripts/lib/engines.mjs'
import { StepError } from '../scripts/lib/steps.mjs'
import { median } from './support.mjs'

const RUNS = 40
const SESSIONS = 50
/** At most so many times what `docker exec` takes. */
const MOST_EXECUTE = 1.2
const MOST_READ = 1.5

let engine
try {
  engine = await testEngine()
} catch (error) {
  if (!(error instanceof StepError)) throw error
  console.log(`     nothing measured: ${error.message}`)
  process.exit(0)
}
const backend = new DockerBackend({ host: engine.host, image: engine.image, pull: 'never' })
const noexec = ['--read-only', '--tmpfs=/tmp:noexec', '--tmpfs=/workspace:noexec']
const theirs = spawnSync(
  'docker',
  ['--host', engine.host, 'run', '--detach', '--rm', '--network=none', ...noexec, engine.image, 'sleep', '1000'],
  { encoding: 'utf8' },
).stdout.trim()
// That it is served through its shell is said once; it is what is wanted here.
process.removeAllListeners('warning')
const byShell = new DockerBackend({ host: engine.host, container: theirs })
try {
  const begun = performance.now()
  await backend.start()
  console.log(`     start of a container                  ${(performance.now() - begun).toFixed(0).padStart(8)} ms`)
  for (const one of [backend, byShell]) {
    await one.write('/workspace/file.txt', 'text of a line that is long enough\n'.repeat(1_000))
  }
  const id = await backend.containerId()
  const exec = (...command) => {
    const { status } = spawnSync('docker', ['--host', engine.host, 'exec', id, ...command])
    if (status !== 0) throw new Error(`docker exec failed: ${status}`)
  }
  const subjects = {
    'docker exec sh -c true': async () => exec('sh', '-c', 'true'),
    'backend.execute true': () => backend.execute('true'),
    'docker exec cat, 35 KB': async () => exec('cat', '/workspace/file.txt'),
    'backend.read, 35 KB': () => backend.read('/workspace/file.txt'),
    'by its shell: execute true': () => byShell.execute('true'),
    'by its shell: read, 35 KB': () => byShell.read('/workspace/file.txt'),
  }
  const times = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]))
  for (let run = 0; run < RUNS; run += 1) {
    for (const [name, subject] of Object.entries(subjects)) {
      const started = performance.now()
      await subject()
      times[name].push(performance.now() - started)
    }
  }
  const medians = Object.values(times).map((samples) => median(samples))
  for (const [index, name] of Object.keys(times).entries()) {
    console.log(`     ${name.padEnd(36)}  ${medians[index].toFixed(2).padStart(8)} ms (median of ${RUNS})`)
  }
  const [execTrue, execute, execCat, read, executeByShell, readByShell] = medians
  console.log(`     execute / docker exec ${(execute / execTrue).toFixed(3)} (at most ${MOST_EXECUTE})`)
  console.log(`     read / docker exec cat ${(read / execCat).toFixed(3)} (at most ${MOST_READ})`)
  console.log(
    `     by its shell: execute ${(executeByShell / execTrue).toFixed(3)}, read ${(readByShell / execCat).toFixed(3)}`,
  )
  if (execute > execTrue * MOST_EXECUTE || read > execCat * MOST_READ) process.exitCode = 1
  await backend.close()
  await byShell.close()
  spawnSync('docker', ['--host', engine.host, 'kill', theirs])

  const sessions = new SessionManager({
    docker: { host: engine.host, image: engine.image, pull: 'never', memory: 64 * 1024 ** 2 },
    maxSessions: SESSIONS,
  })
  const all = performance.now()
  const ids = Array.from({ length: SESSIONS }, (_, index) => `user-${index}`)
  const said = await Promise.all(
    ids.map(async (id) => {
      const session = await sessions.getOrCreate(id)
      return (await session.execute(`echo ${id} > me; cat me; ls | wc -l`)).stdout
    }),
  )
  const used = performance.now()
  const evicted = await sessions.cleanupIdle(0)
  const mixed = said.filter((text, index) => text !== `${ids[index]}\n1\n`).length
  const left = spawnSync('docker', ['--host', engine.host, 'ps', '--all', '--quiet'], { encoding: 'utf8' }).stdout
  const gone = performance.now()
  console.log(
    `     ${SESSIONS} sessions at once: made and used in ${((used - all) / 1000).toFixed(1)} s, ${evicted} evicted in ` +
      `${((gone - used) / 1000).toFixed(1)} s; ${mixed} mixed up, ${left.split('\n').length - 1} left`,
  )
  if (evicted !== SESSIONS || mixed > 0 || left !== '') process.exitCode = 1
} finally {
  await backend.close()
  await engine.stop()
}
