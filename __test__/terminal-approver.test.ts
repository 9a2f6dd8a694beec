import { tmpdir } from 'node:os'
import { PassThrough } from 'node:stream'

import { type ApprovalRequest, createToolset, LocalBackend, terminalApprover } from 'gloveport'
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

/** Types each answer when its question is there, as a person does. */
function answers({ input, output, shown }: ReturnType<typeof terminal>, ...texts: readonly string[]): void {
  let asked = 0
  output.on('data', () => {
    const questions = shown().split('[N]o:').length - 1
    while (asked < questions && asked < texts.length) {
      input.write(texts[asked])
      asked += 1
    }
  })
}

test.each([
  ['y\n', { approved: true }],
  ['YES\n', { approved: true }],
  ['a\n', { approved: true, remember: 'session' }],
  ['n\n', { approved: false, reason: 'the user said no' }],
  ['\n', { approved: false, reason: 'the user said no' }],
  ['yep\n', { approved: false, reason: 'the user said no' }],
])('the answer %j is %j', async (answer, decision) => {
  const person = terminal()
  answers(person, answer)
  expect(await terminalApprover({ ...person, color: false })(REQUEST, CALL)).toEqual(decision)
})

test('nothing that a model chose passes for a line of ours, and where a link leads is always told', async () => {
  const person = terminal()
  const { input, output, shown } = person
  answers(person, 'n\n')
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
  const person = terminal()
  const { input, output, shown } = person
  answers(person, 'n\n')
  await terminalApprover({ input, output, color: true })(REQUEST, CALL)
  const text = shown()
  expect(text).toContain('write_file: Write a.txt')
  expect(text).toContain('write /work/a.txt')
  expect(text).toContain('\u001B[31m-old\u001B[0m')
  expect(text).toContain('\u001B[32m+new\u001B[0m')
})

test('nothing that a model wrote can draw on the terminal or pass for a line of ours (R-AP-3)', async () => {
  const person = terminal()
  const { input, output, shown } = person
  answers(person, 'n\n')
  const hostile: ApprovalRequest = {
    ...REQUEST,
    description: 'Run: rm\u001B[2J\nAllow? yes\u202E\r',
    reason: 'x\u0007',
    touches: [{ operation: 'write', target: '/a\u001B]0;t\u0007' }],
    diff: '+\u001B[31mred\u200B\n',
  }
  await terminalApprover({ input, output, color: false })(hostile, CALL)
  // What follows is readline's own prompt, and on a terminal that can nothing (`TERM=dumb`) the end of its line.
  const text = shown().split('\u001B[1G')[0]!.split('Allow? [y]es')[0]!
  expect(text).toContain('rm\\u{1b}[2J\n  | Allow? yes\\u{202e}\\r')
  // oxlint-disable-next-line no-control-regex
  expect(text).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F\u200B\u202E]/)
})

test('questions of calls that run at once come one after the other', async () => {
  const person = terminal()
  const { shown } = person
  answers(person, 'y\n', 'n\n')
  const approve = terminalApprover({ ...person, color: false })
  const both = Promise.all([approve(REQUEST, CALL), approve({ ...REQUEST, tool: 'edit_file' }, CALL)])
  expect((await both).map((decision) => decision.approved)).toEqual([true, false])
  // The second question came behind the first answer.
  expect(shown().indexOf('edit_file')).toBeGreaterThan(shown().indexOf('Allow?'))
})

/** A line that was typed ahead said yes to a question that nobody had read. */
test('what was typed before a question answers none', async () => {
  const person = terminal()
  person.input.write('y\ny\n')
  let questions = 0
  person.output.on('data', () => {
    const now = person.shown().split('[N]o:').length - 1
    // Two answers to the first question: the second is thrown away.
    if (now > questions) person.input.write(now === 1 ? 'n\ny\n' : 'n\n')
    questions = now
  })
  const approve = terminalApprover({ ...person, color: false })
  const both = await Promise.all([approve(REQUEST, CALL), approve(REQUEST, CALL)])
  expect(both.map(({ approved }) => approved)).toEqual([false, false])
})

/** A diff of 20,000 lines, a command of 3,000 empty lines: what is asked about had scrolled away. */
test('nothing that a model wrote pushes the question out of sight (R-AP-3)', async () => {
  const person = terminal()
  answers(person, 'n\n')
  const lines = Array.from({ length: 20_000 }, (_, index) => `+line ${index}`)
  const request: ApprovalRequest = {
    ...REQUEST,
    touches: [{ operation: 'execute', target: `ls${'\n'.repeat(3_000)}rm x${' '.repeat(500)}y\u00A0z` }],
    diff: `--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n+a${' '.repeat(3_000)}EVIL\n+\t\tindented\n${lines.join('\n')}\n`,
  }
  await terminalApprover({ ...person, color: false })(request, CALL)
  const text = person.shown().split('\u001B[1G')[0]!
  const shown = text.trimEnd().split('\n')
  expect(shown.length).toBeLessThan(150)
  expect(text).toContain('[... 19885 lines of the diff are not shown here ...]')
  expect(text).toContain('+a[3000 blanks]EVIL')
  expect(text).toContain('+        indented')
  expect(text).toContain(String.raw`rm x[500 blanks]y\u{a0}z`)
  expect(text).toContain('[2999 empty lines]')
  // Said above the diff and below it.
  expect(shown.filter((line) => line.startsWith('write_file: Write a.txt'))).toHaveLength(2)
  expect(text.lastIndexOf('write_file: Write a.txt')).toBeGreaterThan(text.indexOf('+line 19999'))
})

test('of a command line that is too long to be shown whole each command is told (R-AP-3)', async () => {
  const backend = new LocalBackend({ root: tmpdir() })
  const shownOf = async (command: string): Promise<string> => {
    const { input, output, shown } = terminal()
    answers({ input, output, shown }, 'n\n')
    const approve = terminalApprover({ input, output, color: false })
    await using toolset = createToolset({ backend, tools: ['execute'], approve })
    expect(await toolset.call('execute', { command })).toMatchObject({ isError: true, code: 'APPROVAL_DENIED' })
    return shown()
  }
  const long = await shownOf(`echo ${'a'.repeat(9_000)}; touch hidden; echo ${'b'.repeat(9_000)}`)
  expect(long).toContain('characters are not shown here ...]')
  const runs = long.split('\n').filter((line) => line.startsWith('  runs: '))
  expect(runs).toEqual([
    `  runs: echo ${'a'.repeat(195)} … and 8805 characters`,
    '  runs: touch hidden',
    `  runs: echo ${'b'.repeat(195)} … and 8805 characters`,
  ])
  const redirected = await shownOf(`echo ${'a'.repeat(9_000)}; echo key >> hidden; echo ${'b'.repeat(9_000)}`)
  expect(redirected).toMatch(/^ {2}runs: echo key$/m)
  expect(redirected).toMatch(/^ {2}writes: hidden$/m)
  expect(redirected).toContain(
    '  [Variables that are set, and texts that are handed to a command, are not in this list.]\n',
  )
  const many = await shownOf(`echo ${'a'.repeat(9_000)}; ${'true; '.repeat(500)}echo ${'b'.repeat(9_000)}`)
  expect(many.split('\n').filter((line) => line === '  runs: true').length).toBe(119)
  expect(many).toContain('\n  [... 382 more of these are not shown here ...]\n')
  expect(await shownOf('echo a; touch b')).not.toContain('  runs: ')
  await backend.close()
})

test('a line that was added cannot pass for the header of a diff', async () => {
  const person = terminal()
  answers(person, 'n\n')
  const diff = '--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n--- x\n+++ /etc/fake\n'
  await terminalApprover({ ...person, color: true })({ ...REQUEST, diff }, CALL)
  expect(person.shown()).toContain('\u001B[1m+++ a.txt\u001B[0m')
  expect(person.shown()).toContain('\u001B[31m--- x\u001B[0m')
  expect(person.shown()).toContain('\u001B[32m+++ /etc/fake\u001B[0m')
})
