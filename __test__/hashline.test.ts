// Tagged lines for programs (BE-96), held to the recorded samples.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { applyHashlineEdit, EditError, formatHashlineOutput, InvalidInputError, lineHash } from 'gloveport'

interface Recorded {
  line_hash: { line: string; hash: string }[]
  format: { content: string; offset: number; limit: number; output: string }[]
}

const samples = JSON.parse(
  readFileSync(join(import.meta.dirname, '../crates/core/tests/vectors/hashline.json'), 'utf8'),
) as Recorded

test('tags are those of the samples', () => {
  expect(samples.line_hash.length).toBeGreaterThan(10)
  for (const { line, hash } of samples.line_hash) expect(lineHash(line)).toBe(hash)
})

test('lines are shown as in the samples; ours says where to read on, and that an empty text has no lines', () => {
  expect(samples.format.length).toBe(64)
  for (const { content, offset, limit, output } of samples.format) {
    const show = (): string => formatHashlineOutput(content, { offset, limit })
    if (output.startsWith('Error: ')) {
      const expected = output.slice('Error: '.length).replace('(1 lines)', content === '' ? '(0 lines)' : '(1 lines)')
      expect(show).toThrow(expected)
    } else {
      expect(show().replace(/ Read on with offset=\d+\.$/, '')).toBe(output)
    }
  }
})

test('an edit answers with the text, a summary and a diff', () => {
  const text = 'one\r\ntwo\r\nthree'
  const edited = applyHashlineEdit(text, [
    { startLine: 2, startHash: lineHash('two\r'), newContent: 'zwei' },
    { startLine: 0, startHash: '', newContent: 'zero', insertAfter: true },
  ])
  expect(edited.content).toBe('zero\r\none\r\nzwei\r\nthree')
  expect(edited.edits).toBe(2)
  expect(edited.summary).toContain('Replaced 1 line(s) at line 2')
  expect(edited.diff).toContain('+zwei')
  expect(() => applyHashlineEdit(text, { startLine: 1, startHash: 'xx', newContent: '' })).toThrow(EditError)
})

test('what is no text, no number and no edit is refused', () => {
  const wrong: (() => unknown)[] = [
    () => lineHash('a\nb'),
    () => lineHash('\ud800'),
    () => lineHash(1 as unknown as string),
    () => formatHashlineOutput('a', { offset: -1 }),
    () => formatHashlineOutput('a', { limit: 0 }),
    () => formatHashlineOutput('a', { limit: 1.5 }),
    () => formatHashlineOutput('a', { lines: 1 } as object),
    () => applyHashlineEdit('a', []),
    () => applyHashlineEdit('a', { oldString: 'a', newString: 'b' } as never),
  ]
  for (const call of wrong) expect(call).toThrow(InvalidInputError)
})
