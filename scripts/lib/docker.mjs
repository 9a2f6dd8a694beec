// The suites that need a container engine, Docker's or Podman's: each on one of its own, which is stopped again.
//
// Where none can be started (no root, no Docker, a machine that is itself a container without the rights) the suite says why,
// names what it skips, and counts it; in CI it fails. The tests that need more than busybox do so too where an image of Debian
// cannot be made. What an engine that did start shows is never forgiven.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DEBIAN_IMAGE, debianObstacle, importDebian } from './debian-image.mjs'
import { find, testEngine } from './engines.mjs'
import { guestFile, setUpGuest } from './linux-programs.mjs'
import { AT_ONCE, hasNextest, NEXTEST_REPORT } from './nextest.mjs'
import { isOnPath } from './programs.mjs'
import { forget, fromCargoTest, fromJestJson, fromJunit, sum } from './results.mjs'
import { announce, root, run, StepError } from './steps.mjs'

/** How the functions are called that tests of Rust start as processes of their own. */
const CHILDREN = 'child_that_'
const VITEST_REPORT = 'target/test-reports/docker.json'

/** The other processor that a release has a guest for, and what runs its programs here, each by itself. */
const OTHER = { x64: ['arm64', 'qemu-aarch64-static'], arm64: ['x64', 'qemu-x86_64-static'] }

/** Why the guest of the other processor cannot be tried here; undefined when it can. */
function emulationObstacle() {
  const [processor, emulator] = OTHER[process.arch] ?? []
  if (!processor) return `nothing is known to run the guests of other processors on ${process.arch}`
  if (!isOnPath(emulator)) return `missing: ${emulator} (Debian: qemu-user-static)`
  const guest = join(root, guestFile(processor))
  return existsSync(guest) ? undefined : `${guestFile(processor)} is not built: node scripts/build.mjs --guests`
}

/** What Podman 4.3, Debian 12's, does otherwise than the tests ask, or cannot show. */
const NOT_ON_PODMAN = [
  // It builds on when nobody listens any more.
  'a_build_that_nobody_waits_for_ends',
  // Its builder leaves a lock in what it keeps.
  'what_a_manager_downloads_is_kept_for_the_next_build_of_its_runtime',
  // It begins no program in a container whose own directory is gone; with a guest none is begun there.
  'a_working_directory_that_was_removed_keeps_nobody_out',
  // It lists an image twice.
  'a_runtime_is_built_once_and_holds_its_values',
  'apt_installs_from_what_was_kept',
  // Its `tmpfs` belongs to root alone.
  'a_root_that_cannot_be_written_and_another_user',
  // It lets a program be put where the test means to forbid it.
  'a_container_that_runs_no_new_program_is_used_all_the_same',
  // It tells nobody of uploads.
  'two_that_resume_the_same_one_at_once_put_the_guest_into_it_once',
  'two_hosts_that_resume_the_same_container_at_once_put_the_guest_into_it_once',
  // Without capabilities its root may write nothing into `/`, where the test lays links.
  'the_tools_read_what_commands_printed_and_no_command_reaches_it',
  // It says why no program begins in words of its own.
  'why_a_program_in_the_place_of_the_guest_does_not_begin_is_in_the_details',
  // It knows no share of the processor when it is asked once; the bound holds.
  'processors_are_bounded_and_the_capabilities_are_the_ones_that_were_asked_for',
  // It follows links in the names of mounts itself, and such a container is refused with another error.
  'a_directory_that_was_replaced_before_a_container_starts_is_not_taken_for_the_one_that_was_given',
  // Each of its commands takes several times as long, and this is hundreds of them; it is asked for the searches.
  'files_through_the_shell_of_a_container_keep_the_contract',
  // Docker's `commit`, by which these make their images, does not speak to it.
  'a_container_of_an_image_that_was_made_of_one_of_ours_is_not_ours',
  'a_user_of_the_image_has_the_working_directory',
  'a_user_that_the_image_names_has_the_working_directory',
  // It is in the machine's network, where none of these may listen for more than loopback.
  'pip_installs_from_a_private_index_what_was_asked_for',
  'npm_installs_from_a_private_registry_into_the_working_directory',
  'cargo_installs_from_a_private_registry_what_was_asked_for',
  'on_the_usual_network_a_container_reaches_the_machine_and_without_it_nothing',
  'a_build_has_the_network_that_was_asked_for',
  // It speaks to registries by TLS alone, unless its machine is told otherwise.
  'a_missing_image_is_pulled_by_its_tag_and_the_pull_is_heard',
  'an_image_is_pulled_by_its_digest_whatever_its_tags_say',
  'a_content_that_is_not_what_its_digest_says_is_an_error_and_no_image',
  'the_base_of_a_runtime_is_pulled_by_its_digest_and_once',
]

/** The tests of the core. @param {readonly string[]} skipped names of tests */
async function rustSuite(env, skipped) {
  if (hasNextest()) {
    forget(NEXTEST_REPORT)
    // With the rest of the workspace: so what it stands on is what `rust` has built.
    const without = skipped.length ? ` and not (${skipped.map((name) => `test(${name})`).join(' | ')})` : ''
    const args = ['nextest', 'run', '--workspace', AT_ONCE, '--features=gloveport-guest/engine-tests']
    args.push('-E', `package(gloveport-guest)${without}`)
    const { code } = await run('Container tests (Rust)', 'cargo', args, { env, allowFailure: true })
    return fromJunit(NEXTEST_REPORT, code)
  }
  // Not tests, but other processes of some.
  const left = [...skipped, CHILDREN]
  const args = [
    'test',
    '--package=gloveport-guest',
    '--features=engine-tests',
    '--test=docker',
    '--',
    ...left.flatMap((name) => ['--skip', name]),
  ]
  const { code, stdout } = await run('Container tests (Rust)', 'cargo', args, { env, tee: true, allowFailure: true })
  return fromCargoTest(stdout, code)
}

/** The tests of the package: its own, and the contract and deepagents' protocol, which have containers among their subjects. */
async function packageSuite(env) {
  forget(VITEST_REPORT)
  const files = ['__test__/docker', '__test__/contract.test.ts', '__test__/deepagents.test.ts']
  // One file at a time: some count what an engine has.
  const args = [
    'run',
    ...files,
    '--no-file-parallelism',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${VITEST_REPORT}`,
  ]
  const program = ['node_modules/vitest/vitest.mjs', ...args]
  const { code } = await run('Container tests (vitest)', process.execPath, program, { env, allowFailure: true })
  return fromJestJson(VITEST_REPORT, code)
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

/** Everything that a real engine shows. @param {'docker' | 'podman'} name */
async function testOn(name) {
  let engine
  try {
    engine = await testEngine(name)
  } catch (error) {
    if (!(error instanceof StepError)) throw error
    announce('Container tests')
    const { length } = skip(`no engine can be started here: ${error.message}`, tests())
    return { passed: 0, failed: 0, skipped: length }
  }
  try {
    const obstacle = debianObstacle()
    const left = name === 'podman' ? NOT_ON_PODMAN : []
    if (left.length) console.error(`! not asked of ${name}: ${left.join(', ')}`)
    const skipped = []
    if (obstacle)
      skipped.push(
        ...skip(`no image of Debian can be made here: ${obstacle}`, [...tests('debian.rs'), ...tests('packages.rs')]),
      )
    const unemulated = emulationObstacle()
    if (unemulated) {
      skipped.push(...skip(`no guest of another processor can be run here: ${unemulated}`, tests('emulated.rs')))
    }
    if (!find('sshd')) {
      skipped.push(
        ...skip('no engine can be reached by ssh here: missing: sshd (Debian: openssh-server)', tests('ssh.rs')),
      )
    }
    if (!obstacle) await importDebian(engine.docker, engine.host)
    await setUpGuest()
    const env = {
      GLOVEPORT_TEST_DOCKER: engine.host,
      GLOVEPORT_TEST_IMAGE: engine.image,
      GLOVEPORT_TEST_NETWORK: engine.network,
      GLOVEPORT_TEST_GATEWAY: engine.gateway,
      GLOVEPORT_TEST_DEBIAN: DEBIAN_IMAGE,
      GLOVEPORT_TEST_TLS: engine.relay.host,
      GLOVEPORT_TEST_CERTIFICATES: engine.relay.certs,
      GLOVEPORT_TEST_GUEST: join(root, guestFile()),
      GLOVEPORT_TEST_EMULATOR: OTHER[process.arch]?.[1] ?? '',
      GLOVEPORT_TEST_OTHER_GUEST: join(root, guestFile(OTHER[process.arch]?.[0])),
    }
    const results = [await rustSuite(env, [...skipped, ...left]), { passed: 0, failed: 0, skipped: skipped.length }]
    // The package knows no engine from another: one shows what it does.
    if (name === 'docker') results.push(await packageSuite(env))
    return sum(results)
  } finally {
    await engine.stop()
  }
}

export const testDocker = () => testOn('docker')
export const testPodman = () => testOn('podman')
