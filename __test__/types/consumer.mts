// A program in ES modules: checked by the compiler, never run.

import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { StructuredToolInterface } from '@langchain/core/tools'
import type { BackendProtocolV2 } from 'deepagents'
import type { generateText as generateText7, ToolSet as ToolSet7 } from 'ai'
import type { generateText as generateText6, ToolSet as ToolSet6 } from 'ai6'
import {
  type Backend,
  createToolset,
  type ErrorCode,
  type FileInfo,
  GloveportError,
  CompositeBackend,
  LocalBackend,
  type Operation,
  PathNotInSandboxError,
  type SandboxError,
  ShellBackend,
  StateBackend,
  terminalApprover,
  type Terminals,
  Toolset,
  type ToolResult,
  type UserBackend,
} from 'gloveport'
import { aiToolApproval, aiTools } from 'gloveport/ai-sdk'
import { deepagentsBackend, fromDeepagents } from 'gloveport/deepagents'
import { langchainTools } from 'gloveport/langchain'
import { contractCases, testBackend } from 'gloveport/testing'

const backend = new LocalBackend({
  root: '.',
  allowedDirectories: ['/tmp'],
  mode: 'ro',
  execute: false,
  env: { A: '1' },
})
const asInterface: Backend = backend
const toolset: Toolset = createToolset({
  backend: asInterface,
  tools: ['console', 'mkdir'],
  editFormat: 'hashline',
  permissions: { default: 'ask', read: { default: 'allow', rules: [{ pattern: '**/.env', action: 'deny' }] } },
  approve: terminalApprover(),
  hooks: {
    pre: async ({ tool, input, metadata }) => {
      metadata['started'] = [tool, input]
    },
    post: ({ result, error }) => (error ? { text: error.message, isError: true, truncated: false } : result),
    around: async (_call, next) => next({ signal: AbortSignal.timeout(1_000) }),
    tools: { execute: { pre: () => undefined } },
  },
  onEvent: (event) => {
    if (event.type === 'call-ended') event.durationMs.toFixed()
  },
})

export async function use(): Promise<void> {
  const entries: readonly FileInfo[] = await backend.ls('.', { depth: 2, signal: new AbortController().signal })
  entries[0]?.modifiedAt?.getTime()
  const { text, code, parts }: ToolResult = await toolset.call(
    'ls',
    {},
    { onOutput: ({ stream }) => stream === 'stdout' },
  )
  text.toUpperCase()
  if (code === 'FILE_NOT_FOUND') parts?.map((part) => part.mediaType)
  const assessment = await toolset.assess('ls', {})
  if (assessment.status === 'blocked') assessment.code satisfies ErrorCode
  else assessment.request.touches[0]?.operation satisfies Operation | undefined
  try {
    await backend.execute('true', { timeout: 5 })
  } catch (error) {
    if (GloveportError.isInstance(error)) error.code satisfies ErrorCode
    if (error instanceof PathNotInSandboxError) error satisfies SandboxError
  }
  await using scoped = toolset.subset(['ls'])
  scoped.instructions.toString()
}

// Backends of every kind, and somebody's own.
const own: UserBackend = { read: (path) => (path === '/a' ? 'a' : { content: '' }), ls: async () => [] }
const memory = StateBackend.fromJSON(new StateBackend({ files: { '/a': 'a', '/b': Uint8Array.of(1) } }).toJSON())
export const composite = new CompositeBackend({ default: memory.clone(), routes: { '/own': own, '/local': backend } })
export const shell = new ShellBackend({ execute: async () => ({ output: '', exitCode: 0 }) })
createToolset({ backend: own })
testBackend('mine', () => ({ backend: own }), { test: (_name, _body) => contractCases.length })
export const there: BackendProtocolV2 = deepagentsBackend(own)
export const andBack: UserBackend = fromDeepagents(there)
// @ts-expect-error a method with another shape
createToolset({ backend: { read: (path: number) => path } })

// The adapters' tools fit the frameworks' own types, beside tools of the user.
const tools = aiTools(toolset, { approval: 'framework' })
export type Fits6 = Expect<typeof tools extends ToolSet6 ? true : false>
export type Fits7 = Expect<typeof tools extends ToolSet7 ? true : false>
export const settings7 = {
  model: 'any',
  prompt: 'go',
  tools: { ...tools },
  toolApproval: { ...aiToolApproval(toolset), mine: 'user-approval' as const },
} satisfies Parameters<typeof generateText7<typeof tools>>[0]
export const settings6 = { model: 'any', prompt: 'go', tools } satisfies Parameters<typeof generateText6>[0]
export const langchain: readonly StructuredToolInterface[] = langchainTools(toolset, { approval: 'framework' })
export const schemas: readonly StandardSchemaV1[] = toolset.tools
export const jsonSchemas: readonly StandardJSONSchemaV1[] = toolset.tools

// What is wrong does not compile.
// @ts-expect-error an unknown option
export const wrongOption = new LocalBackend({ rot: '.' })
// @ts-expect-error an unknown tool
createToolset({ backend, tools: ['nope'] })
// @ts-expect-error hooks are named by our tools
createToolset({ backend, hooks: { tools: { nope: {} } } })
// @ts-expect-error a session prints on when its call is over
export const wrongOutput = (terminals: Terminals): unknown => terminals.exec('a', 'true', { onOutput: () => {} })
// @ts-expect-error results are readonly
export const assign = (result: ToolResult): unknown => (result.text = 'x')
// @ts-expect-error a toolset is made by createToolset
export const wrongMade = new Toolset()

// No `any` hides in what users get.
type Expect<T extends true> = T
type IsAny<T> = 0 extends 1 & T ? true : false
type No<T> = IsAny<T> extends true ? false : true
export type NoAny = [
  Expect<No<ToolResult['data']>>,
  Expect<No<Awaited<ReturnType<Backend['read']>>>>,
  Expect<No<Parameters<Toolset['call']>[1]>>,
  Expect<No<GloveportError['details']>>,
  Expect<No<(typeof tools)[string]>>,
]
