// The samples of rules that ours are measured by, in `permissions.json` of the core, as far as not the core's own tests read them.
// Where ours answers otherwise the test says so and why.

import { readFileSync } from 'node:fs'

import { ApprovalRequiredError, PermissionChecker, PermissionDeniedError, presets, type Operation } from 'gloveport'
import { expect, test } from 'vitest'

interface Check {
  readonly case: string
  readonly operation: Operation
  readonly target: string
  readonly reason: string
  readonly callback: 'yes' | null
  readonly ask_fallback: 'error'
  readonly result?: boolean
  readonly raises?: string
  readonly message?: string
}
interface Samples {
  readonly SECRETS_PATTERNS: readonly string[]
  readonly SYSTEM_PATTERNS: readonly string[]
  readonly DANGEROUS_COMMANDS: readonly string[]
  readonly async_check: readonly Check[]
}

const samples = JSON.parse(
  readFileSync(new URL('../crates/core/tests/vectors/permissions.json', import.meta.url), 'utf8'),
) as Samples

const PRESETS = Object.keys(presets) as (keyof typeof presets)[]

/** A path that a recorded pattern matches. */
const pathOf = (pattern: string): string => pattern.replace('**/', '/w/').replace('/**', '/a/b').replaceAll('*', '-1')

test('every section of the samples is read: the first three by the core, the others below', () => {
  const core = ['glob', 'check_sync', 'precedence']
  const here = ['SECRETS_PATTERNS', 'SYSTEM_PATTERNS', 'DANGEROUS_COMMANDS', 'async_check']
  expect(Object.keys(samples).toSorted()).toEqual(['source', ...core, ...here].toSorted())
})

test('what the samples call a secret is one in every preset', () => {
  expect(samples.SECRETS_PATTERNS).toHaveLength(12)
  for (const preset of PRESETS) {
    const checker = new PermissionChecker(preset)
    for (const pattern of samples.SECRETS_PATTERNS)
      for (const operation of ['read', 'write', 'edit'] as const)
        expect(checker.check(operation, pathOf(pattern)).action, `${preset} ${operation} ${pattern}`).toBe('deny')
    // Theirs catch these too; they are templates, prose and source that speak about secrets, and hold none (D19).
    for (const path of ['/w/.env.example', '/w/secretary.md', '/w/test_password_reset.py', '/w/credentials.test.ts'])
      expect(checker.check('read', path).action, `${preset} ${path}`).toBe(preset === 'strict' ? 'ask' : 'allow')
  }
})

test('what the samples call the system is not written by `permissive`, and may be read', () => {
  expect(samples.SYSTEM_PATTERNS).toHaveLength(8)
  const checker = new PermissionChecker('permissive')
  for (const pattern of samples.SYSTEM_PATTERNS) {
    const path = pathOf(pattern)
    for (const operation of ['write', 'edit', 'delete'] as const)
      expect(checker.check(operation, path).action, `${operation} ${path}`).toBe('deny')
    expect(checker.check('read', path).action, path).toBe('allow')
  }
})

test('what the samples call dangerous is denied by every preset', () => {
  // Ours are no patterns: what a pattern of theirs stands for is what must be denied.
  const meant: Readonly<Record<string, readonly string[]>> = {
    'dd if=*of=/dev/*': ['dd if=/dev/zero of=/dev/sda', 'dd if=x bs=1M of=/dev/nvme0n1'],
    'mkfs*': ['mkfs /dev/sda1', 'mkfs.ext4 /dev/sda1'],
  }
  expect(samples.DANGEROUS_COMMANDS).toHaveLength(7)
  for (const preset of PRESETS) {
    const checker = new PermissionChecker(preset)
    for (const recorded of samples.DANGEROUS_COMMANDS)
      for (const command of meant[recorded] ?? [recorded])
        expect(checker.check('execute', command).action, `${preset} ${command}`).toBe('deny')
  }
})

test('`require` answers as the samples do, in words of its own', async () => {
  expect(samples.async_check).toHaveLength(5)
  const errors = { PermissionDeniedError, PermissionAskError: ApprovalRequiredError } as const
  for (const sample of samples.async_check) {
    const { operation, target, reason, callback, result, raises } = sample
    const asked: unknown[] = []
    const ask = async (...question: unknown[]): Promise<boolean> => {
      asked.push(question)
      return true
    }
    // The samples do not name their ruleset: one of them denies what the others ask about.
    const preset = sample.case === 'deny by default' ? 'readonly' : 'default'
    const checker = new PermissionChecker(preset, callback === 'yes' ? { ask } : {})
    const answer = await checker.require(operation, target, reason).then(
      () => true,
      (error: unknown) => error,
    )
    if (raises === undefined) {
      expect(answer, sample.case).toBe(result)
    } else {
      // Theirs is `PermissionAskError` where nobody can be asked; ours is the error of every such refusal, with the same facts.
      expect(answer, sample.case).toBeInstanceOf(errors[raises as keyof typeof errors])
      expect(answer, sample.case).toMatchObject({ operation, target, message: expect.stringContaining(target) })
    }
    const isAsked = callback === 'yes' && raises === undefined
    expect(asked, sample.case).toEqual(isAsked ? [[operation, target, reason]] : [])
  }
})
