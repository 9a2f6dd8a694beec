import {
  createToolset,
  defineTool,
  type CustomTool,
  InvalidInputError,
  type StandardSchema,
  type Toolset,
} from 'gloveport'
import { aiTools } from 'gloveport/ai-sdk'
import { langchainTools } from 'gloveport/langchain'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { localBackend, rejection, toolsetOver } from './support.js'

const CITY = { type: 'object', properties: { city: { type: 'string', minLength: 1 } }, required: ['city'] }

const weather = defineTool<{ city: string }>({
  name: 'weather',
  description: 'The weather of a city.',
  inputSchema: CITY,
  readOnly: true,
  run: ({ city }) => `sunny in ${city}`,
})

async function over(tool: CustomTool, options: object = {}): Promise<Toolset> {
  return toolsetOver({ 'a.txt': 'a\n' }, { tools: [tool], ...options })
}

describe('a custom tool', () => {
  test('stands among ours, is held to its schema, and goes through hooks', async () => {
    const seen: unknown[] = []
    const toolset = await toolsetOver(
      {},
      {
        tools: ['files', weather],
        hooks: {
          post: ({ tool, input }) => void seen.push([tool, input]),
          tools: { weather: { pre: () => ({ city: 'Bonn' }) } },
        },
      },
    )
    expect(toolset.tools.at(-1)).toMatchObject({
      name: 'weather',
      description: 'The weather of a city.',
      inputSchema: { ...CITY, additionalProperties: false },
      annotations: { readOnlyHint: true, destructiveHint: false },
    })
    expect(await toolset.call('weather', { city: 'Rome' })).toMatchObject({ text: 'sunny in Bonn', isError: false })
    expect(seen).toEqual([['weather', { city: 'Bonn' }]])
    expect(await toolset.call('weather', { city: 1 })).toMatchObject({
      code: 'INVALID_INPUT',
      text: "Error: The input of weather is not right at 'city': expected a string, found a number.",
    })
    const subset = toolset.subset(['weather'])
    expect(subset.tools.map(({ name }) => name)).toEqual(['weather'])
    expect((await subset.call('weather', { city: 'Rome' })).text).toBe('sunny in Bonn')
  })

  test('says what it does to what is there, as its author said', async () => {
    const described = [{ readOnly: true }, {}, { destructive: true }, { destructive: false }]
    const toolset = await toolsetOver(
      {},
      {
        tools: described.map((annotations, index) =>
          defineTool({
            name: `tool${index}`,
            description: 'One.',
            inputSchema: CITY,
            ...annotations,
            run: () => 'done',
          }),
        ),
      },
    )
    expect(toolset.tools.map(({ annotations }) => annotations)).toEqual([
      { readOnlyHint: true, destructiveHint: false },
      { readOnlyHint: false, destructiveHint: true },
      { readOnlyHint: false, destructiveHint: true },
      { readOnlyHint: false, destructiveHint: false },
    ])
  })

  test('takes a schema of zod: the model sees JSON Schema, the run gets what zod makes', async () => {
    const ran: unknown[] = []
    const tool = defineTool({
      name: 'remind',
      description: 'Reminds.',
      inputSchema: z.object({ at: z.coerce.date(), times: z.number().int().default(2) }),
      jsonSchema: {
        type: 'object',
        properties: { at: { type: 'string' }, times: { type: 'integer' } },
        required: ['at'],
      },
      readOnly: true,
      run: ({ at, times }) => {
        ran.push([at instanceof Date, times])
        return { year: at.getUTCFullYear() }
      },
    })
    const toolset = await over(tool)
    expect(await toolset.call('remind', { at: '2030-01-02' })).toMatchObject({
      text: '{"year":2030}',
      data: { year: 2030 },
    })
    expect(ran).toEqual([[true, 2]])
    expect(await toolset.call('remind', { at: '2030-01-02', times: 'x' })).toMatchObject({
      code: 'INVALID_INPUT',
      text: expect.stringMatching(/at 'times'/),
    })
    expect(ran).toHaveLength(1)
    const standard = toolset.tools[0]!['~standard']
    expect(await standard.validate({ at: 'never' })).toEqual({ issues: [{ message: expect.stringMatching(/at/) }] })
    expect(await standard.validate({ at: '2030-01-02' })).toEqual({ value: { at: '2030-01-02' } })
    // Without a JSON Schema of its own the model is shown what zod makes.
    const own = await over(
      defineTool({
        name: 'own',
        description: 'Own.',
        inputSchema: z.object({ a: z.string() }),
        readOnly: true,
        run: () => 1,
      }),
    )
    expect(own.tools[0]!.inputSchema).toMatchObject({ type: 'object', properties: { a: { type: 'string' } } })
  })

  test('is shown by the adapters', async () => {
    const toolset = await over(weather)
    const ai = aiTools(toolset)['weather']!
    expect(ai.description).toBe('The weather of a city.')
    expect((await ai.execute({ city: 'Rome' }, { toolCallId: '1', messages: [] })).text).toBe('sunny in Rome')
    const [langchain] = langchainTools(toolset)
    expect(await langchain!.invoke({ city: 'Rome' })).toBe('sunny in Rome')
  })

  test('is judged by what it says that it touches, call by call', async () => {
    const tool = defineTool<{ path: string }>({
      name: 'count',
      description: 'Counts.',
      inputSchema: { properties: { path: { type: 'string' } }, required: ['path'] },
      touches: ({ path }) => [{ operation: 'read', path }],
      describe: ({ path }) => `Counts ${path}`,
      needsApproval: ({ path }) => path === 'asks.txt',
      approvalMetadata: ({ path }) => ({ path }),
      run: () => 1,
    })
    const requests: unknown[] = []
    const toolset = await over(tool, {
      permissions: 'default',
      approve: (request: unknown) => {
        requests.push(request)
        return { approved: true }
      },
    })
    expect((await toolset.call('count', { path: 'a.txt' })).text).toBe('1')
    expect((await toolset.call('count', { path: '.env' })).code).toBe('PERMISSION_DENIED')
    expect((await toolset.call('count', { path: '/etc/passwd' })).code).toBe('PATH_NOT_IN_SANDBOX')
    expect(requests).toEqual([])
    expect((await toolset.call('count', { path: 'asks.txt' })).text).toBe('1')
    expect(requests).toMatchObject([
      {
        tool: 'count',
        description: 'Counts asks.txt',
        metadata: { path: 'asks.txt' },
        touches: [{ operation: 'read' }],
      },
    ])
  })

  test('asks like a command where it does not say what it touches, and may be made to ask', async () => {
    const tool = defineTool({ name: 'deploy', description: 'Deploys.', inputSchema: {}, run: () => 'done' })
    expect(await rejection((await over(tool)).call('deploy', {}))).toMatchObject({ code: 'APPROVAL_REQUIRED' })
    expect((await over(tool, { permissions: 'readonly' })).tools).toEqual([])
    const asked = await over(weather, { needApproval: ['weather'] })
    expect(await asked.assess('weather', { city: 'Rome' })).toMatchObject({ status: 'needs-approval' })
  })

  test('sees its call, and is stopped with it', async () => {
    const context = { user: 'me' }
    const calls: unknown[] = []
    const tool = defineTool({
      name: 'wait',
      description: 'Waits.',
      inputSchema: {},
      readOnly: true,
      run: (_input, call) => {
        calls.push([call.context, call.callId, call.tool])
        return new Promise((_resolve, reject) => {
          call.signal.addEventListener('abort', () => reject(call.signal.reason as Error))
          if (call.callId === 'abort') stop.abort(new Error('mine'))
        })
      },
    })
    const stop = new AbortController()
    const toolset = await over(tool, { limits: { callTimeout: 50 } })
    expect(await rejection(toolset.call('wait', {}, { callId: 'abort', context, signal: stop.signal }))).toMatchObject({
      name: 'AbortError',
      cause: { message: 'mine' },
    })
    expect(await toolset.call('wait', {}, { callId: 'late', context })).toMatchObject({
      code: 'TIMEOUT',
      isError: true,
    })
    expect(calls).toEqual([
      [context, 'abort', 'wait'],
      [context, 'late', 'wait'],
    ])
  })

  test('that never ends, ends its call all the same', async () => {
    const tool = defineTool({
      name: 'hang',
      description: 'Hangs.',
      inputSchema: {},
      readOnly: true,
      timeoutMs: 20,
      run: () => new Promise(() => {}),
    })
    expect(await (await over(tool)).call('hang', {})).toMatchObject({ code: 'TIMEOUT', isError: true })
  })

  test('that fails is a result for the model, and an error for post hooks', async () => {
    const mine = new TypeError('no such city')
    const errors: unknown[] = []
    const reported: unknown[] = []
    const failing = (error: unknown): CustomTool =>
      defineTool({
        name: 'fail',
        description: 'Fails.',
        inputSchema: {},
        readOnly: true,
        run: () => {
          throw error
        },
      })
    const options = {
      hooks: { post: ({ error }: { error?: unknown }) => void errors.push(error) },
      onError: (e: unknown) => reported.push(e),
    }
    expect(await (await over(failing(mine), options)).call('fail', {})).toMatchObject({
      text: 'Error: fail failed: no such city',
      isError: true,
      code: 'TOOL_FAILED',
    })
    expect(errors).toEqual([mine])
    // A path of this machine in an error of the system is none of the model's business.
    const system = Object.assign(new Error("ENOENT: no such file, open '/home/me/x'"), {
      code: 'ENOENT',
      syscall: 'open',
    })
    expect((await (await over(failing(system), options)).call('fail', {})).text).toBe(
      'Error: fail failed: the system refused (ENOENT).',
    )
    expect(reported).toEqual([system])
  })

  test.each([
    ['a function', () => {}],
    ['a bigint', 1n],
    ['a cycle', Object.assign([] as unknown[], { 0: null })],
    ['a class instance', new Map()],
    ['half a surrogate pair in data', { a: '\uD800' }],
    ['a part that is none', { text: 'x', parts: [{ type: 'video' }] }],
  ])('that answers %s fails, and nothing else does', async (name, answer) => {
    if (name === 'a cycle') (answer as unknown[])[0] = answer
    const tool = defineTool({
      name: 'odd',
      description: 'Odd.',
      inputSchema: {},
      readOnly: true,
      run: () => answer as never,
    })
    const toolset = await over(tool, { tools: [tool, 'ls'], onError: () => {} })
    const ended = await toolset.answer('odd', {})
    expect(ended).toMatchObject({ isError: true })
    expect((await toolset.call('ls', {})).isError).toBe(false)
  })

  test('that is not available is not shown, says nothing and is not run', async () => {
    let there: boolean | Error = false
    const tool = (name: string, available?: () => boolean): CustomTool =>
      defineTool({
        name,
        description: name,
        inputSchema: {},
        readOnly: true,
        available,
        instruction: { group: 'g', text: `from ${name}` },
        run: () => 'ran',
      })
    const reported: unknown[] = []
    const first = tool('first', () => {
      if (there instanceof Error) throw there
      return there
    })
    const toolset = await toolsetOver({}, { tools: [first, tool('second')], onError: (error) => reported.push(error) })
    expect(toolset.tools.map(({ name }) => name)).toEqual(['second'])
    expect(toolset.instructions).toContain('<tool-instruction name="g">from second</tool-instruction>')
    expect(await toolset.call('first', {})).toMatchObject({ code: 'UNSUPPORTED', isError: true })
    there = true
    expect(toolset.tools.map(({ name }) => name)).toEqual(['first', 'second'])
    expect(toolset.instructions).toContain('from first')
    expect(toolset.instructions).not.toContain('from second')
    expect((await toolset.call('first', {})).text).toBe('ran')
    there = new Error('mine')
    expect(toolset.tools.map(({ name }) => name)).toEqual(['second'])
    expect(reported).toEqual([there])
  })
})

test('what is wrong with a definition is a typed error that names the field', async () => {
  const right = { name: 'x', description: 'x', inputSchema: {}, run: () => 1 }
  const bare: StandardSchema = { '~standard': { version: 1, vendor: 'me', validate: (value) => ({ value }) } }
  const backend = await localBackend()
  for (const [wrong, message] of [
    [{ name: '' }, /tool\.name/],
    [{ name: 'a b' }, /tool\.name/],
    [{ description: 1 }, /tool\.description/],
    [{ inputSchema: 'x' }, /tool\.inputSchema/],
    [{ run: 1 }, /tool\.run/],
    [{ run: undefined }, /tool\.run/],
    [{ execute: () => 1 }, /tool\.execute/],
    [{ inputSchema: bare }, /jsonSchema/],
    [{ inputSchema: { type: 'string' } }, /object/],
    [{ inputSchema: { properties: { a: { $ref: 'x' } } } }, /\$ref/],
    [{ timeoutMs: -1 }, /options/],
    [{ touches: [{ operation: 'fly', path: 'x' }] }, /options/],
    [{ name: 'read_file' }, /read_file/],
  ] as const) {
    expect(
      () => createToolset({ backend, tools: [defineTool({ ...right, ...wrong } as never)] }),
      String(message),
    ).toThrow(expect.objectContaining({ code: 'INVALID_INPUT', message: expect.stringMatching(message) }))
  }
  const twice = [defineTool(right), defineTool(right)]
  expect(() => createToolset({ backend, tools: twice })).toThrow(new InvalidInputError("Duplicate tool name: 'x'."))
})
