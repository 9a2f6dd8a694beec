import { runInNewContext } from 'node:vm'

import * as gloveport from 'gloveport'
import { GloveportError, SandboxError } from 'gloveport'
import { expect, test } from 'vitest'

const SANDBOX = new Set([
  'EditError',
  'FileTooLargeError',
  'PathNotInSandboxError',
  'PathNotWritableError',
  'SuffixNotAllowedError',
])

type ErrorClass = new (message: string, facts?: object) => GloveportError

const classes = Object.entries(gloveport).flatMap(([name, value]) =>
  name.endsWith('Error') && !['GloveportError', 'SandboxError'].includes(name)
    ? [[name, value as ErrorClass] as const]
    : [],
)

test('every error class has its name, its code and its place in the hierarchy', () => {
  expect(classes.length).toBe(20)
  const codes = new Set<string>()
  for (const [name, Class] of classes) {
    const cause = new Error('cause')
    const error = new Class('text', { path: '/a', details: { n: 1 }, cause })
    expect(error).toMatchObject({ name, message: 'text', path: '/a', details: { n: 1 }, cause })
    expect(error).toBeInstanceOf(GloveportError)
    expect(error).toBeInstanceOf(Error)
    expect(error instanceof SandboxError, name).toBe(SANDBOX.has(name))
    expect(GloveportError.isInstance(error)).toBe(true)
    expect(String(error)).toBe(`${name}: text`)
    codes.add(error.code)
  }
  expect(codes.size).toBe(classes.length)
})

test('isInstance knows errors of another realm and nothing else', () => {
  const foreign = runInNewContext(
    "Object.assign(new Error('x'), { code: 'CLOSED', [Symbol.for('gloveport.error')]: true })",
  ) as unknown
  expect(foreign).not.toBeInstanceOf(Error)
  expect(GloveportError.isInstance(foreign)).toBe(true)
  for (const other of [undefined, null, 'x', {}, new Error('x'), Object.assign(new Error('x'), { code: 'CLOSED' })]) {
    expect(GloveportError.isInstance(other)).toBe(false)
  }
})
