// The cases of the contract: what is done, and what every backend answers. The core's own suite holds the same table for
// backends that have no JavaScript (`crates/core/tests/contract`).

import type { CompositeBackend, FileInfo, GlobOptions, GrepOptions, Toolset, ToolsetOptions } from '../../index.js'

/** What a step works with. */
export interface Stage {
  readonly backend: CompositeBackend
  /** A path of the case as the backend knows it. */
  readonly at: (path: string) => string
  readonly toolset: (options?: Omit<ToolsetOptions, 'backend'>) => Toolset
}

/** What a step does in words, what it does, and the answer as a line of text. */
export type Step = readonly [words: string, act: (stage: Stage) => Promise<string>, expected: string]

export interface Case {
  readonly name: string
  readonly steps: readonly Step[]
}

type Act = readonly [words: string, act: (stage: Stage) => Promise<string>]

/** Text whose characters are bytes. */
const bytes = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0))

const shown = (content: Uint8Array): string =>
  Array.from(content, (byte) => {
    if (byte === 10) return '\\n'
    if (byte === 13) return '\\r'
    return byte >= 32 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`
  }).join('')

const entry = ({ path, type, size }: FileInfo): string => (type === 'file' ? `${path}:${size}` : `${path}/`)

const write = (path: string, content: string | Uint8Array): Act => [
  `write ${path}`,
  async ({ backend, at }) => {
    const written = await backend.write(at(path), content)
    return `${written.created ? 'created' : 'replaced'} ${written.bytes}`
  },
]
const append = (path: string, content: string | Uint8Array): Act => [
  `append to ${path}`,
  async ({ backend, at }) => {
    const written = await backend.append(at(path), content)
    return `${written.created ? 'created' : 'appended'} ${written.bytes}`
  },
]
const edit = (path: string, oldString: string, newString: string, replaceAll = false): Act => [
  `edit ${path}: ${oldString} → ${newString}`,
  async ({ backend, at }) => {
    const edited = await backend.edit(at(path), { oldString, newString, replaceAll })
    return `edited ${edited.replacements}`
  },
]
const read = (path: string, options?: { offset?: number; limit?: number }): Act => [
  `read ${path} ${options ? JSON.stringify(options) : ''}`,
  async ({ backend, at }) => {
    const { content, lines, totalLines, bytes: size, nextOffset, truncated } = await backend.read(at(path), options)
    const next = nextOffset === undefined ? '' : `, next ${nextOffset}`
    return `${JSON.stringify(content)} ${lines} of ${totalLines}, ${size} bytes${next}${truncated ? ', truncated' : ''}`
  },
]
const readBytes = (path: string): Act => [
  `bytes of ${path}`,
  async ({ backend, at }) => shown(await backend.readBytes(at(path))),
]
const readStream = (path: string, options?: { offset?: number; length?: number }): Act => [
  `stream of ${path} ${options ? JSON.stringify(options) : ''}`,
  async ({ backend, at }) => {
    let content = ''
    for await (const piece of backend.readStream(at(path), options)) content += shown(piece)
    return content.length > 100 ? `${content.length} characters` : content
  },
]
/** The last piece may be an error of the source. */
const writeStream = (path: string, ...pieces: readonly (string | Uint8Array | Error)[]): Act => [
  `stream to ${path}`,
  async ({ backend, at }) => {
    const source = (function* () {
      for (const piece of pieces) {
        if (piece instanceof Error) throw piece
        yield piece
      }
    })()
    const written = await backend.writeStream(at(path), source)
    return `${written.created ? 'created' : 'replaced'} ${written.bytes}`
  },
]
const stat = (path: string): Act => [
  `stat ${path}`,
  async ({ backend, at }) => {
    const found = await backend.stat(at(path))
    return found ? `${found.path} ${found.name} ${found.type} ${found.size}` : 'nothing'
  },
]
const ls = (path: string, depth = 1): Act => [
  `ls ${path}, ${depth} deep`,
  async ({ backend, at }) => (await backend.ls(at(path), { depth })).map(entry).join(' '),
]
const done =
  (act: (stage: Stage) => Promise<void>): Act[1] =>
  async (stage) => {
    await act(stage)
    return 'done'
  }
const mkdir = (path: string): Act => [`mkdir ${path}`, done(({ backend, at }) => backend.mkdir(at(path)))]
const remove = (path: string, recursive = false): Act => [
  `remove ${path}${recursive ? ' and all in it' : ''}`,
  done(({ backend, at }) => backend.remove(at(path), { recursive })),
]
const move = (from: string, to: string): Act => [
  `move ${from} to ${to}`,
  done(({ backend, at }) => backend.move(at(from), at(to))),
]
const copy = (from: string, to: string): Act => [
  `copy ${from} to ${to}`,
  done(({ backend, at }) => backend.copy(at(from), at(to))),
]
const glob = (pattern: string, options: GlobOptions = {}): Act => [
  `glob ${pattern} ${JSON.stringify(options)}`,
  async ({ backend, at }) => {
    const path = at(options.path ?? '')
    const found = await backend.glob(pattern, { sort: 'path', ...options, path })
    const more = (found.ignored > 0 ? `, ${found.ignored} ignored` : '') + (found.truncated ? ', truncated' : '')
    return `${found.files.map((file) => file.path).join(' ')} of ${found.total}${more}`
  },
]
const grep = (pattern: string, options: GrepOptions = {}): Act => [
  `grep ${pattern} ${JSON.stringify(options)}`,
  async ({ backend, at }) => {
    const found = await backend.grep(pattern, { sort: 'path', ...options, path: at(options.path ?? '') })
    const lines = found.matches.flatMap(({ path, lineNumber, line, before = [], after = [] }) => [
      ...before.map((near) => `${path}-${near.lineNumber}-${near.line}`),
      `${path}:${lineNumber}:${line}`,
      ...after.map((near) => `${path}-${near.lineNumber}-${near.line}`),
    ])
    const files = found.files.map(({ path, count }) => `[${path} ${count}]`)
    const more = (found.ignored > 0 ? `, ${found.ignored} ignored` : '') + (found.truncated ? ', truncated' : '')
    return [...lines, ...files, `${found.totalMatches} in ${found.totalFiles}${more}`].join(' ')
  },
]
/** What a model reads; a path is written `<path>` in the input. */
const call = (tool: string, input: object, options: Omit<ToolsetOptions, 'backend'> = {}): Act => [
  `${tool} ${JSON.stringify(input)}`,
  async ({ at, toolset }) => {
    const tools = toolset({ tools: ['console', 'files'], ...rooted(options, at) })
    const placed = JSON.parse(JSON.stringify(input).replaceAll(/<([^>]*)>/g, (_, path: string) => at(path))) as object
    const { text, code } = await tools.call(tool, placed)
    await tools.close()
    return code ?? text
  },
]
const rooted = (options: object, at: Stage['at']): object =>
  JSON.parse(JSON.stringify(options).replaceAll(/<([^>]*)>/g, (_, path: string) => at(path))) as object

const step = ([words, act]: Act, expected: string): Step => [words, act, expected]
const a = (name: string, ...steps: readonly Step[]): Case => ({ name, steps })

/** Bytes of every value, without a period that a piece could hide. */
function noise(length: number): Uint8Array {
  let state = 1
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state >>> 24
  })
}

const exact = (path: string, length: number): Act => [
  `write ${length} bytes to ${path} and read them back`,
  async ({ backend, at }) => {
    const content = noise(length)
    await backend.write(at(path), content)
    const back = await backend.readBytes(at(path))
    return Buffer.compare(content, back) === 0 ? 'the same' : `${back.length} other bytes`
  },
]

const together = (path: string, count: number): Act => [
  `${count} edits of ${path} at once`,
  async ({ backend, at }) => {
    const numbers = Array.from({ length: count }, (_, number) => number)
    await backend.write(at(path), numbers.map((number) => `line ${number};\n`).join(''))
    await Promise.all(
      numbers.map((number) => backend.edit(at(path), { oldString: `line ${number};`, newString: `done ${number};` })),
    )
    const { content } = await backend.read(at(path))
    return content === numbers.map((number) => `done ${number};\n`).join('') ? 'all applied' : content
  },
]

/** Some change between a read and an edit of the same toolset. */
const stale = (path: string): Act => [
  `edit ${path} after somebody else replaced it`,
  async ({ backend, at, toolset }) => {
    const tools = toolset()
    await backend.write(at(path), 'one\ntwo\n')
    await tools.call('read_file', { path: at(path) })
    await backend.write(at(path), 'one\nother\n')
    const result = await tools.call('edit_file', { path: at(path), old_string: 'two', new_string: '2' })
    await tools.close()
    return `${result.code} ${shown(await backend.readBytes(at(path)))}`
  },
]

/** Nothing that ends with `.pem`, in any way. */
const PEM = {
  permissions: {
    default: 'allow',
    ...Object.fromEntries(
      (['read', 'write', 'edit', 'delete', 'grep'] as const).map((operation) => [
        operation,
        { rules: [{ pattern: '**/*.pem', action: 'deny' }] },
      ]),
    ),
  },
} satisfies Omit<ToolsetOptions, 'backend'>

export const CASES: readonly Case[] = [
  a(
    'a write creates, then replaces',
    step(write('a.txt', 'one\n'), 'created 4'),
    step(write('a.txt', 'other\n'), 'replaced 6'),
    step(read('a.txt'), '"other\\n" 1 of 1, 6 bytes'),
    step(stat('a.txt'), '/a.txt a.txt file 6'),
  ),
  a(
    'a write makes parents',
    step(write('a/b/c.txt', 'x'), 'created 1'),
    step(stat('a'), '/a a directory 0'),
    step(ls('', 9), '/a/ /a/b/ /a/b/c.txt:1'),
  ),
  a(
    'an empty file is not a missing one (17, D1)',
    step(write('empty', ''), 'created 0'),
    step(read('empty'), '"" 0 of 0, 0 bytes'),
    step(stat('empty'), '/empty empty file 0'),
    step(readBytes('empty'), ''),
    step(read('missing'), 'FILE_NOT_FOUND /missing'),
    step(readBytes('missing'), 'FILE_NOT_FOUND /missing'),
    step(stat('missing'), 'nothing'),
  ),
  a(
    'a last line end makes no further line (D13)',
    step(write('a', 'one\ntwo\n'), 'created 8'),
    step(read('a'), '"one\\ntwo\\n" 2 of 2, 8 bytes'),
    step(write('a', 'one\ntwo'), 'replaced 7'),
    step(read('a'), '"one\\ntwo" 2 of 2, 7 bytes'),
    step(write('a', '\n'), 'replaced 1'),
    step(read('a'), '"\\n" 1 of 1, 1 bytes'),
  ),
  a(
    'windows count lines from 0 (18)',
    step(write('a', '0\n1\n2\n3\n4\n'), 'created 10'),
    step(read('a', { limit: 2 }), '"0\\n1\\n" 2 of 5, 10 bytes, next 2, truncated'),
    step(read('a', { offset: 3, limit: 9 }), '"3\\n4\\n" 2 of 5, 10 bytes'),
    step(read('a', { limit: 0 }), 'INVALID_INPUT /a'),
    step(read('a', { offset: 6 }), 'INVALID_INPUT /a'),
    step(call('read_file', { path: '<a>', offset: 3 }), '     4\t3\n     5\t4'),
  ),
  a(
    'carriage returns belong to their lines (D3, D4, 30)',
    step(write('a', 'one\r\ntwo\r\nlone\rcr\n'), 'created 18'),
    step(read('a'), '"one\\r\\ntwo\\r\\nlone\\rcr\\n" 3 of 3, 18 bytes'),
    step(edit('a', 'two', '2'), 'edited 1'),
    step(readBytes('a'), 'one\\r\\n2\\r\\nlone\\rcr\\n'),
  ),
  a(
    'binary content is exact, and no text (6, 7, D15)',
    step(write('a.bin', bytes('\x00\xff\x80 \r\n\x00')), 'created 7'),
    step(readBytes('a.bin'), '\\x00\\xff\\x80 \\r\\n\\x00'),
    step(read('a.bin'), 'BINARY_FILE /a.bin'),
    step(edit('a.bin', 'a', 'b'), 'BINARY_FILE /a.bin'),
    step(readBytes('a.bin'), '\\x00\\xff\\x80 \\r\\n\\x00'),
    step(exact('noise.bin', 300_000), 'the same'),
  ),
  a(
    'text is written as it is, whatever is in it (19)',
    step(write('a.sh', "cat <<'EOF'\n$HOME `id` $(id) \\n %s 'x' \"y\"\nEOF\n"), 'created 47'),
    step(readBytes('a.sh'), "cat <<'EOF'\\n$HOME `id` $(id) \\n %s 'x' \"y\"\\nEOF\\n"),
    step(edit('a.sh', '$(id)', "$(id -u) '\\''"), 'edited 1'),
    step(readBytes('a.sh'), "cat <<'EOF'\\n$HOME `id` $(id -u) '\\'' \\n %s 'x' \"y\"\\nEOF\\n"),
  ),
  a(
    'a failed change leaves the file, or its absence, alone',
    step(write('a', 'kept kept'), 'created 9'),
    step(edit('a', 'missing', 'x'), 'EDIT_FAILED /a'),
    step(edit('a', 'kept', 'x'), 'EDIT_FAILED /a'),
    step(readBytes('a'), 'kept kept'),
    step(edit('a', 'kept', 'x', true), 'edited 2'),
    step(edit('b/c', 'x', 'y'), 'FILE_NOT_FOUND /b/c'),
    step(stat('b'), 'nothing'),
  ),
  a('edits at once are all applied (8)', step(together('a.txt', 20), 'all applied')),
  a('an edit of what somebody else changed changes nothing (32)', step(stale('a.txt'), 'EDIT_FAILED one\\nother\\n')),
  a(
    'append adds, creates, and makes parents',
    step(append('log/a', 'one\n'), 'created 4'),
    step(append('log/a', bytes('\xfftwo')), 'appended 8'),
    step(append('log/a', ''), 'appended 8'),
    step(readBytes('log/a'), 'one\\n\\xfftwo'),
    step(append('log', 'x'), 'NOT_A_FILE /log'),
  ),
  a(
    'directories are no files',
    step(mkdir('d'), 'done'),
    step(read('d'), 'NOT_A_FILE /d'),
    step(readBytes('d'), 'NOT_A_FILE /d'),
    step(write('d', 'x'), 'NOT_A_FILE /d'),
    step(edit('d', 'x', 'y'), 'NOT_A_FILE /d'),
    step(copy('d', 'e'), 'NOT_A_FILE /d'),
  ),
  a(
    'a name is never both file and directory (D14)',
    step(write('y/z', '1'), 'created 1'),
    step(write('y', '2'), 'NOT_A_FILE /y'),
    step(write('y/z/below', '3'), 'NOT_A_DIRECTORY /y/z/below'),
    step(mkdir('y/z'), 'ALREADY_EXISTS /y/z'),
    step(mkdir('y/z/below'), 'NOT_A_DIRECTORY /y/z/below'),
    step(append('y/z/below', '3'), 'NOT_A_DIRECTORY /y/z/below'),
    step(stat('y/z/below'), 'nothing'),
    step(ls('', 9), '/y/ /y/z:1'),
  ),
  a(
    'what lies below a file cannot be read',
    step(write('y', '1'), 'created 1'),
    step(read('y/below'), 'NOT_A_DIRECTORY /y/below'),
    step(ls('y/below'), 'FILE_NOT_FOUND /y/below'),
    step(remove('y/below'), 'NOT_A_DIRECTORY /y/below'),
    step(glob('*', { path: 'y/below' }), 'FILE_NOT_FOUND /y/below'),
    step(grep('1', { path: 'y/below' }), 'FILE_NOT_FOUND /y/below'),
  ),
  a(
    'names are literal (11, D12, D17)',
    step(write('ok..name', '1'), 'created 1'),
    step(write('~', '2'), 'created 1'),
    step(write('c:', '3'), 'created 1'),
    step(write(' two  spaces ', '4'), 'created 1'),
    step(write('-rf', '5'), 'created 1'),
    step(write('a\\b', '6'), 'created 1'),
    step(write('x=y -> z', '7'), 'created 1'),
    step(write('$HOME `id`;\'"', '8'), 'created 1'),
    step(write('[a]{b,c}*?!#', '9'), 'created 1'),
    step(write('Ü-日本-🦀', '10'), 'created 2'),
    step(write('__proto__', '11'), 'created 2'),
    step(readBytes('x=y -> z'), '7'),
    step(readBytes('$HOME `id`;\'"'), '8'),
    step(readBytes('__proto__'), '11'),
    step(edit('-rf', '5', '55'), 'edited 1'),
    step(remove('$HOME `id`;\'"'), 'done'),
    step(
      ls(''),
      '/ two  spaces :1 /-rf:2 /[a]{b,c}*?!#:1 /__proto__:2 /a\\b:1 /c::1 /ok..name:1 /x=y -> z:1 /~:1 /Ü-日本-🦀:2',
    ),
  ),
  a(
    'a listing of a directory with spaces has paths that work (11)',
    step(write('my dir/a b.txt', '1'), 'created 1'),
    step(ls('my dir'), '/my dir/a b.txt:1'),
    step(readBytes('my dir/a b.txt'), '1'),
  ),
  a(
    'paths are normalised before they are used (4)',
    step(write('./a//b/../c.txt', '1'), 'created 1'),
    step(ls('.', 2), '/a/ /a/c.txt:1'),
    step(readBytes('a/./c.txt'), '1'),
    step(stat('a/c.txt/'), '/a/c.txt c.txt file 1'),
    step(write('a\0b', '1'), 'INVALID_INPUT -'),
  ),
  a(
    'a listing shows directories first, then names, level by level',
    step(write('b.txt', '1'), 'created 1'),
    step(write('.hidden', '22'), 'created 2'),
    step(write('z/inner/deep.txt', '333'), 'created 3'),
    step(write('z/a.txt', ''), 'created 0'),
    step(mkdir('empty'), 'done'),
    step(ls('', 1), '/empty/ /z/ /.hidden:2 /b.txt:1'),
    step(ls('', 2), '/empty/ /z/ /z/inner/ /z/a.txt:0 /.hidden:2 /b.txt:1'),
    step(ls('z', 5), '/z/inner/ /z/inner/deep.txt:3 /z/a.txt:0'),
    step(ls('b.txt'), '/b.txt:1'),
    step(ls('empty', 3), ''),
    step(ls('missing'), 'FILE_NOT_FOUND /missing'),
  ),
  a(
    'mkdir makes parents and minds no existing directory',
    step(mkdir('a/b/c'), 'done'),
    step(mkdir('a/b/c'), 'done'),
    step(mkdir('a'), 'done'),
    step(ls('', 9), '/a/ /a/b/ /a/b/c/'),
  ),
  a(
    'remove takes a file, an empty directory, or all when asked',
    step(write('d/a', '1'), 'created 1'),
    step(write('d/e/b', '2'), 'created 1'),
    step(remove('d/a'), 'done'),
    step(remove('d'), 'DIRECTORY_NOT_EMPTY /d'),
    step(remove('d', true), 'done'),
    step(stat('d'), 'nothing'),
    step(remove('d'), 'FILE_NOT_FOUND /d'),
    step(mkdir('f'), 'done'),
    step(remove('f'), 'done'),
    step(write('g', ''), 'created 0'),
    step(remove('g', true), 'done'),
    step(ls(''), ''),
  ),
  a(
    'a directory stays when its last file goes',
    step(write('d/a', '1'), 'created 1'),
    step(remove('d/a'), 'done'),
    step(stat('d'), '/d d directory 0'),
  ),
  a(
    'move takes files and directories to free names',
    step(write('a', '1'), 'created 1'),
    step(write('d/x/y', '2'), 'created 1'),
    step(move('a', 'new/parents/a'), 'done'),
    step(move('d', 'new/d'), 'done'),
    step(ls('', 9), '/new/ /new/d/ /new/d/x/ /new/d/x/y:1 /new/parents/ /new/parents/a:1'),
    step(move('missing', 'z'), 'FILE_NOT_FOUND /missing'),
    step(move('new/d', 'new/parents'), 'ALREADY_EXISTS /new/parents'),
    step(move('new/parents/a', 'new/d/x/y'), 'ALREADY_EXISTS /new/d/x/y'),
    step(move('new/d', 'new/d'), 'INVALID_INPUT /new/d'),
    step(move('new/d', 'new/d/inside'), 'INVALID_INPUT /new/d/inside'),
    step(move('new/d', 'new/parents/a/below'), 'NOT_A_DIRECTORY /new/parents/a/below'),
  ),
  a(
    'copy copies one file to a free name',
    step(write('a', bytes('\x00one\r\n')), 'created 6'),
    step(copy('a', 'to/b'), 'done'),
    step(readBytes('to/b'), '\\x00one\\r\\n'),
    step(append('a', 'more'), 'appended 10'),
    step(readBytes('to/b'), '\\x00one\\r\\n'),
    step(copy('a', 'to/b'), 'ALREADY_EXISTS /to/b'),
    step(copy('a', 'a'), 'ALREADY_EXISTS /a'),
    step(copy('missing', 'c'), 'FILE_NOT_FOUND /missing'),
    step(copy('a', 'a/below'), 'NOT_A_DIRECTORY /a/below'),
  ),
  a(
    'glob matches names by pattern (12, 13, 27, D7, D8)',
    step(write('top.ts', '1'), 'created 1'),
    step(write('src/a.ts', '1'), 'created 1'),
    step(write('src/b.js', '1'), 'created 1'),
    step(write('src/deep/c.ts', '1'), 'created 1'),
    step(write('src/.hidden/d.ts', '1'), 'created 1'),
    step(write('.env', '1'), 'created 1'),
    step(write('two words/e.ts', '1'), 'created 1'),
    step(glob('*.ts'), '/top.ts of 1'),
    step(glob('**/*.ts'), '/src/a.ts /src/deep/c.ts /top.ts /two words/e.ts of 4'),
    step(glob('**/*'), '/src/a.ts /src/b.js /src/deep/c.ts /top.ts /two words/e.ts of 5'),
    step(glob('src/*.{ts,js}'), '/src/a.ts /src/b.js of 2'),
    step(glob('src/[!a].*'), '/src/b.js of 1'),
    step(glob('src/?.ts'), '/src/a.ts of 1'),
    step(glob('.*'), '/.env of 1'),
    step(glob('src/.hidden/*'), '/src/.hidden/d.ts of 1'),
    step(glob('*', { path: 'src' }), '/src/a.ts /src/b.js of 2'),
    step(glob('**', { type: 'directory' }), '/src /src/deep /two words of 3'),
    step(
      glob('**', { hidden: true }),
      '/.env /src/.hidden/d.ts /src/a.ts /src/b.js /src/deep/c.ts /top.ts /two words/e.ts of 7',
    ),
    step(glob('**/*.ts', { offset: 1, limit: 2 }), '/src/deep/c.ts /top.ts of 4, truncated'),
    step(glob('*', { path: 'missing' }), 'FILE_NOT_FOUND /missing'),
    step(glob('nothing-here-*'), ' of 0'),
  ),
  a(
    'grep finds lines (3, D5, D6)',
    step(write('a.txt', 'one\nTwo\nthree one\n'), 'created 18'),
    step(write('src/b.ts', "const one = 'x:y'\r\n-n --flag\n"), 'created 29'),
    step(write('src/bin', bytes('one\x00one\n')), 'created 8'),
    step(write('.env', 'one=secret\n'), 'created 11'),
    step(write('odd:1:name', 'one\n'), 'created 4'),
    step(
      grep('one'),
      "/a.txt:1:one /a.txt:3:three one /odd:1:name:1:one /src/b.ts:1:const one = 'x:y' [/a.txt 2] [/odd:1:name 1] [/src/b.ts 1] 4 in 3",
    ),
    step(grep('^one$'), '/a.txt:1:one /odd:1:name:1:one [/a.txt 1] [/odd:1:name 1] 2 in 2'),
    step(grep('-n'), '/src/b.ts:2:-n --flag [/src/b.ts 1] 1 in 1'),
    step(grep("'x:y'"), "/src/b.ts:1:const one = 'x:y' [/src/b.ts 1] 1 in 1"),
    step(grep('$(id)', { literal: true }), '0 in 0'),
    step(grep('two', { case: 'insensitive' }), '/a.txt:2:Two [/a.txt 1] 1 in 1'),
    step(grep('one', { globs: ['*.ts'] }), "/src/b.ts:1:const one = 'x:y' [/src/b.ts 1] 1 in 1"),
    step(grep('one', { path: 'src' }), "/src/b.ts:1:const one = 'x:y' [/src/b.ts 1] 1 in 1"),
    step(grep('one', { mode: 'files_with_matches' }), '[/a.txt 1] [/odd:1:name 1] [/src/b.ts 1] 3 in 3'),
    step(grep('one', { mode: 'count' }), '[/a.txt 2] [/odd:1:name 1] [/src/b.ts 1] 4 in 3'),
    step(grep('Two', { before: 1, after: 1 }), '/a.txt-1-one /a.txt:2:Two /a.txt-3-three one [/a.txt 1] 1 in 1'),
    step(grep('[unclosed'), 'INVALID_INPUT -'),
    step(grep('no such text'), '0 in 0'),
    step(grep('one', { path: 'missing' }), 'FILE_NOT_FOUND /missing'),
  ),
  a(
    'a hidden file that is named is searched (28)',
    step(write('.env', 'KEY=1\n'), 'created 6'),
    step(write('.config/a', 'KEY=2\n'), 'created 6'),
    step(grep('KEY'), '0 in 0'),
    step(grep('KEY', { path: '.env' }), '/.env:1:KEY=1 [/.env 1] 1 in 1'),
    step(grep('KEY', { path: '.config' }), '/.config/a:1:KEY=2 [/.config/a 1] 1 in 1'),
    step(grep('KEY', { hidden: true }), '/.config/a:1:KEY=2 /.env:1:KEY=1 [/.config/a 1] [/.env 1] 2 in 2'),
  ),
  a(
    'ignore files are honoured without a repository',
    step(write('.gitignore', '*.log\nbuild/\n'), 'created 13'),
    step(write('a.log', 'text\n'), 'created 5'),
    step(write('build/out.txt', 'text\n'), 'created 5'),
    step(write('kept.txt', 'text\n'), 'created 5'),
    step(glob('**'), '/kept.txt of 1, 2 ignored'),
    step(glob('*.log'), ' of 0, 1 ignored'),
    step(grep('text'), '/kept.txt:1:text [/kept.txt 1] 1 in 1, 2 ignored'),
    step(glob('**', { ignore: false }), '/a.log /build/out.txt /kept.txt of 3'),
  ),
  a(
    'rules hold on every path of a call (1, 31)',
    step(write('a/secret.pem', 'needle\n'), 'created 7'),
    step(write('a/b.txt', 'needle\n'), 'created 7'),
    step(call('read_file', { path: '<a/secret.pem>' }, PEM), 'PERMISSION_DENIED'),
    step(call('write_file', { path: '<a/new.pem>', content: 'x' }, PEM), 'PERMISSION_DENIED'),
    step(call('move_file', { source: '<a>', destination: '<b>' }, PEM), 'PERMISSION_DENIED'),
    step(
      call('grep', { pattern: 'needle', path: '<>', output_mode: 'files_with_matches' }, PEM),
      "Files containing 'needle':\n/a/b.txt",
    ),
    step(call('read_file', { path: '<a/b.txt>' }, PEM), '     1\tneedle'),
    step(ls('', 9), '/a/ /a/b.txt:7 /a/secret.pem:7'),
  ),
  a(
    'a write counts its lines as they are read (33)',
    step(call('write_file', { path: '<a.txt>', content: 'one\ntwo\n' }), 'Created /a.txt: 2 line(s), 8 bytes.'),
    step(call('write_file', { path: '<a.txt>', content: '' }), 'Wrote /a.txt: 0 line(s), 0 bytes.'),
  ),
  a(
    'files go in and out piece by piece',
    step(writeStream('d/s.bin', 'one\n', bytes('\xff\0'), 'two'), 'created 9'),
    step(readBytes('d/s.bin'), 'one\\n\\xff\\x00two'),
    step(readStream('d/s.bin'), 'one\\n\\xff\\x00two'),
    step(readStream('d/s.bin', { offset: 2, length: 3 }), 'e\\n\\xff'),
    step(readStream('d/s.bin', { offset: 100 }), ''),
    step(writeStream('d/s.bin', 'new', new Error('no more')), 'threw Error: no more'),
    step(ls('', 9), '/d/ /d/s.bin:9'),
    step(writeStream('d/s.bin'), 'replaced 0'),
    step(readStream('d/s.bin'), ''),
    step(readStream('missing'), 'FILE_NOT_FOUND /missing'),
    step(writeStream('d', 'x'), 'NOT_A_FILE /d'),
    step(writeStream('d/s.bin/x', 'x'), 'NOT_A_DIRECTORY /d/s.bin/x'),
    step(writeStream('large.bin', noise(70_000), noise(70_000)), 'created 140000'),
    step(stat('large.bin'), '/large.bin large.bin file 140000'),
  ),
]
