import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import {
  createToolset,
  FileTooLargeError,
  InvalidInputError,
  LocalBackend,
  type Mount,
  PathNotInSandboxError,
  PathNotWritableError,
  Sandbox,
  SandboxError,
  SuffixNotAllowedError,
  type Toolset,
  type ToolsetOptions,
} from 'gloveport'
import { describe, expect, onTestFinished, test } from 'vitest'

import { project, rejection } from './support.js'

/** `/docs` read-only with its own rules, `/out` writable, and a nested mount with stricter ones. */
async function world(more: Partial<Mount> = {}): Promise<{ host: string; sandbox: Sandbox }> {
  const host = await project({
    'docs/guide.md': '# Guide\n',
    'docs/key.pem': 'secret\n',
    'out/kept.txt': 'one\ntwo\n',
    'out/private/shadowed.txt': 'never seen\n',
    'vault/real.txt': 'guarded\n',
    'elsewhere/outside.txt': 'outside\n',
  })
  const sandbox = new Sandbox(
    {
      mounts: [
        { hostPath: 'docs', mountPoint: '/docs', suffixes: ['.md'] },
        { hostPath: 'out', mountPoint: '/out', mode: 'rw', writeApproval: false, maxFileBytes: 1000, ...more },
        { hostPath: 'vault', mountPoint: '/out/private', readApproval: true },
      ],
    },
    { basePath: host },
  )
  return { host, sandbox }
}

function toolsetOver(
  sandbox: Sandbox,
  options: Omit<ToolsetOptions, 'backend'> = {},
): { backend: LocalBackend; toolset: Toolset } {
  const backend = new LocalBackend({ sandbox })
  const toolset = createToolset({ backend, tools: ['files'], ...options })
  onTestFinished(async () => {
    await toolset.close()
    await backend.close()
  })
  return { backend, toolset }
}

function thrown(run: () => unknown): Error {
  try {
    run()
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was thrown')
}

describe('Sandbox', () => {
  test('judges paths by its mounts alone, the most specific first', async () => {
    const { host, sandbox } = await world()
    const facts = (path: string): boolean[] => [
      sandbox.canRead(path),
      sandbox.canWrite(path),
      sandbox.needsReadApproval(path),
      sandbox.needsWriteApproval(path),
    ]
    expect(facts('/docs/guide.md')).toEqual([true, false, false, false])
    expect(facts('/out/new.txt')).toEqual([true, true, false, false])
    expect(facts('/out/private/real.txt')).toEqual([true, false, true, false])
    expect(facts('/out/x/../private/real.txt')).toEqual([true, false, true, false])
    expect(facts('/etc/passwd')).toEqual([false, false, false, false])
    expect(facts('/outer')).toEqual([false, false, false, false])
    expect(sandbox.readableRoots).toEqual(['/out/private', '/docs', '/out'])
    expect(sandbox.writableRoots).toEqual(['/out'])
    expect(sandbox.resolve('/out/private/real.txt')).toBe(join(host, 'vault/real.txt'))
    expect(sandbox.getPathConfig('/out/a', 'write')).toMatchObject({
      mountPoint: '/out',
      hostPath: join(host, 'out/a'),
      mount: { mode: 'rw', maxFileBytes: 1000, readApproval: false },
    })
  })

  test('names in its errors what would be allowed', async () => {
    const { sandbox } = await world({ maxFileBytes: 3 })
    for (const [run, kind, says] of [
      [() => sandbox.resolve('/etc/passwd'), PathNotInSandboxError, '/docs'],
      [() => sandbox.getPathConfig('/docs/x.md', 'write'), PathNotWritableError, '/out'],
      [() => sandbox.checkSuffix('/docs/key.pem'), SuffixNotAllowedError, '.md'],
      [() => sandbox.checkSize('/out/kept.txt'), FileTooLargeError, '3'],
    ] as const) {
      const error = thrown(run)
      expect(error).toBeInstanceOf(kind)
      expect(error).toBeInstanceOf(SandboxError)
      expect(error.message).toContain(says)
    }
  })

  test('refuses a table that contradicts itself, and names both sides', async () => {
    const host = await project({ 'a/b/x': '' })
    const make =
      (...mounts: Mount[]) =>
      (): Sandbox =>
        new Sandbox({ mounts }, { basePath: host })
    expect(make()).toThrow(InvalidInputError)
    expect(make({ hostPath: 'a', mountPoint: '/m' }, { hostPath: 'c', mountPoint: '/m/' })).toThrow(/\/m/)
    expect(make({ hostPath: 'a', mountPoint: '/one' }, { hostPath: 'a/b', mountPoint: '/two' })).toThrow(
      /\/one.*\/two/s,
    )
    expect(make({ hostPath: 'a', mountPoint: 'm' })).toThrow(InvalidInputError)
    expect(make({ hostPath: 'a', mountPoint: '/m', mod: 'rw' } as Mount)).toThrow(/mod/)
    expect(() => new LocalBackend({ sandbox: {} as Sandbox })).toThrow(/must be a Sandbox/)
    const sandbox = make({ hostPath: 'a', mountPoint: '/m' })()
    expect(() => new LocalBackend({ sandbox, root: host })).toThrow(InvalidInputError)
  })

  test('derives only what it has itself', async () => {
    const { sandbox } = await world()
    const child = sandbox.derive({ allowWrite: '/out/sub' })
    const rights = [child.canWrite('/out/sub/x'), child.canWrite('/out/x'), child.canRead('/out/sub/x')]
    expect(rights).toEqual([true, false, true])
    expect(child.canRead('/docs/guide.md')).toBe(false)
    expect(child.readableRoots).toEqual(['/out/sub'])
    expect(sandbox.derive().readableRoots).toEqual([])
    expect(sandbox.derive({ inherit: true, readonly: true }).canWrite('/out/x')).toBe(false)
    expect(() => sandbox.derive({ allowWrite: ['/docs'] })).toThrow(PathNotWritableError)
    expect(() => child.derive({ allowRead: '/docs' })).toThrow(PathNotInSandboxError)
    const { backend } = toolsetOver(child)
    expect(await rejection(backend.read('/docs/guide.md'))).toBeInstanceOf(PathNotInSandboxError)
    await backend.write('/out/sub/deep/new.txt', 'x')
    expect(await rejection(backend.write('/out/new.txt', 'x'))).toBeInstanceOf(SandboxError)
  })
})

describe('a backend over a sandbox', () => {
  test('shows the mounts and nothing of the host', async () => {
    const { host, sandbox } = await world()
    const { backend } = toolsetOver(sandbox)
    expect((await backend.ls('/')).map((entry) => entry.path)).toEqual(['/docs', '/out'])
    expect((await backend.ls('/out')).map((entry) => entry.path)).toEqual(['/out/private', '/out/kept.txt'])
    const found = await backend.glob('**/*.txt', { path: '/', sort: 'path' })
    expect(found.files.map((file) => file.path)).toEqual(['/out/kept.txt', '/out/private/real.txt'])
    const { matches } = await backend.grep('never seen|guarded', { path: '/' })
    expect(matches.map((match) => match.path)).toEqual(['/out/private/real.txt'])
    const paths = [
      '/etc/passwd',
      '/docs/../../etc/passwd',
      '/docs/none.md',
      '/docs/key.pem',
      '/out/private/shadowed.txt',
    ]
    for (const path of paths) {
      const error = (await rejection(backend.read(path))) as Error
      expect(JSON.stringify([error.message, error]), path).not.toContain(host)
    }
  })

  test('follows links that stay inside and refuses those that leave', async () => {
    const { host, sandbox } = await world()
    await symlink('kept.txt', join(host, 'out/inner'))
    await symlink('../elsewhere/outside.txt', join(host, 'out/outer'))
    await symlink(join(host, 'out/kept.txt'), join(host, 'out/absolute'))
    await symlink('../vault/real.txt', join(host, 'out/other-mount'))
    const { backend } = toolsetOver(sandbox)
    expect((await backend.read('/out/inner')).content).toBe('one\ntwo\n')
    for (const name of ['outer', 'absolute', 'other-mount']) {
      expect(await rejection(backend.read(`/out/${name}`)), name).toBeInstanceOf(PathNotInSandboxError)
    }
  })

  test('holds the tools to modes, suffixes and sizes, on both sides of a move', async () => {
    const { host, sandbox } = await world()
    const { backend, toolset } = toolsetOver(sandbox)
    await writeFile(join(host, 'out/big.txt'), 'x'.repeat(2000))
    const code = async (tool: string, input: object): Promise<string> => (await toolset.call(tool, input)).code ?? 'OK'
    const guide = { source: '/docs/guide.md', destination: '/out/guide.md' }
    expect(await code('write_file', { path: '/docs/new.md', content: '' })).toBe('PATH_NOT_WRITABLE')
    expect(await code('write_file', { path: '/out/new.txt', content: 'x'.repeat(1001) })).toBe('FILE_TOO_LARGE')
    expect(await code('read_file', { path: '/docs/key.pem' })).toBe('SUFFIX_NOT_ALLOWED')
    expect(await code('read_file', { path: '/out/big.txt' })).toBe('FILE_TOO_LARGE')
    expect(await code('move_file', guide)).toBe('PATH_NOT_WRITABLE')
    expect(await code('copy_file', guide)).toBe('OK')
    expect(await code('copy_file', guide)).toBe('ALREADY_EXISTS')
    expect(await code('move_file', { source: '/out/guide.md', destination: '/out/sub/guide.md' })).toBe('OK')
    expect(await code('delete_file', { path: '/out/sub' })).toBe('DIRECTORY_NOT_EMPTY')
    expect(await code('delete_file', { path: '/out/sub', recursive: true })).toBe('OK')
    expect(await code('delete_file', { path: '/out', recursive: true })).not.toBe('OK')
    expect(await code('mkdir', { paths: ['/out/a/b', '/out/c'] })).toBe('OK')
    expect(await code('mkdir', { paths: ['/out/d', '/docs/d'] })).toBe('PATH_NOT_WRITABLE')
    const names = (await backend.ls('/out')).map((entry) => entry.name)
    expect(names).toEqual(['a', 'c', 'private', 'big.txt', 'kept.txt'])
  })

  test('asks where a mount asks, and assess says so', async () => {
    const { sandbox } = await world({ writeApproval: true })
    const asked: string[] = []
    const { toolset } = toolsetOver(sandbox, {
      approve: async (request) => {
        asked.push(request.description)
        return { approved: request.tool !== 'delete_file', reason: 'not that' }
      },
    })
    for (const [tool, input, status] of [
      ['read_file', { path: '/docs/guide.md' }, 'allowed'],
      ['read_file', { path: '/out/private/real.txt' }, 'needs-approval'],
      ['write_file', { path: '/out/new.txt', content: 'x' }, 'needs-approval'],
      ['write_file', { path: '/docs/new.md', content: 'x' }, 'blocked'],
      ['copy_file', { source: '/docs/guide.md', destination: '/out/g.md' }, 'needs-approval'],
      ['ls', { path: '/' }, 'needs-approval'],
      ['grep', { pattern: 'x', path: '/docs' }, 'allowed'],
    ] as const) {
      expect((await toolset.assess(tool, input)).status, JSON.stringify([tool, input])).toBe(status)
    }
    expect(asked).toEqual([])

    const ok = async (tool: string, input: object): Promise<string> => (await toolset.call(tool, input)).code ?? 'OK'
    expect(await ok('write_file', { path: '/out/new.txt', content: 'hello' })).toBe('OK')
    expect(await ok('move_file', { source: '/out/new.txt', destination: '/out/moved.txt' })).toBe('OK')
    expect(await ok('delete_file', { path: '/out/moved.txt' })).toBe('APPROVAL_DENIED')
    expect(asked).toEqual([
      'Write 5 characters to /out/new.txt',
      'Move /out/new.txt to /out/moved.txt',
      'Delete /out/moved.txt',
    ])
  })

  test('refuses commands and says why, unless the application does without walls', async () => {
    const { sandbox } = await world()
    const { toolset } = toolsetOver(sandbox, { tools: ['console'] })
    expect(toolset.tools.map((tool) => tool.name)).not.toContain('execute')
    const backend = new LocalBackend({ sandbox })
    expect(() => createToolset({ backend, tools: ['execute'] })).toThrow(/confinement: 'none'/)
    expect(await rejection(backend.execute('true'))).toMatchObject({ code: 'UNSUPPORTED' })
    const open = new LocalBackend({ sandbox, confinement: 'none' })
    expect(await open.execute('cat kept.txt', { cwd: '/out' })).toMatchObject({ exitCode: 0, stdout: 'one\ntwo\n' })
    expect(await rejection(open.execute('pwd'))).toMatchObject({
      code: 'PATH_NOT_IN_SANDBOX',
      message: expect.stringMatching(
        /^A command has no directory to begin in: '\/' lies in no mount\. Give `cwd`, in one of these: .*\/out/,
      ),
    })
    await Promise.all([backend.close(), open.close()])
  })

  test('makes missing host directories, but only for a table that holds', async () => {
    const host = await project()
    await mkdir(join(host, 'a'))
    const twice = [
      { hostPath: 'new', mountPoint: '/x' },
      { hostPath: 'b', mountPoint: '/x' },
    ]
    expect(() => new Sandbox({ mounts: twice }, { basePath: host })).toThrow(InvalidInputError)
    expect(await rejection(readFile(join(host, 'new')))).toMatchObject({ code: 'ENOENT' })
    const sandbox = new Sandbox({ mounts: [{ hostPath: 'new', mountPoint: '/x', mode: 'rw' }] }, { basePath: host })
    await new LocalBackend({ sandbox }).write('/x/file.txt', 'made')
    expect(await readFile(join(host, 'new/file.txt'), 'utf8')).toBe('made')
  })
})
