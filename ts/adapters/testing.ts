// gloveport/testing: the contract that every backend keeps, for anybody's backend and any test runner. A case begins with an
// empty directory, does steps, and compares each answer with the one that every backend gives, byte for byte.

import { CompositeBackend, createToolset, GloveportError } from '../../index.js'
import type { Backend, UserBackend } from '../../index.js'
import { CASES, type Step } from './testing-cases.js'

type Awaitable<T> = T | Promise<T>

/** A backend for one case. */
export interface ContractSubject {
  /** Holds nothing at `base`. What an object of yours lacks is derived, as a toolset does. */
  readonly backend: Backend | UserBackend
  /** The directory where the case works; default the working directory. */
  readonly base?: string | undefined
  /** Is called when the case is over. */
  readonly dispose?: (() => Awaitable<unknown>) | undefined
}

/** One case of the contract. */
export interface ContractCase {
  /** What must hold. A number in parentheses is a regression case of the systems that gloveport follows. */
  readonly name: string
  /** Runs the case on a backend of its own; rejects with all answers that differ. */
  run(make: () => Awaitable<ContractSubject>): Promise<void>
}

/** The functions of a test runner: those of vitest, jest and node:test fit. */
export interface ContractHooks {
  readonly describe?: ((name: string, body: () => void) => unknown) | undefined
  readonly test: (name: string, body: () => Promise<void>) => unknown
}

/** How a backend did. */
export interface ContractReport {
  readonly passed: number
  readonly failed: readonly { readonly name: string; readonly problem: string }[]
}

/** All cases. */
export const contractCases: readonly ContractCase[] = Object.freeze(
  CASES.map(({ name, steps }) =>
    Object.freeze({ name, run: (make: () => Awaitable<ContractSubject>) => runCase(steps, make) }),
  ),
)

/**
 * Makes a test of each case.
 *
 * @example
 * import { describe, test } from 'node:test' // or 'vitest', or jest's globals
 *
 * testBackend('my backend', () => ({ backend: new MyBackend() }), { describe, test })
 */
export function testBackend(name: string, make: () => Awaitable<ContractSubject>, hooks: ContractHooks): void {
  const tests = (): void => {
    for (const { name: title, run } of contractCases) hooks.test(title, () => run(make))
  }
  if (hooks.describe) hooks.describe(name, tests)
  else tests()
}

/** Runs every case and tells how each ended, without a test runner. */
export async function runContract(make: () => Awaitable<ContractSubject>): Promise<ContractReport> {
  const failed: { name: string; problem: string }[] = []
  for (const { name, run } of contractCases) {
    try {
      await run(make)
    } catch (error) {
      failed.push({ name, problem: error instanceof Error ? error.message : String(error) })
    }
  }
  return { passed: contractCases.length - failed.length, failed }
}

async function runCase(steps: readonly Step[], make: () => Awaitable<ContractSubject>): Promise<void> {
  const { backend: given, base: named, dispose } = await make()
  try {
    // What the object lacks is derived here.
    const backend = new CompositeBackend({ default: given })
    const base = named ?? backend.workingDirectory
    const at = (path: string): string => (path.startsWith('/') ? path : `${base === '/' ? '' : base}/${path}`)
    let differences = ''
    for (const [words, step, expected] of steps) {
      const answer = await answerTo(step, backend, at)
      // Where the backend begins is its own affair.
      const shown = base === '/' ? answer : answer.replaceAll(base, '')
      if (shown !== expected) differences += `\n  ${words}\n    expected ${expected}\n    answered ${shown}`
    }
    if (differences) throw new Error(`The backend answers otherwise than others:${differences}`)
  } finally {
    await dispose?.()
  }
}

async function answerTo(step: Step[1], backend: CompositeBackend, at: (path: string) => string): Promise<string> {
  try {
    return await step({ backend, at, toolset: (options) => createToolset({ backend, ...options }) })
  } catch (error) {
    if (GloveportError.isInstance(error)) return `${error.code} ${error.path ?? '-'}`
    return `threw ${String(error)}`
  }
}
