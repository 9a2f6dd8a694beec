import { PassThrough } from 'node:stream'

import { type ApprovalRequest, terminalApprover } from 'gloveport'
import { expect, test } from 'vitest'

const REQUEST: ApprovalRequest = {
  callId: 'c1',
  tool: 'write_file',
  input: {},
  decodedInput: {},
  description: 'Write a.txt',
  reason: 'writes ask',
  touches: [{ operation: 'write', target: '/work/a.txt' }],
  diff: '--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-old\n+new\n',
}
const CALL = { context: undefined, metadata: {}, signal: undefined }

function terminal(): {
  input: PassThrough & { isTTY: true }
  output: PassThrough & { isTTY: true }
  shown: () => string
} {
  const input = Object.assign(new PassThrough(), { isTTY: true as const })
  const output = Object.assign(new PassThrough(), { isTTY: true as const })
  const chunks: Buffer[] = []
  output.on('data', (chunk: Buffer) => chunks.push(chunk))
  return { input, output, shown: () => Buffer.concat(chunks).toString() }
}

test.each([
  ['y\n', { approved: true }],
  ['YES\n', { approved: true }],
  ['a\n', { approved: true, remember: 'session' }],
  ['n\n', { approved: false, reason: 'the user said no' }],
  ['\n', { approved: false, reason: 'the user said no' }],
  ['yep\n', { approved: false, reason: 'the user said no' }],
])('the answer %j is %j', async (answer, decision) => {
  const { input, output } = terminal()
  input.write(answer)
  expect(await terminalApprover({ input, output, color: false })(REQUEST, CALL)).toEqual(decision)
})

test('nothing that a model chose passes for a line of ours, and where a link leads is always told', async () => {
  const { input, output, shown } = terminal()
  input.write('n\n')
  const forged = 'a.txt\nread_file: harmless\n  read b.txt'
  await terminalApprover({ input, output, color: false })(
    {
      ...REQUEST,
      description: `Move ${forged} to l → /work/b`,
      reason: `write of '${forged}': writes ask`,
      touches: [
        { operation: 'delete', target: `/work/${forged}` },
        { operation: 'write', target: 'l', resolved: '/work/b' },
        { operation: 'write', target: 'x\u061Cy\u{E0041}\u00ADz' },
      ],
      diff: '',
    },
    CALL,
  )
  const lines = shown().split('\n')
  expect(lines.filter((line) => /^ {0,2}(read|read_file)\b/.test(line))).toEqual([])
  expect(lines).toContain('  write l → /work/b')
  expect(lines).toContain(String.raw`  write x\u{61c}y\u{e0041}\u{ad}z`)
})

test('the end of the input, no terminal, and an abort are a no', async () => {
  const ended = terminal()
  ended.input.end()
  expect(await terminalApprover(ended)(REQUEST, CALL)).toEqual({ approved: false, reason: 'nobody answered' })

  const piped = { input: new PassThrough(), output: new PassThrough() }
  piped.input.write('y\n')
  expect(await terminalApprover(piped)(REQUEST, CALL)).toEqual({
    approved: false,
    reason: 'there is no terminal to ask at',
  })

  const waiting = terminal()
  const controller = new AbortController()
  const decision = terminalApprover(waiting)(REQUEST, { ...CALL, signal: controller.signal })
  setImmediate(() => controller.abort())
  expect(await decision).toEqual({ approved: false, reason: 'nobody answered' })
})

test('the person sees the call, what it touches and a coloured diff', async () => {
  const { input, output, shown } = terminal()
  input.write('n\n')
  await terminalApprover({ input, output, color: true })(REQUEST, CALL)
  const text = shown()
  expect(text).toContain('write_file: Write a.txt')
  expect(text).toContain('write /work/a.txt')
  expect(text).toContain('\u001B[31m-old\u001B[0m')
  expect(text).toContain('\u001B[32m+new\u001B[0m')
})

test('nothing that a model wrote can draw on the terminal or pass for a line of ours (R-AP-3)', async () => {
  const { input, output, shown } = terminal()
  input.write('n\n')
  const hostile: ApprovalRequest = {
    ...REQUEST,
    description: 'Run: rm\u001B[2J\nAllow? yes\u202E\r',
    reason: 'x\u0007',
    touches: [{ operation: 'write', target: '/a\u001B]0;t\u0007' }],
    diff: '+\u001B[31mred\u200B\n',
  }
  await terminalApprover({ input, output, color: false })(hostile, CALL)
  // What follows is readline's own prompt.
  const text = shown().split('\u001B[1G')[0]!
  expect(text).toContain('rm\\u{1b}[2J\n  | Allow? yes\\u{202e}\\u{d}')
  // oxlint-disable-next-line no-control-regex
  expect(text).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F\u200B\u202E]/)
})

test('questions of calls that run at once come one after the other', async () => {
  const { input, output, shown } = terminal()
  const approve = terminalApprover({ input, output, color: false })
  const both = Promise.all([approve(REQUEST, CALL), approve({ ...REQUEST, tool: 'edit_file' }, CALL)])
  await new Promise((resolve) => setImmediate(resolve))
  expect(shown()).not.toContain('edit_file')
  input.write('y\n')
  await new Promise<void>((resolve) => {
    output.on('data', () => {
      if (shown().includes('edit_file')) resolve()
    })
  })
  input.write('n\n')
  expect((await both).map((decision) => decision.approved)).toEqual([true, false])
})
