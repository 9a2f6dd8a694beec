// Builds the two programs that gloveport starts on Linux: the supervisor, which starts, limits and ends commands, and the
// guest, which works inside containers. An engine may be on another machine, so a release has a guest for each processor,
// whatever machine it is made on: the targets are static and need no C compiler.

import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { digest, isFresh, whenStale } from './fresh.mjs'
import { root, run, StepError } from './steps.mjs'

/** Processors as Node and as Rust name them. */
const PROCESSORS = { x64: 'x86_64', arm64: 'aarch64' }

/** The guest for a processor, beside package.json. */
export const guestFile = (processor = process.arch) => `gloveport-guest.${processor}`

/** Every guest that a release has. */
export const guestFiles = Object.keys(PROCESSORS).map((processor) => guestFile(processor))

/** What the guest is built of; the tests of these are not. */
const GUEST_SOURCES = [
  'Cargo.toml',
  'Cargo.lock',
  'rust-toolchain.toml',
  'crates/byte-order-marks',
  'crates/core/Cargo.toml',
  'crates/core/src',
  'crates/guest/Cargo.toml',
  'crates/guest/build.rs',
  'crates/guest/src',
  'crates/lines',
  'crates/standby',
  'crates/supervisor',
]

/** Whether code for that processor's Linux runs on this machine. */
const isOwn = (processor) => process.platform === 'linux' && processor === process.arch

/** The static Rust target of a processor, fetched where rustup can; undefined where there is none. */
function staticTarget(processor) {
  const target = `${PROCESSORS[processor]}-unknown-linux-musl`
  const installed = () =>
    spawnSync('rustc', ['--print', 'target-libdir', '--target', target], { cwd: root, encoding: 'utf8' }).stdout?.trim()
  if (existsSync(installed() ?? '')) return target
  spawnSync('rustup', ['target', 'add', target], { cwd: root, stdio: 'inherit' })
  return existsSync(installed() ?? '') ? target : undefined
}

/** This machine's own target, for which Cargo builds where no other is named (.cargo/config.toml). */
function hostTarget() {
  const { stdout } = spawnSync('rustc', ['--print', 'host-tuple'], { cwd: root, encoding: 'utf8' })
  return stdout.trim()
}

/** The linker for a target that is not this machine's: Rust's own, which knows them all. */
function linker(processor, target) {
  if (!target || isOwn(processor)) return {}
  return { [`CARGO_TARGET_${target.toUpperCase().replaceAll('-', '_')}_LINKER`]: 'rust-lld' }
}

/**
 * Builds the program that starts, limits and ends commands, and resolves to its path. Without the static target it is built
 * for this machine's own C library.
 */
export async function buildSupervisor(processor = process.arch) {
  const target = staticTarget(processor)
  if (!target && !isOwn(processor)) throw missing(processor)
  const program = join('target/supervisor', target ?? hostTarget(), 'supervisor/gloveport-supervisor')
  await whenStale({
    stamp: `target/gloveport-stamps/supervisor-${processor}`,
    inputs: () =>
      digest(['Cargo.toml', 'Cargo.lock', 'rust-toolchain.toml', 'crates/standby', 'crates/supervisor'], {
        target,
        made: existsSync(join(root, program)) ? digest([program]) : 'missing',
        RUSTFLAGS: process.env.RUSTFLAGS,
      }),
    make: () =>
      run(
        `Build the supervisor (${processor})`,
        'cargo',
        [
          'build',
          '--package=gloveport-supervisor',
          '--bin=gloveport-supervisor',
          '--features=standalone',
          '--profile=supervisor',
          // A folder of its own: the addon's build does not wait for it, and its path does not depend on settings.
          '--target-dir=target/supervisor',
          ...(target ? [`--target=${target}`] : []),
        ],
        { env: linker(processor, target) },
      ),
  })
  return join(root, program)
}

function missing(processor) {
  const target = `${PROCESSORS[processor]}-unknown-linux-musl`
  return new StepError(`Rust cannot build for ${target}: run "rustup target add ${target}".`)
}

/**
 * @param {'debug' | 'release'} profile
 * @returns {import('./fresh.mjs').Step}
 */
function guestStep(profile, processor) {
  const file = guestFile(processor)
  return {
    stamp: `target/gloveport-stamps/guest-${profile}-${processor}`,
    inputs: () =>
      digest(GUEST_SOURCES, {
        made: existsSync(join(root, file)) ? digest([file]) : 'missing',
        RUSTFLAGS: process.env.RUSTFLAGS,
      }),
    make: async () => {
      const supervisor = await buildSupervisor(processor)
      const target = profile === 'release' ? staticTarget(processor) : undefined
      // A folder for each processor: two of them are built side by side.
      const folder = `target/guest-${processor}`
      const built = target ?? hostTarget()
      const program = profile === 'release' ? join(folder, built, 'supervisor') : join('target', built, 'debug')
      const build =
        profile === 'release'
          ? ['--profile=supervisor', `--target-dir=${folder}`, ...(target ? [`--target=${target}`] : [])]
          : ['--features=engine-tests']
      const link = target ? [] : ['--', '-Ctarget-feature=+crt-static', '-Cstrip=symbols']
      await run(
        `Build the guest (${profile}, ${processor})`,
        'cargo',
        ['rustc', '--package=gloveport-guest', '--bin=gloveport-guest', ...build, ...link],
        { env: { GLOVEPORT_SUPERVISOR: supervisor, ...linker(processor, target) } },
      )
      copyFileSync(join(root, program, 'gloveport-guest'), join(root, file))
      chmodSync(join(root, file), 0o755)
    },
  }
}

/** Builds the guests of a release, side by side: most of the time the linker has one thread. */
export async function buildGuests() {
  // These share a folder, and are a tenth of the work.
  for (const processor of Object.keys(PROCESSORS)) await buildSupervisor(processor)
  await Promise.all(Object.keys(PROCESSORS).map((processor) => whenStale(guestStep('release', processor))))
}

/**
 * The guest for tests: that of a release where it is fresh; else a build for work, which is this machine's own build of core,
 * linked statically, and costs no second one.
 */
export async function setUpGuest() {
  if (isFresh(guestStep('release', process.arch))) return
  await whenStale(guestStep('debug', process.arch))
}
