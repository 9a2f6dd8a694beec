// What the systems that gloveport follows ask of rules, commands, approvals and hooks, by the number of the requirement; what
// other suites hold by its number already is not repeated here.

import { symlink } from 'node:fs/promises'
import { join } from 'node:path'

import {
  analyzeCommand,
  type Action,
  type ApprovalRequest,
  ApprovalRequiredError,
  createRuleset,
  createToolset,
  defineTool,
  InvalidInputError,
  LocalBackend,
  type Operation,
  PermissionChecker,
  type PermissionRuleset,
  type PresetName,
  Sandbox,
  type Toolset,
  type ToolsetOptions,
} from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { project, rejection, toolsetOver } from './support.js'

const OPERATIONS: readonly Operation[] = ['read', 'write', 'edit', 'delete', 'execute', 'glob', 'grep', 'ls']

test('a rule before its section, the section before the ruleset, and without any of them `ask` (BE-70, BE-71, BE-72)', () => {
  const rules = [
    { pattern: '**/a', action: 'allow' },
    { pattern: '**/a', action: 'deny' },
    { pattern: '**', action: 'ask' },
  ] as const
  const answer = (ruleset: PermissionRuleset, operation: Operation, target: string): Action =>
    new PermissionChecker(ruleset).check(operation, target).action
  for (const [ruleset, operation, target, expected] of [
    [{ read: { rules } }, 'read', '/a', 'allow'],
    [{ read: { rules } }, 'read', '/b', 'ask'],
    [{ default: 'deny', read: { default: 'allow', rules: rules.slice(0, 2) } }, 'read', '/b', 'allow'],
    // A section without a default takes that of the ruleset: what is missing loosens nothing.
    [{ default: 'deny', read: { rules: rules.slice(0, 2) } }, 'read', '/b', 'deny'],
    [{ default: 'deny', read: { default: 'allow' } }, 'write', '/b', 'deny'],
    [{}, 'read', '/a', 'ask'],
    [{ default: 'allow' }, 'execute', 'ls', 'allow'],
  ] as const satisfies readonly [PermissionRuleset, Operation, string, Action][]) {
    expect(answer(ruleset, operation, target), JSON.stringify([ruleset, operation, target])).toBe(expected)
  }
  for (const wrong of [{ default: 'maybe' }, { reed: {} }, { read: { rules: [{ pattern: '*' }] } }])
    expect(() => new PermissionChecker(wrong as never)).toThrow(InvalidInputError)
})

test('patterns are anchored, know case and directories, and no braces (BE-73, D21)', () => {
  const matches = (pattern: string, target: string): boolean =>
    new PermissionChecker({ default: 'deny', read: { rules: [{ pattern, action: 'allow' }] } }).check('read', target)
      .action === 'allow'
  for (const [pattern, yes, no] of [
    ['**/a.txt', ['a.txt', '/a.txt', '/x/y/a.txt'], ['/x/ba.txt', '/a.txt/b']],
    ['/x/*', ['/x/a'], ['/x/a/b', '/y/a']],
    ['/x/**', ['/x/a', '/x/a/b'], ['/xa']],
    ['a?c', ['abc'], ['ac', 'a/c']],
    ['[!a]', ['b'], ['a', '/']],
    ['[^a]', ['b'], ['a', '/']],
    ['a[b', ['a[b'], ['ab']],
    ['{a,b}', ['{a,b}'], ['a']],
    ['A', ['A'], ['a']],
  ] as const) {
    for (const target of yes) expect(matches(pattern, target), `${pattern} ${target}`).toBe(true)
    for (const target of no) expect(matches(pattern, target), `${pattern} ${target}`).toBe(false)
  }
})

test('each preset answers for each operation, and denies secrets and disasters whatever it is (BE-74)', () => {
  const expected: Readonly<Record<PresetName, string>> = {
    default: 'allow ask ask ask ask allow allow allow',
    permissive: 'allow allow allow allow allow allow allow allow',
    readonly: 'allow deny deny deny deny allow allow allow',
    strict: 'ask ask ask ask ask ask ask ask',
  }
  for (const [preset, answers] of Object.entries(expected)) {
    const checker = new PermissionChecker(preset as PresetName)
    const target = (operation: Operation) => (operation === 'execute' ? 'ls' : '/work/a.txt')
    expect(OPERATIONS.map((operation) => checker.check(operation, target(operation)).action).join(' '), preset).toBe(
      answers,
    )
    for (const operation of ['read', 'write', 'edit'] as const)
      expect(checker.check(operation, '/work/.env').action, `${preset} ${operation}`).toBe('deny')
  }
  const permissive = new PermissionChecker('permissive')
  expect(permissive.check('write', '/etc/passwd').action).toBe('deny')
  expect(permissive.check('read', '/work/secretary.md').action).toBe('allow')
})

test('a ruleset of flags: true allows, false asks, and secrets and disasters are denied (BE-75)', () => {
  const answers = (options: Parameters<typeof createRuleset>[0]): string => {
    const checker = new PermissionChecker(createRuleset(options))
    const target = (operation: Operation) => (operation === 'execute' ? 'ls' : '/work/a.txt')
    return OPERATIONS.map((operation) => checker.check(operation, target(operation)).action).join(' ')
  }
  const action = (options: Parameters<typeof createRuleset>[0], operation: Operation, target: string): Action =>
    new PermissionChecker(createRuleset(options)).check(operation, target).action
  expect(answers({})).toBe('allow ask ask ask ask allow allow allow')
  expect(answers({ allowRead: false, allowGlob: false, allowGrep: false, allowLs: false })).toBe(
    'ask ask ask ask ask ask ask ask',
  )
  expect(answers({ allowWrite: true, allowEdit: true, allowExecute: true })).toBe(
    'allow allow allow allow allow allow allow allow',
  )
  expect(answers({ allowWrite: true, allowDelete: false })).toBe('allow allow ask ask ask allow allow allow')
  for (const operation of ['read', 'write', 'edit'] as const) {
    expect(action({ allowWrite: true, allowEdit: true }, operation, '/work/.env'), operation).toBe('deny')
    expect(action({ allowWrite: true, allowEdit: true, denySecrets: false }, operation, '/work/.env')).toBe('allow')
  }
  expect(action({ allowExecute: true }, 'execute', 'rm -rf /')).toBe('deny')
  expect(action({ allowExecute: true, denySecrets: false }, 'execute', 'rm -rf /')).toBe('deny')
})

test('without rules two flags say what asks; with rules the operation of each tool does (BE-103)', async () => {
  const inputs = {
    ls: {},
    read_file: { path: 'a.txt' },
    glob: { pattern: '*' },
    grep: { pattern: 'a' },
    write_file: { path: 'b.txt', content: '' },
    edit_file: { path: 'a.txt', old_string: 'a', new_string: 'b' },
    execute: { command: 'ls' },
    run_in_background: { command: 'ls' },
  }
  const asking = async (options: object): Promise<string[]> => {
    const toolset = await toolsetOver({ 'a.txt': 'a\n' }, { tools: ['console', 'background'], ...options })
    const asked: string[] = []
    for (const [tool, input] of Object.entries(inputs)) {
      if ((await toolset.assess(tool, input)).status === 'needs-approval') asked.push(tool)
    }
    return asked
  }
  expect(await asking({})).toEqual(['execute', 'run_in_background'])
  expect(await asking({ requireWriteApproval: true, requireExecuteApproval: false })).toEqual([
    'write_file',
    'edit_file',
  ])
  expect(await asking({ permissions: { default: 'allow', edit: { default: 'ask' } } })).toEqual(['edit_file'])
  expect(await asking({ permissions: 'strict' })).toEqual(Object.keys(inputs))
})

test('a mount asks for its reads and writes, and for listings that reach into it (AP-4)', async () => {
  const asks = await project({ 'a.txt': 'a\n' })
  const free = await project({ 'b.txt': 'b\n' })
  const sandbox = new Sandbox({
    mounts: [
      { mountPoint: '/asks', hostPath: asks, mode: 'rw', readApproval: true, writeApproval: true },
      { mountPoint: '/free', hostPath: free, mode: 'rw', readApproval: false, writeApproval: false },
    ],
  } as never)
  const backend = new LocalBackend({ sandbox })
  onTestFinished(() => backend.close())
  const toolset = await toolsetOver({}, { tools: ['console', 'files'], backend } as never)
  const status = async (tool: string, input: object) => (await toolset.assess(tool, input)).status
  expect(await status('read_file', { path: '/asks/a.txt' })).toBe('needs-approval')
  expect(await status('read_file', { path: '/free/b.txt' })).toBe('allowed')
  expect(await status('write_file', { path: '/asks/c.txt', content: '' })).toBe('needs-approval')
  expect(await status('write_file', { path: '/free/c.txt', content: '' })).toBe('allowed')
  expect(await status('delete_file', { path: '/asks/a.txt' })).toBe('needs-approval')
  expect(await status('move_file', { source: '/free/b.txt', destination: '/asks/b.txt' })).toBe('needs-approval')
  expect(await status('move_file', { source: '/asks/a.txt', destination: '/free/a.txt' })).toBe('needs-approval')
  expect(await status('copy_file', { source: '/asks/a.txt', destination: '/free/a.txt' })).toBe('needs-approval')
  expect(await status('ls', { path: '/free' })).toBe('allowed')
  expect(await status('ls', { path: '/asks' })).toBe('needs-approval')
  // What holds the mount shows its names with a depth, and its content in a search.
  expect(await status('ls', { path: '/' })).toBe('needs-approval')
  expect(await status('glob', { path: '/', pattern: '**' })).toBe('needs-approval')
  expect(await status('grep', { path: '/', pattern: 'a' })).toBe('needs-approval')
})

test('what must be asked about is seen by its name, and its content by nobody who was not asked (BE-78)', async () => {
  const requests: ApprovalRequest[] = []
  const toolset = await toolsetOver(
    { 'a.txt': 'x\n', 'drafts/b.txt': 'x\n', 'asked/c.txt': 'x\n', 'hidden/d.txt': 'x\n' },
    {
      permissions: {
        default: 'allow',
        read: { rules: [{ pattern: '**/drafts/**', action: 'ask' }] },
        ls: {
          rules: [
            { pattern: '**/hidden', action: 'deny' },
            { pattern: '**/asked', action: 'ask' },
          ],
        },
      },
      approve: (request) => {
        requests.push(request)
        return { approved: requests.length > 1 }
      },
    },
  )
  const text = async (tool: string, input: object) => (await toolset.call(tool, input)).text
  expect(await text('ls', { path: '.', depth: 2 })).toMatch(/drafts\/[^]*b\.txt/)
  expect(await text('ls', { path: '.', depth: 2 })).not.toContain('hidden')
  expect(await text('glob', { pattern: '**/*.txt' })).toContain('drafts/b.txt')
  const found = await toolset.call('grep', { pattern: 'x', output_mode: 'content' })
  expect(found.text).toContain('a.txt:1: x')
  expect(found.text).not.toContain('drafts/b.txt:1')
  expect(requests).toEqual([])
  expect(await toolset.call('read_file', { path: 'drafts/b.txt' })).toMatchObject({ code: 'APPROVAL_DENIED' })
  expect(await text('read_file', { path: 'drafts/b.txt' })).toContain('x')
  expect(await text('ls', { path: 'asked' })).toContain('c.txt')
  expect(requests.map(({ tool }) => tool)).toEqual(['read_file', 'read_file', 'ls'])
})

test('a rule about a directory gives nothing at what `..` leads to from there, and takes nothing less (D22b)', () => {
  const checker = new PermissionChecker({
    default: 'ask',
    read: {
      rules: [
        { pattern: '/workspace/secret/**', action: 'deny' },
        { pattern: '/workspace/**', action: 'allow' },
        { pattern: 'src/**', action: 'allow' },
      ],
    },
    execute: { rules: [{ pattern: 'cat /workspace/**', action: 'allow' }] },
  })
  for (const [target, action] of [
    ['/workspace/a', 'allow'],
    ['/workspace/../etc/passwd', 'ask'],
    ['/workspace/a/../../etc/passwd', 'ask'],
    ['/workspace/./a', 'allow'],
    ['/workspace//a', 'allow'],
    ['/workspace/../workspace/a', 'allow'],
    ['/workspace/x/../secret/a', 'deny'],
    ['/workspace/./secret//a', 'deny'],
    // As it is spelled, too: the stricter answer counts.
    ['/workspace/secret/../a', 'deny'],
    ['src/a', 'allow'],
    ['src/../b', 'ask'],
    ['../../src/a', 'ask'],
    ['/../../etc/passwd', 'ask'],
  ] as const) {
    expect(checker.check('read', target).action, target).toBe(action)
  }
  expect(checker.check('read', '/workspace/../etc/passwd').reason).toContain('/etc/passwd')
})

test('what cannot be asked about is blocked: a path that is missing, outside, or read-only (AP-3)', async () => {
  const sandbox = new Sandbox({
    mounts: [
      { mountPoint: '/ro', hostPath: await project({ 'a.txt': 'a\n' }), mode: 'ro' },
      { mountPoint: '/rw', hostPath: await project({ 'b.txt': 'b\n' }), mode: 'rw' },
    ],
  })
  const backend = new LocalBackend({ sandbox })
  onTestFinished(() => backend.close())
  const toolset = createToolset({ backend, tools: ['console', 'files'] })
  onTestFinished(() => toolset.close())
  for (const [tool, input, code, named] of [
    ['read_file', {}, 'INVALID_INPUT', 'path'],
    ['write_file', { content: '' }, 'INVALID_INPUT', 'path'],
    ['move_file', { source: '/rw/b.txt' }, 'INVALID_INPUT', 'destination'],
    ['read_file', { path: '/etc/passwd' }, 'PATH_NOT_IN_SANDBOX', '/etc/passwd'],
    ['write_file', { path: '/out/x', content: '' }, 'PATH_NOT_IN_SANDBOX', '/out/x'],
    ['write_file', { path: '/ro/a.txt', content: '' }, 'PATH_NOT_WRITABLE', '/ro/a.txt'],
    ['delete_file', { path: '/ro/a.txt' }, 'PATH_NOT_WRITABLE', '/ro/a.txt'],
    ['move_file', { source: '/ro/a.txt', destination: '/rw/a.txt' }, 'PATH_NOT_WRITABLE', '/ro/a.txt'],
    ['move_file', { source: '/rw/b.txt', destination: '/ro/b.txt' }, 'PATH_NOT_WRITABLE', '/ro/b.txt'],
    ['copy_file', { source: '/out/x', destination: '/rw/x' }, 'PATH_NOT_IN_SANDBOX', '/out/x'],
    ['copy_file', { source: '/rw/b.txt', destination: '/ro/b.txt' }, 'PATH_NOT_WRITABLE', '/ro/b.txt'],
  ] as const) {
    expect(await toolset.assess(tool, input), `${tool} ${JSON.stringify(input)}`).toMatchObject({
      status: 'blocked',
      code,
      reason: expect.stringContaining(named),
    })
  }
  // A listing without a path is one of the working directory.
  expect((await toolset.assess('ls', {})).status).toBe('allowed')
})

test('an assessment is one of three, with a reason where it is a no (AP-10, AP-11)', async () => {
  const toolset = await toolsetOver({ 'a.txt': 'a\n', '.env': 'K=1\n' }, { permissions: 'default' })
  const blocked = await toolset.assess('read_file', { path: '.env' })
  expect(blocked).toMatchObject({
    status: 'blocked',
    code: 'PERMISSION_DENIED',
    reason: expect.stringContaining('.env'),
  })
  expect(blocked).not.toHaveProperty('request')
  expect(await toolset.assess('read_file', {})).toMatchObject({ status: 'blocked', code: 'INVALID_INPUT' })
  expect(await toolset.assess('nothing', {})).toMatchObject({ status: 'blocked', code: 'UNKNOWN_TOOL' })
  const input = { path: 'b.txt', content: 'b\n' }
  const asked = await toolset.assess('write_file', input, { callId: 'c' })
  expect(asked).toMatchObject({
    status: 'needs-approval',
    request: { callId: 'c', tool: 'write_file', input, description: 'Write 2 characters to b.txt' },
  })
  expect((await toolset.assess('read_file', { path: 'a.txt' })).status).toBe('allowed')
})

test('a tool of the application that says nothing of itself asks (AP-12)', async () => {
  const options = { name: 'own', description: 'Does.', inputSchema: { properties: { a: {} } }, run: () => 'done' }
  const toolset = await toolsetOver({}, { tools: [defineTool(options)] })
  const error = await rejection(toolset.call('own', { a: 1 }))
  expect(error).toBeInstanceOf(ApprovalRequiredError)
  expect(error).toMatchObject({ details: { description: expect.stringContaining('own') } })
})

test('two tools of one name are an error, whoever brings them (TS-2)', async () => {
  const own = (name: string) => defineTool({ name, description: 'D.', inputSchema: { properties: {} }, run: () => '' })
  await expect(toolsetOver({}, { tools: [own('x'), own('x')] })).rejects.toThrow("Duplicate tool name: 'x'")
  await expect(toolsetOver({}, { tools: ['ls', own('ls')] })).rejects.toThrow(InvalidInputError)
})

test('hooks see a call before it is judged, since they may change its input; nothing runs without a yes (TS-7)', async () => {
  const seen: string[] = []
  const toolset = await toolsetOver(
    {},
    {
      requireWriteApproval: true,
      hooks: {
        pre: () => void seen.push('pre'),
        post: ({ error }) => void seen.push((error as { code?: string }).code ?? ''),
      },
    },
  )
  expect(await rejection(toolset.call('write_file', { path: 'a', content: '' }))).toBeInstanceOf(ApprovalRequiredError)
  expect(seen).toEqual(['pre', 'APPROVAL_REQUIRED'])
  expect((await toolset.call('read_file', { path: 'a' })).code).toBe('FILE_NOT_FOUND')
})

test('a command must say something, and what is quoted is data (TT-20, TT-22, D51)', async () => {
  const toolset = await toolsetOver({}, { requireExecuteApproval: false })
  for (const command of ['', '  ', '\n\t'])
    expect(await toolset.call('execute', { command })).toMatchObject({ code: 'INVALID_INPUT' })
  for (const command of ['echo "sudo rm -rf /"', "echo 'a; sudo ls'", 'echo sudo', 'echo \\; sudo'])
    expect((await toolset.assess('execute', { command })).status, command).toBe('allowed')
})

test('`cd` stays inside, however it is spelled (TT-24)', async () => {
  const toolset = await toolsetOver({ 'd/a.txt': '' }, { requireExecuteApproval: false })
  const status = async (command: string) => (await toolset.assess('execute', { command })).status
  for (const command of ['cd d && ls', 'cd ./d/..', 'cd "d"', 'cd -- d', 'cd d && cd ..'])
    expect(await status(command), command).toBe('allowed')
  for (const command of [
    'cd ..',
    'cd /',
    'cd ~',
    'cd',
    'pushd ..',
    'chdir ..',
    'cd d/../..',
    "bash -c 'cd ..'",
    'cd d && cd ../..',
  ])
    expect(await status(command), command).toBe('blocked')
  for (const command of ['cd -', 'cd "$X"', 'cd `pwd`', 'cd $(pwd)'])
    expect(await status(command), command).not.toBe('allowed')
})

test('an application can judge commands itself, and then nothing of ours does (TT-25)', async () => {
  const toolset = await toolsetOver({}, { allowCommand: () => 'allow' })
  for (const command of ['sudo ls', 'cd /', '$X'])
    expect((await toolset.assess('execute', { command })).status, command).toBe('allowed')
})

/** A toolset that allows everything, over a folder in which `out` leads to `/etc`. */
async function withLinkOut(options: Omit<ToolsetOptions, 'backend'>): Promise<Toolset> {
  const root = await project()
  await symlink('/etc', join(root, 'out'))
  const toolset = createToolset({ backend: new LocalBackend({ root }), permissions: { default: 'allow' }, ...options })
  onTestFinished(() => toolset.close())
  return toolset
}

test('a strict toolset stays strict whatever the application judges, and it can still take away', async () => {
  const status = async (judgement: Action, command: string) => {
    const toolset = await withLinkOut({ approvalMode: 'strict', allowCommand: () => judgement })
    return (await toolset.assess('execute', { command })).status
  }
  for (const command of ['sudo ls', 'cd /', 'cd out', '$X', 'eval "$s"'])
    expect(await status('allow', command), command).toBe('blocked')
  expect(await status('allow', 'ls')).toBe('allowed')
  for (const judgement of ['ask', 'deny'] as const) expect(await status(judgement, 'ls'), judgement).toBe('blocked')
})

test.each<[string, () => Action]>([
  [
    'throws',
    () => {
      throw new Error('mine')
    },
  ],
  ['answers nonsense', () => 'perhaps' as Action],
  ['answers nothing', () => undefined as unknown as Action],
])('an application whose judgement %s denies', async (_, allowCommand) => {
  const toolset = await toolsetOver({}, { allowCommand })
  expect(await toolset.assess('execute', { command: 'ls' })).toMatchObject({ status: 'blocked' })
  expect(await toolset.call('execute', { command: 'ls' })).toMatchObject({
    isError: true,
    code: 'COMMAND_BLOCKED',
    text: expect.stringContaining("the application's policy failed"),
  })
})

test('who leads a command out of its directories reads what would work (TT-24)', async () => {
  const toolset = await withLinkOut({})
  for (const command of ['cd /etc', 'pushd ..', 'cd out'])
    expect(await toolset.call('execute', { command }), command).toMatchObject({
      code: 'COMMAND_BLOCKED',
      text: expect.stringContaining('copy what you need into them instead'),
    })
})

test('an application that judges is shown what a program with other rights starts (TT-25)', async () => {
  const seen: (readonly (readonly (string | null)[])[])[] = []
  const toolset = await toolsetOver(
    {},
    {
      allowCommand: ({ commands }) => {
        seen.push(commands.map(({ argv }) => argv))
        return 'deny'
      },
    },
  )
  expect((await toolset.assess('execute', { command: 'doas rm -rf /' })).status).toBe('blocked')
  expect(seen).toEqual([
    [
      ['doas', 'rm', '-rf', '/'],
      ['rm', '-rf', '/'],
    ],
  ])
})

test('a list of commands holds for every command, and an empty one for all (D52, D53, R-CMD-2)', () => {
  const verdict = (command: string, allowedCommands: string[]) =>
    analyzeCommand(command, { workingDirectory: '/w', roots: ['/w'], allowedCommands }).verdict.action
  for (const command of ['ls & rm', 'ls\nrm x', 'ls $(rm x)', 'ls; rm x', './x.sh', '7z x', '$X', '"$X" -la', './l*'])
    expect(verdict(command, ['ls', 'rm -i']), command).toBe('deny')
  for (const command of ['ls', "'ls' -la", 'l""s']) expect(verdict(command, ['ls']), command).toBe('allow')
  expect(verdict('ls', [])).toBe('deny')
})
