// The tools answer the same wherever the files are: on this machine, in a container by our program, and through a container's shell.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

import { type Backend, createToolset, DockerBackend, lineHash, LocalBackend, Sandbox, type ToolResult } from 'gloveport'
import { expect, onTestFinished, test } from 'vitest'

import { engine as started, PNG, project } from '../support.js'

if (!started) throw new Error('no engine: use `npm test -- docker`')
const engine = started

const PDF = Buffer.from('%PDF-1.4\n1 0 obj << /Type /Pages /Count 3 >> endobj\n')
const NOTEBOOK = JSON.stringify({
  nbformat: 4,
  metadata: {},
  cells: [{ cell_type: 'code', source: ['print(1)'], outputs: [{ output_type: 'stream', text: ['1\n'] }] }],
})

/** What is there before the first call. */
const FILES: Readonly<Record<string, Uint8Array>> = {
  'crlf.txt': Buffer.from('one\r\ntwo\r\nthree\r\n'),
  'mixed.txt': Buffer.from('one\r\ntwo\nlone\rcr\r\nno end'),
  'empty.txt': Buffer.from(''),
  'long.txt': Buffer.from(Array.from({ length: 2_500 }, (_, line) => `line ${line}\n`).join('')),
  'wide.txt': Buffer.from(`${'é'.repeat(5_000)}\nnext\n`),
  'mark.txt': Buffer.from('\uFEFFmarked\r\n'),
  'latin.txt': Buffer.from('caf\u00E9 na\u00EFve\n', 'latin1'),
  'utf16.txt': Buffer.from('\uFEFFsixteen\r\n', 'utf16le'),
  'binary.bin': Uint8Array.of(0, 255, 128, 10, 0),
  'image.png': PNG,
  'paper.pdf': PDF,
  'notes.ipynb': Buffer.from(NOTEBOOK),
  'src/deep/needle.ts': Buffer.from('const needle = 1\r\n// needle\r\n'),
  'src/.hidden': Buffer.from('needle\n'),
  '.gitignore': Buffer.from('out/\n'),
  'out/needle.js': Buffer.from('needle\n'),
}

const at = (path: string): string => `/workspace/${path}`
const read = (path: string, more: object = {}) => ['read_file', { path: at(path), ...more }] as const

/** One after the other: each sees what those before it did. */
const CALLS: readonly (readonly [tool: string, input: object])[] = [
  ...Object.keys(FILES).map((path) => read(path)),
  // Numbered windows, up to the end and past it.
  read('long.txt', { offset: 2_498 }),
  read('long.txt', { offset: 10, limit: 3 }),
  read('long.txt', { offset: 2_500 }),
  read('long.txt', { offset: 9_999 }),
  read('crlf.txt', { offset: 1, limit: 1 }),
  read('wide.txt', { column: 4_000, limit: 1 }),
  read('notes.ipynb', { raw: true }),
  ['read_file', { paths: [at('crlf.txt'), at('missing.txt'), at('empty.txt')] }],
  read('missing.txt'),
  read('src'),
  read('crlf.txt/below'),
  ['read_file', { path: '/workspace/../../etc' }],
  // Line ends and marks stay, whatever the edit is made of.
  ['edit_file', { path: at('crlf.txt'), old_string: 'one\ntwo', new_string: 'eins\nzwei' }],
  ['edit_file', { path: at('mixed.txt'), old_string: 'two', new_string: '2\n2' }],
  ['edit_file', { path: at('mark.txt'), old_string: 'marked', new_string: 'still' }],
  ['edit_file', { path: at('latin.txt'), old_string: 'na', new_string: 'nä' }],
  ['edit_file', { path: at('utf16.txt'), old_string: 'sixteen', new_string: '16' }],
  ['edit_file', { path: at('long.txt'), old_string: 'line 1', new_string: 'x' }],
  ['edit_file', { path: at('long.txt'), old_string: 'no such line', new_string: 'x' }],
  ['edit_file', { path: at('long.txt'), old_string: 'line 7\n', new_string: 'line 7\n' }],
  ['edit_file', { path: at('missing.txt'), old_string: 'a', new_string: 'b' }],
  ['edit_file', { path: at('binary.bin'), old_string: 'a', new_string: 'b' }],
  ['write_file', { path: at('made/deep/new.txt'), content: 'new\r\nlines' }],
  ['write_file', { path: at('src'), content: 'x' }],
  read('made/deep/new.txt'),
  ...['crlf.txt', 'mixed.txt', 'mark.txt', 'latin.txt', 'utf16.txt'].map((path) => read(path)),
  ['ls', { path: '/workspace' }],
  ['ls', { path: '/workspace', depth: 3, counts: true }],
  ['ls', { path: at('missing') }],
  ['find_files', { path: '/workspace', query: 'deep needle' }],
  ['grep', { path: '/workspace', pattern: 'needle$', output_mode: 'content' }],
  ['grep', { path: at('src/deep/needle.ts'), pattern: 'needle', output_mode: 'count' }],
  ['grep', { path: '/workspace', pattern: '[unclosed' }],
  ['glob', { path: at('src'), pattern: '**/*.ts' }],
  ['mkdir', { path: at('made/other') }],
  ['copy_file', { source: at('crlf.txt'), destination: at('made/copy.txt') }],
  ['move_file', { source: at('made/copy.txt'), destination: at('made/other/moved.txt') }],
  ['copy_file', { source: at('crlf.txt'), destination: at('mark.txt') }],
  read('made/other/moved.txt'),
  ['delete_file', { path: at('made') }],
  ['delete_file', { path: at('made'), recursive: true }],
  ['ls', { path: at('made') }],
]

/** The same with lines by their tags: the tag of a line with its carriage return is that of the line without. */
const TAGGED: readonly (readonly [tool: string, input: object])[] = [
  read('crlf.txt'),
  read('mixed.txt', { offset: 1, limit: 2 }),
  ['hashline_edit', { path: at('crlf.txt'), start_line: 2, start_hash: lineHash('two\r'), new_content: 'zwei' }],
  ['hashline_edit', { path: at('crlf.txt'), start_line: 2, start_hash: lineHash('two\r'), new_content: 'zwei' }],
  ['hashline_edit', { path: at('crlf.txt'), start_line: 9, start_hash: 'ab', new_content: 'x' }],
  read('crlf.txt'),
]

/** What each says, without the times at which files were changed. */
const told = ({ text, isError, code, data, parts, truncated }: ToolResult): unknown => {
  const stays = (name: string, value: unknown): unknown => (name.startsWith('modified') ? undefined : value)
  return JSON.parse(JSON.stringify({ text, isError, code, data, parts, truncated }, stays))
}

/** Of an error its code and where it came up; all of everything else. */
const codeOfError = (said: unknown): unknown => {
  const { isError, tool, input, code } = said as Record<string, unknown>
  return isError === true ? { tool, input, code } : said
}

async function answers(backend: Backend): Promise<readonly unknown[]> {
  for (const [path, content] of Object.entries(FILES)) await backend.write(at(path), content)
  const said: unknown[] = []
  for (const [calls, editFormat] of [
    [TAGGED, 'hashline'],
    [CALLS, 'str_replace'],
  ] as const) {
    const toolset = createToolset({ backend, tools: ['files'], editFormat, permissions: 'permissive' })
    for (const [tool, input] of calls) {
      said.push({ tool, input, ...(told(await toolset.call(tool, input)) as object) })
    }
    await toolset.close()
  }
  // And the bytes that are there in the end.
  for (const path of ['crlf.txt', 'mixed.txt', 'mark.txt', 'latin.txt', 'utf16.txt']) {
    said.push({ path, bytes: Buffer.from(await backend.readBytes(at(path))).toString('hex') })
  }
  return said
}

test('reads, line ends, tags and searches are the same on this machine, in a container, and through its shell', async () => {
  const root = await project({ 'work/.keep': '' })
  const mounts = [{ hostPath: join(root, 'work'), mountPoint: '/workspace', mode: 'rw', writeApproval: false }] as const
  const local = new LocalBackend({ sandbox: new Sandbox({ mounts }) })
  onTestFinished(() => local.close())
  await local.remove('/workspace/.keep')
  const expected = await answers(local)
  expect(expected).toHaveLength(CALLS.length + TAGGED.length + 5)

  const inside = new DockerBackend(engine)
  onTestFinished(() => inside.close())
  expect(await answers(inside)).toEqual(expected)

  const docker = (...args: string[]) => execFileSync('docker', ['--host', engine.host, ...args], { encoding: 'utf8' })
  const noexec = ['--read-only', '--tmpfs=/tmp:noexec', '--tmpfs=/workspace:noexec']
  const container = docker('run', '--detach', '--rm', '--network=none', ...noexec, engine.image, 'sleep', '1000').trim()
  onTestFinished(() => void docker('kill', container))
  const byShell = new DockerBackend({ host: engine.host, container })
  onTestFinished(() => byShell.close())
  // Why something cannot be is said in words of its own there, by the same code.
  expect((await answers(byShell)).map(codeOfError)).toEqual(expected.map(codeOfError))
}, 240_000)
