// Makes a fresh clone ready: npm packages, the native addon, the compiled TypeScript. Needs nothing but Node, npm and Rust,
// and skips what is fresh.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { digest, isFresh, whenStale } from './fresh.mjs'
import { buildGuests, buildSupervisor } from './linux-programs.mjs'
import { root, run, StepError } from './steps.mjs'

/** The file name suffix that Node gives this machine, as the addon's build spells it. */
function platformName() {
  const libc =
    process.platform === 'linux' ? (process.report.getReport().header.glibcVersionRuntime ? '-gnu' : '-musl') : ''
  return `${process.platform}-${process.arch}${process.platform === 'win32' ? '-msvc' : libc}`
}

/** The native addon of this machine, beside package.json. */
export const addonFile = `gloveport.${platformName()}.node`

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new StepError(`Node ${process.versions.node} is too old: gloveport needs Node 20.19 or newer.`)
  }
}

function checkRust() {
  const cargo = spawnSync('cargo', ['--version'], { cwd: root, encoding: 'utf8' })
  const channel = /channel = "([^"]+)"/.exec(readFileSync(join(root, 'rust-toolchain.toml'), 'utf8'))?.[1]
  if (cargo.error) {
    throw new StepError(
      `Rust is missing: install rustup, which then fetches Rust ${channel} by itself, and run this again.`,
    )
  }
  if (cargo.status !== 0) {
    throw new StepError(
      `Rust ${channel} is missing: run "rustup toolchain install ${channel}".\n${cargo.stderr.trim()}`,
    )
  }
  const version = /cargo (\d+)\.(\d+)/.exec(cargo.stdout)
  const wanted = channel?.split('.').map(Number)
  if (version && wanted && (Number(version[1]) !== wanted[0] || Number(version[2]) < wanted[1])) {
    throw new StepError(`Rust ${channel} or newer is needed, found ${cargo.stdout.trim()}: install it with rustup.`)
  }
}

/** The command and first arguments that start npm: the npm that started us, else the one on PATH. */
export function npm() {
  const running = process.env.npm_execpath
  return running?.endsWith('npm-cli.js') ? [process.execPath, running] : ['npm']
}

async function installPackages() {
  await whenStale({
    stamp: 'node_modules/.gloveport-stamp',
    inputs: () => digest(['package-lock.json']),
    make: () => {
      const [command, ...first] = npm()
      return run('Install the npm packages', command, [...first, 'ci', '--no-audit', '--no-fund', '--loglevel=error'])
    },
  })
}

/**
 * What is built for size keeps even the smallest functions of the standard library as calls of their own. Those that LLVM
 * counts this much for, with 5 an instruction and less what the call itself takes, need no more room in their callers, and
 * every call of a tool runs thousands of them.
 */
const INLINING = '-Cllvm-args=-inline-threshold=12'

/** What the addon is made from. */
function addonInputs(profile) {
  const sources = ['Cargo.toml', 'Cargo.lock', 'rust-toolchain.toml', 'build.rs', 'src', 'crates', '.cargo']
  const made = existsSync(join(root, addonFile)) ? digest([addonFile]) : 'missing'
  const generated = digest(['binding.js', 'binding.d.ts'])
  return digest(sources, { profile, made, generated, RUSTFLAGS: process.env.RUSTFLAGS, INLINING })
}

/**
 * @param {'debug' | 'release'} profile
 * @param {string | undefined} supervisor the program that the addon carries
 * @returns {import('./fresh.mjs').Step}
 */
function addonStep(profile, supervisor) {
  return {
    stamp: `target/gloveport-stamps/addon-${profile}`,
    inputs: () => addonInputs(profile),
    make: () =>
      run(
        `Build the native addon (${profile})`,
        process.execPath,
        [
          'node_modules/@napi-rs/cli/dist/cli.js',
          'build',
          '--platform',
          '--js=binding.js',
          '--dts=binding.d.ts',
          ...(profile === 'release' ? ['--release'] : []),
        ],
        { env: { GLOVEPORT_SUPERVISOR: supervisor, ...(profile === 'release' ? releaseFlags() : {}) } },
      ),
  }
}

/** Has the messages of other people's crates name their files without the folder of this machine that they lie in; and {@link INLINING}. */
function releaseFlags() {
  const sources = join(process.env.CARGO_HOME ?? join(homedir(), '.cargo'), 'registry/src')
  const folders = existsSync(sources) ? readdirSync(sources) : []
  const given = process.env.RUSTFLAGS?.split(' ').filter(Boolean) ?? []
  const flags = [...given, INLINING, ...folders.map((folder) => `--remap-path-prefix=${join(sources, folder)}=`)]
  return { CARGO_ENCODED_RUSTFLAGS: flags.join('\u001F') }
}

/** Without a profile a fresh addon of either does, and a debug one is built when neither is. */
async function buildAddon(profile, supervisor) {
  if (!profile && isFresh(addonStep('release', supervisor))) return
  await whenStale(addonStep(profile ?? 'debug', supervisor))
}

/** The facade as one file: some fifty small ones take Node longer to find and read than to run. */
async function bundleFacade() {
  const { build } = await import('esbuild')
  await build({
    absWorkingDir: root,
    entryPoints: ['ts/index.ts'],
    outfile: 'dist/index.js',
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    // The name of a class is part of what its users see.
    keepNames: true,
    // Seen from dist/ as from ts/.
    external: ['../binding.js'],
    legalComments: 'none',
    logLevel: 'warning',
  })
}

async function compileTypeScript() {
  await whenStale({
    stamp: 'target/gloveport-stamps/typescript',
    inputs: () =>
      digest(['ts', 'index.d.ts', 'binding.d.ts', 'node_modules/.gloveport-stamp'], {
        configs: ['', '.core', '.adapters', '.esm'].map((name) => digest([`tsconfig${name}.json`])),
        bundled: digest(['scripts/lib/setup.mjs']),
      }),
    outputs: ['dist/index.js', 'dist/esm/package.json'],
    make: async () => {
      rmSync(join(root, 'dist'), { recursive: true, force: true })
      for (const project of ['core', 'adapters', 'esm']) {
        await run(`Compile TypeScript (${project})`, process.execPath, [
          'node_modules/typescript/bin/tsc',
          `--project`,
          `tsconfig.${project}.json`,
        ])
      }
      await bundleFacade()
      writeFileSync(join(root, 'dist/esm/package.json'), '{ "type": "module" }\n')
    },
  })
}

/**
 * Installs, builds and compiles what is missing or stale.
 *
 * @param {{ profile?: 'debug' | 'release' }} options the addon's build profile; either will do when it is left out
 */
export async function setUp({ profile } = {}) {
  checkNode()
  checkRust()
  await installPackages()
  const supervisor = process.platform === 'linux' ? await buildSupervisor() : undefined
  // Side by side: most of the time each of a release has one thread. What one failed with waits until the others are done.
  const builds = [buildAddon(profile, supervisor), ...(profile === 'release' ? [buildGuests()] : [])]
  const failed = (await Promise.allSettled(builds)).find(({ status }) => status === 'rejected')
  if (failed) throw failed.reason
  await compileTypeScript()
}
