// Runs every TypeScript block of README.md and docs/ as its reader would: as a program of its own in a project of its own,
// against a model server on this machine that asks for one tool call and then answers.

import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fromCode, sum } from './results.mjs'
import { root, run } from './steps.mjs'

/** Inside the repository, so that `gloveport` and the frameworks resolve as they do in node_modules of a user. */
const FOLDER = 'target/snippets'

/** AI SDK 7 needs Node 22; its users on Node 20 have AI SDK 6, which this repository installs as `ai6`. */
const frameworkOfThisNode = (code) =>
  Number(process.versions.node.split('.')[0]) < 22 ? code.replaceAll("from 'ai'", "from 'ai6'") : code

function pages() {
  const docs = existsSync(join(root, 'docs')) ? readdirSync(join(root, 'docs'), { recursive: true }) : []
  return ['README.md', ...docs.filter((name) => name.endsWith('.md')).map((name) => join('docs', name))]
}

/** Each `ts` block: where it stands and what it says. */
function snippets() {
  return pages().flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map((match, index) => ({
      name: `${page} block ${index + 1}`,
      file: `${page.replaceAll(/[^A-Za-z0-9]+/g, '-')}-${index + 1}.ts`,
      code: match[1],
    })),
  )
}

/** A chat completion: a listing of the working directory first, an answer once the tool's result came back. */
function completion({ messages, tools = [] }) {
  const answered = messages.some((message) => message.role === 'tool')
  const call = { id: 'call_1', type: 'function', function: { name: 'ls', arguments: '{"path":"."}' } }
  const asks = !answered && tools.some((tool) => tool.function.name === 'ls')
  return {
    id: 'completion',
    object: 'chat.completion',
    created: 0,
    model: 'scripted',
    choices: [
      {
        index: 0,
        finish_reason: asks ? 'tool_calls' : 'stop',
        message: asks
          ? { role: 'assistant', content: null, tool_calls: [call] }
          : { role: 'assistant', content: 'Done.' },
      },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  }
}

async function serveModel() {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    response.setHeader('content-type', 'application/json').end(JSON.stringify(completion(JSON.parse(body))))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

/** Type-checks all snippets together, then runs each. */
export async function testSnippets() {
  const folder = join(root, FOLDER)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  const config = { extends: '../../tsconfig.json', compilerOptions: { noUnusedLocals: false }, include: ['*.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const all = snippets()
  for (const { file, code } of all) writeFileSync(join(folder, file), code)

  const tsc = ['node_modules/typescript/bin/tsc', '--project', FOLDER]
  const results = [fromCode((await run('Snippets: types', process.execPath, tsc, { allowFailure: true })).code)]
  const server = await serveModel()
  try {
    for (const { name, file, code: written } of all) {
      writeFileSync(join(folder, file), frameworkOfThisNode(written))
      const project = mkdtempSync(join(tmpdir(), 'gloveport-snippet-'))
      cpSync(join(root, 'examples/projects/invoice'), join(project, 'project'), { recursive: true })
      const { code } = await run(
        `Snippet: ${name}`,
        process.execPath,
        ['--import', import.meta.resolve('tsx'), join(folder, file)],
        {
          cwd: project,
          env: {
            OPENAI_BASE_URL: `http://127.0.0.1:${server.address().port}/v1`,
            OPENAI_API_KEY: 'none',
            OPENAI_MODEL: 'scripted',
          },
          quiet: true,
          allowFailure: true,
        },
      )
      results.push(fromCode(code))
      rmSync(project, { recursive: true, force: true })
    }
  } finally {
    server.close()
  }
  return sum(results)
}
