import { chmod, symlink } from 'node:fs/promises'
import { join } from 'node:path'

import {
  analyzeCommand,
  CompositeBackend,
  createRuleset,
  createToolset,
  GuardedBackend,
  InvalidInputError,
  LocalBackend,
  PermissionChecker,
  PermissionDeniedError,
  presets,
} from 'gloveport'
import { describe, expect, onTestFinished, test } from 'vitest'

import { project } from './support.js'

function verdicts(commands: readonly string[]): string[] {
  const context = { workingDirectory: '/p', home: '/home/a', roots: ['/p'] }
  return commands.map((command) => analyzeCommand(command, context).verdict.action)
}

describe('rulesets', () => {
  test('presets deny secrets by name and nothing that only sounds like one', () => {
    const checker = new PermissionChecker('default')
    for (const [target, action] of [
      ['/p/.env', 'deny'],
      ['/p/.ENV', 'deny'],
      ['/p/.env.example', 'allow'],
      ['/home/a/.ssh/id_rsa', 'deny'],
      ['/p/secretary.md', 'allow'],
      ['/p/src/index.ts', 'allow'],
    ] as const) {
      expect(checker.check('read', target), target).toMatchObject({ action })
    }
    expect(checker.check('write', '/p/a')).toMatchObject({ action: 'ask' })
    expect(new PermissionChecker('readonly').check('edit', '/p/a')).toMatchObject({ action: 'deny' })
    expect(Object.keys(presets)).toEqual(['default', 'permissive', 'readonly', 'strict'])
  })

  test('the first rule that matches decides, and the verdict names it', () => {
    const checker = new PermissionChecker({
      default: 'deny',
      read: {
        default: 'ask',
        rules: [
          { pattern: '/p/src/**', action: 'allow', description: 'the sources', match: ['/p/src/a.ts'] },
          { pattern: '/p/**', action: 'deny' },
        ],
      },
    })
    expect(checker.check('read', '/p/src/a.ts')).toMatchObject({
      action: 'allow',
      rule: { operation: 'read', pattern: '/p/src/**', description: 'the sources', index: 0 },
    })
    expect(checker.check('read', '/p/b')).toMatchObject({ action: 'deny', rule: { index: 1 } })
    expect(checker.check('read', '/q').action).toBe('ask')
    expect(checker.check('write', '/q').action).toBe('deny')
  })

  test('says what is wrong with a ruleset when it is made', async () => {
    const rule = { pattern: '/a/*', action: 'allow', match: ['/b'] } as const
    expect(() => new PermissionChecker({ read: { rules: [rule] } })).toThrow(/\/a\/\*/)
    expect(() => new PermissionChecker({ raed: {} } as object)).toThrow(InvalidInputError)
    expect(() => new PermissionChecker('lax' as 'strict')).toThrow(/default, permissive, readonly, strict/)
    expect(() => new PermissionChecker('strict').check('fly' as 'read', '/')).toThrow(/read, write, edit/)
    expect(() => Object.assign(presets.default, { default: 'allow' })).toThrow(TypeError)
  })

  test('require goes on only where a rule allows it or somebody says yes (BE-76, BE-77)', async () => {
    const rules = {
      read: { default: 'allow' },
      write: { default: 'ask', rules: [{ pattern: '/secret', action: 'deny', description: 'Not yours' }] },
    } as const
    const asked: unknown[] = []
    let answer: unknown = true
    const checker = new PermissionChecker(rules, {
      ask: async (...question) => {
        asked.push(question)
        if (answer instanceof Error) throw answer
        return answer as boolean
      },
    })
    expect(await checker.require('read', '/a')).toMatchObject({ action: 'allow' })
    expect(asked).toEqual([])
    expect(await checker.require('write', '/a', 'to fix the test')).toMatchObject({ action: 'ask' })
    expect(asked).toEqual([['write', '/a', 'to fix the test']])
    const refusal = (target: string, of = checker): Promise<unknown> =>
      of.require('write', target).then(
        () => undefined,
        (error: unknown) => error,
      )
    const denied = await refusal('/secret')
    expect(denied).toBeInstanceOf(PermissionDeniedError)
    expect(denied).toMatchObject({ code: 'PERMISSION_DENIED', operation: 'write', target: '/secret' })
    expect(denied).toMatchObject({
      details: { rule: { pattern: '/secret' } },
      message: expect.stringMatching(/Not yours\.$/),
    })
    // Anything but a plain yes is a no.
    for (answer of [false, undefined, 'yes', 1, new Error('no line')]) {
      expect(await refusal('/a'), String(answer)).toMatchObject({ name: 'PermissionDeniedError', target: '/a' })
    }
    expect(await refusal('/a')).toMatchObject({ cause: { message: 'no line' } })
    expect(await refusal('/a', new PermissionChecker(rules))).toMatchObject({
      name: 'ApprovalRequiredError',
      operation: 'write',
      target: '/a',
    })
    const strict = new PermissionChecker(rules, { withoutAsk: 'deny' })
    expect(await refusal('/a', strict)).toMatchObject({ name: 'PermissionDeniedError', operation: 'write' })
    await expect(checker.require('fly' as 'read', '/')).rejects.toThrow(InvalidInputError)
    expect(() => new PermissionChecker(rules, { withoutAsk: 'allow' as 'deny' })).toThrow(InvalidInputError)
    expect(() => new PermissionChecker(rules, { ask: 1 as never })).toThrow(InvalidInputError)
  })

  test('a refusal says once what was refused, in words of the rule (BE-77)', async () => {
    const backend = new LocalBackend({ root: await project({ '.env': 'KEY=1' }) })
    onTestFinished(() => backend.close())
    const toolset = createToolset({ backend, permissions: 'default' })
    const { text, code } = await toolset.call('read_file', { path: '.env' })
    expect(code).toBe('PERMISSION_DENIED')
    expect(text).not.toMatch(/\.\.|\(\?i\)/)
    const command = await toolset.call('execute', { command: 'sudo ls' })
    expect(command.text).toContain("The command is blocked: 'sudo' takes another user's rights.")
    expect(command.text.match(/blocked/g)).toHaveLength(1)
    await expect(toolset.call('write_file', { path: 'a', content: '' })).rejects.toMatchObject({
      name: 'ApprovalRequiredError',
      operation: 'write',
      target: expect.stringMatching(/\/a$/),
    })
  })

  test('createRuleset turns answers into rules that a toolset takes', async () => {
    const ruleset = createRuleset({ allowWrite: true, allowExecute: false })
    expect(new PermissionChecker(ruleset).check('write', '/p/a').action).toBe('allow')
    expect(new PermissionChecker(ruleset).check('write', '/p/.env').action).toBe('deny')
    const backend = new LocalBackend({ root: await project({ 'a.txt': 'x' }) })
    const toolset = createToolset({ backend, permissions: ruleset })
    onTestFinished(() => backend.close())
    expect((await toolset.call('write_file', { path: 'b.txt', content: 'y' })).isError).toBe(false)
    expect((await toolset.call('write_file', { path: '.env', content: 'y' })).code).toBe('PERMISSION_DENIED')
    expect((await toolset.assess('execute', { command: 'echo hi' })).status).toBe('needs-approval')
  })
})

describe('commands', () => {
  test('analyzeCommand shows what runs, what is read and written, and what cannot be known', () => {
    expect(analyzeCommand('cat a.txt | tee out.txt && $RUN')).toMatchObject({
      parsed: true,
      commands: [{ argv: ['cat', 'a.txt'] }, { argv: ['tee', 'out.txt'] }, { argv: [null] }],
      reads: ['a.txt'],
      writes: ['out.txt'],
      verdict: { action: 'ask' },
    })
    expect(analyzeCommand('git status', { allowedCommands: ['git status'] }).verdict.action).toBe('allow')
    expect(analyzeCommand('git push', { allowedCommands: ['git status'] }).verdict.action).toBe('deny')
    expect(analyzeCommand('echo a!e', { continues: true }).verdict.action).toBe('ask')
    expect(analyzeCommand('echo a!e', { continues: true, expandsHistory: false }).verdict.action).toBe('allow')
    expect(() => analyzeCommand(1 as unknown as string)).toThrow(InvalidInputError)
  })

  test('a listed program is looked for on PATH, never in the workspace (R-CMD-3)', async () => {
    const root = await project({ ls: '#!/bin/sh\necho planted\n', 'bin/ls': '#!/bin/sh\necho planted\n' })
    for (const file of ['ls', 'bin/ls']) await chmod(join(root, file), 0o755)
    const backend = new LocalBackend({ root })
    onTestFinished(() => backend.close())
    const toolset = createToolset({ backend, allowedCommands: ['ls'], requireExecuteApproval: false })
    const listed = await toolset.call('execute', { command: 'ls' })
    expect(listed).toMatchObject({ isError: false, text: expect.stringContaining('bin') })
    expect(listed.text).not.toContain('planted')
    for (const command of ['./ls', 'bin/ls', join(root, 'ls'), 'PATH=.:$PATH ls', 'env PATH=. ls', 'command ls']) {
      expect(await toolset.call('execute', { command }), command).toMatchObject({ code: 'COMMAND_BLOCKED' })
    }
  })

  test('a program that the agent planted does not run, though the host was started in the workspace (R-CMD-3)', async () => {
    const planted = '#!/bin/sh\necho planted\n'
    const root = await project({ 'node_modules/.bin/ls': planted, ls: planted })
    for (const file of ['node_modules/.bin/ls', 'ls']) await chmod(join(root, file), 0o755)
    const outside = await project()
    await symlink(root, join(outside, 'link'))
    const path = process.env['PATH']
    onTestFinished(() => void (process.env['PATH'] = path))
    // As `npm start` and `npx` leave it, by a link, as it stands, and as a sloppy profile does.
    for (const first of [join(root, 'node_modules/.bin'), join(outside, 'link'), root, '.', '']) {
      process.env['PATH'] = `${first}:${path}`
      const backend = new LocalBackend({ root })
      process.env['PATH'] = path
      onTestFinished(() => backend.close())
      const toolset = createToolset({ backend, allowedCommands: ['ls'], requireExecuteApproval: false })
      onTestFinished(() => toolset.close())
      const listed = await toolset.call('execute', { command: 'ls' })
      expect(listed, first).toMatchObject({ isError: false, text: expect.stringContaining('node_modules') })
      expect(listed.text, first).not.toContain('planted')
    }
  })

  test('a PATH of the application is its own, and no list of commands stands on one that the agent can write (R-CMD-3)', async () => {
    const root = await project({ 'tools/own': '#!/bin/sh\necho own\n' })
    await chmod(join(root, 'tools/own'), 0o755)
    const over = (PATH: string, more: object = {}): LocalBackend => {
      const backend = new LocalBackend({ root, env: { PATH }, ...more })
      onTestFinished(() => backend.close())
      return backend
    }
    const own = over(`${root}/tools:/usr/bin:/bin`)
    expect((await own.execute('own')).stdout).toBe('own\n')
    for (const PATH of [`${root}/tools:/bin`, 'tools:/bin', '/bin:'])
      for (const make of [
        () => createToolset({ backend: over(PATH), allowedCommands: ['own'] }),
        () => createToolset({ backend: new CompositeBackend({ default: over(PATH) }), allowedCommands: [] }),
        () => new GuardedBackend(over(PATH), { permissions: 'default', allowedCommands: ['own'] }),
      ])
        expect(make, PATH).toThrow(/allowedCommands.*PATH/)
    // Where nothing can be written nothing can be planted, and what is outside is the host's.
    for (const backend of [over(`${root}/tools:/bin`, { mode: 'ro' }), over('/usr/bin:/bin')])
      await createToolset({ backend, allowedCommands: ['own'] }).close()
    await createToolset({ backend: own }).close()
  })

  test('what is dangerous is denied in any spelling, and harmless look-alikes are not', () => {
    const denied = [
      'rm -rf /',
      "r''m -fr /*",
      'sudo id',
      'env sudo id',
      'sh -c "rm -rf ~"',
      'dd if=x of=/dev/sda',
      'mkfs.ext4 /dev/sda',
    ]
    const allowed = ['echo "sudo"', "grep -r 'rm -rf /' docs", 'rm -rf ./node_modules', 'git rm a', 'man mkfs']
    expect(verdicts(denied)).toEqual(denied.map(() => 'deny'))
    expect(verdicts(allowed)).toEqual(allowed.map(() => 'allow'))
  })
})
