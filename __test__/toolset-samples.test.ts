// The samples of the toolset that ours is measured by, in `vectors/toolset_hooks.json`. Where ours answers otherwise the test
// says so and why.

import { readFileSync } from 'node:fs'

import { createToolset, defineTool, type Ended, type Hooks, type Toolset, type ToolResult } from 'gloveport'
import { expect, test } from 'vitest'

import { localBackend, rejection, toolsetOver } from './support.js'

interface Sample {
  readonly label: string
  readonly tool: string
  readonly args: Record<string, unknown>
  readonly call_log: readonly (readonly unknown[])[]
  readonly ok?: string
  readonly raises?: string
  readonly message?: string
}
interface Samples {
  readonly hooks: readonly Sample[]
  readonly get_tools: readonly string[]
  readonly get_tools_skip_unavailable_false: readonly string[]
  readonly tool_names: readonly string[]
  readonly instructions: string
  readonly instructions_none: null
  readonly is_available: Readonly<Record<string, boolean>>
  readonly subset_hooks: Readonly<Record<string, readonly string[]>>
  readonly subset: Readonly<Record<string, readonly string[]>>
  readonly duplicate: readonly string[]
}

const { toolset: samples } = JSON.parse(
  readFileSync(new URL('vectors/toolset_hooks.json', import.meta.url), 'utf8'),
) as { toolset: Samples }

/** The four tools of the samples, which note what they run. */
async function sampleToolset(
  log: unknown[],
  hooks: Hooks<string>,
  needApproval: string[] = [],
  isDeltaThere = false,
): Promise<Toolset> {
  const common = { description: 'x', readOnly: true }
  const alpha = defineTool<{ x: number }>({
    ...common,
    name: 'alpha',
    inputSchema: { properties: { x: { type: 'integer' } } },
    instruction: { group: 'g', text: 'A instr' },
    approvalMetadata: { risk: 'high' },
    run: ({ x }) => {
      log.push(['exec', x])
      if (x === 13) throw new Error('boom')
      return `r${x}`
    },
  })
  const beta = defineTool({
    ...common,
    name: 'beta',
    inputSchema: {},
    instruction: { group: 'g', text: 'B instr' },
    run: () => 'b',
  })
  const gamma = defineTool({
    ...common,
    name: 'gamma',
    inputSchema: {},
    instruction: 'plain C',
    autoInherit: true,
    run: () => 'c',
  })
  const delta = defineTool({
    ...common,
    name: 'delta',
    inputSchema: {},
    instruction: 'unavailable D',
    available: () => isDeltaThere,
    run: () => 'd',
  })
  return toolsetOver({}, { tools: [alpha, beta, gamma, delta], hooks, needApproval })
}

/** Hooks that note what they see, as those of the samples do, and `replaced` instead of some. */
function noting(log: unknown[], replaced: Hooks<string> = {}): Hooks<string> {
  const shown = ({ result, error }: Ended): unknown => result?.text ?? error?.message
  const x = (input: unknown): number => (input as { x: number }).x
  return {
    pre: ({ tool, input, metadata }) => {
      log.push(['gpre', tool, input, { ...metadata }])
      metadata['g'] = 1
      return { x: (x(input) || 1) + 1 }
    },
    post: ({ tool, metadata, ...ended }) => {
      log.push(['gpost', tool, shown(ended), { ...metadata }])
      return ended.result && { ...ended.result, text: `${ended.result.text}?` }
    },
    ...replaced,
    tools: {
      alpha: {
        pre: ({ input, metadata }) => {
          log.push(['pre', input, { ...metadata }])
          metadata['p'] = 1
          return { x: x(input) * 10 }
        },
        post: ({ metadata, ...ended }) => {
          log.push(['post', shown(ended), { ...metadata }])
          metadata['q'] = 1
          return ended.result && { ...ended.result, text: `${ended.result.text}!` }
        },
        ...replaced.tools?.['alpha'],
      },
    },
  }
}

/** The log of a sample, in which texts are as Python shows them. */
function logOf(sample: Sample): unknown[] {
  const plain = (value: unknown): unknown =>
    typeof value === 'string' ? value.replace(/^'(.*)'$/, '$1').replace(/^ValueError\('(.*)'\)$/, '$1') : value
  return sample.call_log.map((entry) => entry.map(plain))
}

function sampleOf(beginning: string): Sample {
  const sample = samples.hooks.find(({ label }) => label.startsWith(beginning))
  if (!sample) throw new Error(`no sample ${beginning}`)
  return sample
}

test('every sample of a call and every section is looked at below', () => {
  expect(samples.hooks).toHaveLength(9)
  expect(Object.keys(samples).toSorted()).toEqual([
    'duplicate',
    'get_tools',
    'get_tools_skip_unavailable_false',
    'hooks',
    'instructions',
    'instructions_none',
    'is_available',
    'subset',
    'subset_hooks',
    'tool_names',
  ])
  expect(Object.keys(samples.subset)).toEqual(['[alpha]', '[alpha,nope]', '[alpha]+auto', 'None'])
  expect(Object.keys(samples.subset_hooks)).toEqual(['default', 'inherit', 'inherit_other'])
})

test('order, arguments, results and metadata are those of the sample', async () => {
  const sample = sampleOf('order:')
  const log: unknown[] = []
  const toolset = await sampleToolset(log, noting(log))
  expect((await toolset.call('alpha', sample.args)).text).toBe(sample.ok)
  expect(log).toEqual(logOf(sample))
})

test('an argument that the tool does not know reaches the global post hook as an error; ours never gets into the tool', async () => {
  const log: unknown[] = []
  const toolset = await sampleToolset(log, noting(log))
  const result = await toolset.call('beta', sampleOf('tool without specific hooks').args)
  const message = "The input of beta is not right: 'x' is not known; the schema has nothing."
  expect(result).toMatchObject({ isError: true, code: 'INVALID_INPUT', text: `Error: ${message}` })
  expect(log).toEqual([
    ['gpre', 'beta', {}, {}],
    ['gpost', 'beta', message, { g: 1 }],
  ])
})

test('what a tool throws is a value for both post hooks, and a text in the end', async () => {
  const sample = sampleOf('tool raises')
  const log: unknown[] = []
  const toolset = await sampleToolset(log, noting(log, { pre: undefined, tools: { alpha: { pre: undefined } } }))
  expect(await toolset.call('alpha', sample.args)).toMatchObject({ isError: true, text: 'Error: alpha failed: boom' })
  expect(log).toEqual(logOf(sample))
})

test('a tool post hook recovers', async () => {
  const sample = sampleOf('tool_post recovers')
  const log: unknown[] = []
  const recover = (): ToolResult => ({ text: 'recovered', isError: false, truncated: false })
  const hooks = noting(log, { pre: undefined, tools: { alpha: { pre: undefined, post: recover } } })
  expect((await (await sampleToolset(log, hooks)).call('alpha', sample.args)).text).toBe(sample.ok)
  expect(log).toEqual(logOf(sample))
})

test('a tool post hook turns a success into a failure by returning one; the sample returns an exception for it', async () => {
  const sample = sampleOf('tool_post turns success')
  const log: unknown[] = []
  const fail = (): ToolResult => ({ text: 'made by post', isError: true, truncated: false })
  const hooks = noting(log, { pre: undefined, tools: { alpha: { pre: undefined, post: fail } } })
  expect(await (await sampleToolset(log, hooks)).call('alpha', sample.args)).toMatchObject({ isError: true })
  expect(log).toEqual(logOf(sample))
})

test('what a pre hook throws is thrown, and no post hook runs, unless that was asked for', async () => {
  const sample = sampleOf('tool_pre raises')
  const mine = new Error('pre boom')
  const boom = (): never => {
    throw mine
  }
  const log: unknown[] = []
  const hooks = noting(log, { tools: { alpha: { pre: boom } } })
  expect(await rejection((await sampleToolset(log, hooks)).call('alpha', sample.args))).toBe(mine)
  expect(log).toEqual(logOf(sample))
  const guaranteed = await sampleToolset(log, { ...hooks, alwaysPost: true })
  expect(await rejection(guaranteed.call('alpha', sample.args))).toBe(mine)
  expect(log.at(-1)).toEqual(['gpost', 'alpha', 'pre boom', { g: 1 }])
})

test('what a tool post hook throws is thrown; ours runs the global post hook all the same (D70)', async () => {
  const sample = sampleOf('tool_post raises')
  const mine = new Error('post boom')
  const log: unknown[] = []
  const hooks = noting(log, {
    tools: {
      alpha: {
        post: () => {
          throw mine
        },
      },
    },
  })
  expect(await rejection((await sampleToolset(log, hooks)).call('alpha', sample.args))).toBe(mine)
  expect(log).toEqual([...logOf(sample), ['gpost', 'alpha', 'post boom', { g: 1, p: 1 }]])
})

test('a call that needs an approval tells its metadata; ours asks about the input as pre hooks left it', async () => {
  const log: unknown[] = []
  const toolset = await sampleToolset(log, noting(log), ['alpha'])
  const error = await rejection(toolset.call('alpha', sampleOf('need_user_approve_tools').args))
  expect(error).toMatchObject({ code: 'APPROVAL_REQUIRED', details: { input: { x: 20 }, metadata: { risk: 'high' } } })
  expect(log.map((entry) => (entry as unknown[])[0])).toEqual(['gpre', 'pre', 'post', 'gpost'])
})

test('an approved call runs', async () => {
  const sample = sampleOf('approved')
  const log: unknown[] = []
  const toolset = await sampleToolset(log, noting(log), ['alpha'])
  const result = await toolset.call('alpha', sample.args, { approval: { approved: true } })
  expect(result.text).toBe(sample.ok)
  expect(log).toEqual(logOf(sample))
})

const names = ({ tools }: Toolset): string[] => tools.map(({ name }) => name)

test('tools, instructions, subsets and doubles', async () => {
  const toolset = await sampleToolset([], {})
  expect(names(toolset)).toEqual(samples.get_tools)
  // Ours leaves out what tools say that are not there (D72).
  const blocks = samples.instructions.split('\n').filter((block) => !block.includes('unavailable'))
  expect(toolset.instructions.split('\n').slice(1)).toEqual(blocks)
  expect(names(toolset.subset(['alpha']))).toEqual(samples.subset['[alpha]'])
  // Ours names the mistake, where the sample leaves the name out.
  expect(() => toolset.subset(['alpha', 'nope'])).toThrow(/nope/)
  const backend = await localBackend()
  const twice = (): ReturnType<typeof defineTool> =>
    defineTool({ name: 'alpha', description: 'x', inputSchema: {}, run: () => 1 })
  expect(() => createToolset({ backend, tools: [twice(), twice()] })).toThrow(`${samples.duplicate[1]}.`)
})

test('what is available, and all that there is', async () => {
  const toolset = await sampleToolset([], {})
  for (const [tool, isThere] of Object.entries(samples.is_available))
    expect(names(toolset).includes(tool), tool).toBe(isThere)
  expect(await toolset.call('delta', {})).toMatchObject({ code: 'UNSUPPORTED' })
  expect(await toolset.call('zzz', {})).toMatchObject({ code: 'UNKNOWN_TOOL' })
  // Theirs can list tools that are not there; ours lists what can be called, and these are all once they are there.
  const whole = await sampleToolset([], {}, [], true)
  expect(names(whole)).toEqual(samples.get_tools_skip_unavailable_false)
  expect(names(whole)).toEqual(samples.tool_names)
})

test('without an instruction there is nothing about tools', async () => {
  // Theirs is nothing at all then; ours still says where the agent is.
  expect(samples.instructions_none).toBeNull()
  const silent = defineTool({ name: 'silent', description: 'x', inputSchema: {}, readOnly: true, run: () => 's' })
  const { instructions } = await toolsetOver({}, { tools: [silent] })
  expect(instructions).not.toContain('<tool-instruction')
  expect(instructions.split('\n')).toHaveLength(1)
})

test('a subset has what it inherits by itself, and all tools for `null`', async () => {
  const toolset = await sampleToolset([], {})
  expect(names(toolset.subset(['alpha'], { autoInherit: true }))).toEqual(samples.subset['[alpha]+auto'])
  // As before, theirs counts what is not there.
  expect(names(toolset.subset(null))).toEqual(samples.get_tools)
  const whole = await sampleToolset([], {}, [], true)
  expect(names(whole.subset(null))).toEqual(samples.subset['None'])
})

test('hooks go into every subset; theirs leaves them behind unless it is told, and so leads past them', async () => {
  const log: unknown[] = []
  const toolset = await sampleToolset(log, {
    tools: { alpha: { pre: ({ tool }) => void log.push(tool) } },
  })
  const hooked = async (tool: string): Promise<unknown[]> => {
    log.length = 0
    await toolset.subset([tool]).call(tool, tool === 'alpha' ? { x: 1 } : {})
    return log.filter((entry) => typeof entry === 'string')
  }
  expect(await hooked('alpha')).toEqual(samples.subset_hooks['inherit'])
  // A second agent that calls without the hooks of the first would get past what they stop.
  expect(samples.subset_hooks['default']).toEqual([])
  expect(await hooked('beta')).toEqual(samples.subset_hooks['inherit_other'])
})
