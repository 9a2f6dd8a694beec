// Tools for several agents, and calls that wait for somebody: subsets, tags, answers that come later.

import { type CustomTool, defineTool, InvalidInputError, type PendingAnswer } from 'gloveport'
import { expect, test } from 'vitest'

import { rejection, toolsetOver } from './support.js'

const tool = (name: string, more: object = {}): CustomTool =>
  defineTool({ name, description: name, inputSchema: {}, readOnly: true, run: () => name, ...more })

const names = ({ tools }: { readonly tools: readonly { readonly name: string }[] }): string[] =>
  tools.map(({ name }) => name)

test('a subset has what is named, what comes along by itself, and never what is for the main agent (TS-11)', async () => {
  const calls: string[] = []
  const toolset = await toolsetOver(
    {},
    {
      tools: ['ls', tool('notes', { autoInherit: true }), tool('spawn', { mainOnly: true }), tool('plain')],
      names: { ls: 'list' },
      hooks: { pre: ({ tool: called }) => void calls.push(called) },
    },
  )
  expect(names(toolset.subset(['list']))).toEqual(['list'])
  expect(names(toolset.subset(['ls'], { autoInherit: true }))).toEqual(['list', 'notes'])
  expect(names(toolset.subset(['notes', 'ls'], { autoInherit: true }))).toEqual(['notes', 'list'])
  expect(names(toolset.subset(null))).toEqual(['list', 'notes', 'plain'])
  expect(() => toolset.subset(['spawn'])).toThrow(InvalidInputError)
  expect(await toolset.subset(null).call('spawn', {})).toMatchObject({ code: 'UNKNOWN_TOOL' })
  // Hooks hold in every subset: who takes tools away takes no guard away.
  await toolset.subset(['plain']).call('plain', {})
  expect(calls).toEqual(['plain'])
})

test('a tool stands back where another one with one of its tags is there (TS-13)', async () => {
  let there = true
  const toolset = await toolsetOver(
    {},
    {
      tools: [
        tool('describe_image', { supersededBy: ['vision'], instruction: 'Use describe_image.' }),
        tool('see', { tags: ['vision'], available: () => there }),
      ],
    },
  )
  expect(names(toolset)).toEqual(['see'])
  expect(toolset.instructions).not.toContain('describe_image')
  expect(await toolset.call('describe_image', {})).toMatchObject({ code: 'UNSUPPORTED' })
  // Where the other one is not, be it for now or in a subset, it is there.
  expect(names(toolset.subset(['describe_image']))).toEqual(['describe_image'])
  there = false
  expect(names(toolset)).toEqual(['describe_image'])
  expect((await toolset.call('describe_image', {})).text).toBe('describe_image')
})

test.each([
  ['tags', 'vision'],
  ['supersededBy', [1]],
  ['autoInherit', 'yes'],
  ['mainOnly', 1],
  ['processUserInput', {}],
])('defineTool refuses a wrong `%s`', (field, value) => {
  expect(() => tool('wrong', { [field]: value })).toThrow(InvalidInputError)
})

test('calls that wait go on by what somebody answered, one by one (TS-12)', async () => {
  const toolset = await toolsetOver({ 'a.txt': 'a' }, { permissions: 'default' })
  const pending = await Promise.all(
    ['1', '2', '3', '4'].map(async (callId) => {
      const input = { path: `${callId}.txt`, content: callId }
      return (await toolset.assess('write_file', input, { callId })) as unknown as { request: never }
    }),
  ).then((assessed) => assessed.map(({ request }) => request as { callId: string; tool: string; input: unknown }))
  const answers: PendingAnswer[] = [
    { callId: '3', approved: true, input: { path: 'other.txt', content: 'other' } },
    { callId: '1', approved: true },
    { callId: '2', approved: false },
  ]
  const results = await toolset.resume(pending, answers)
  expect([...results].map(([callId, { code, isError }]) => [callId, code ?? isError])).toEqual([
    ['1', false],
    ['2', 'APPROVAL_DENIED'],
    ['3', false],
  ])
  expect(results.get('2')!.text).toContain('the user rejected the tool call')
  const { text } = await toolset.call('glob', { pattern: '*' })
  expect(text).toContain('1.txt')
  expect(text).toContain('other.txt')
  expect(text).not.toMatch(/[234]\.txt/)
  expect(await toolset.resume(pending, [])).toEqual(new Map())
})

test('another input is decided afresh, and what is denied stays denied', async () => {
  const toolset = await toolsetOver({ '.env': 'KEY=1' }, { permissions: 'default' })
  const call = { callId: 'c', tool: 'write_file', input: { path: 'a.txt', content: '' } }
  const results = await toolset.resume([call], [{ callId: 'c', approved: true, input: { path: '.env', content: '' } }])
  expect(results.get('c')).toMatchObject({ code: 'PERMISSION_DENIED' })
})

test('a tool makes its input of what somebody filled in, and hooks are told (TS-12)', async () => {
  const seen: unknown[] = []
  const errors: unknown[] = []
  const broken = new Error('mine')
  const order = defineTool<{ size?: string }>({
    name: 'order',
    description: 'Orders.',
    inputSchema: { properties: { size: { type: 'string' } } },
    touches: [],
    needsApproval: true,
    processUserInput: (input, userInput) => {
      if (userInput === 'broken') throw broken
      return userInput === undefined
        ? undefined
        : { input: { ...input, size: userInput }, metadata: { by: 'somebody' } }
    },
    run: ({ size }) => `ordered ${size}`,
  })
  const toolset = await toolsetOver(
    {},
    {
      tools: [order, 'ls'],
      hooks: { post: ({ metadata }) => void seen.push(metadata['by']) },
      onError: (error) => errors.push(error),
    },
  )
  const pending = ['1', '2', '3'].map((callId) => ({ callId, tool: 'order', input: { size: 'S' } }))
  const results = await toolset.resume(pending, [
    { callId: '1', approved: true, userInput: 'L' },
    { callId: '2', approved: true, userInput: undefined },
    { callId: '3', approved: true, userInput: 'broken' },
  ])
  expect([...results.values()].map(({ text }) => text)).toEqual([
    'ordered L',
    'ordered S',
    expect.stringContaining('what the user filled in could not be taken'),
  ])
  expect(seen).toEqual(['somebody', undefined, undefined])
  expect(errors).toEqual([broken])
})

test.each<[string, unknown, unknown]>([
  ['pending calls that are no list', {}, []],
  ['a pending call without a name', [{ tool: 'ls' }], []],
  ['two pending calls of one name', [1, 2].map(() => ({ callId: 'c', tool: 'ls' })), []],
  // The original took answers to unknown calls as a yes.
  ['an answer to a call that does not wait', [], [{ callId: 'c', approved: true }]],
  ['two answers to one call', undefined, [1, 2].map(() => ({ callId: 'c', approved: true }))],
  ['an answer that is no yes or no', undefined, [{ callId: 'c', approved: 'yes' }]],
  ['an answer with an unknown field', undefined, [{ callId: 'c', approved: true, remember: 'session' }]],
  ['something filled in for a tool that takes nothing', undefined, [{ callId: 'c', approved: true, userInput: 1 }]],
])('resume refuses %s, and runs nothing', async (_name, pending, answers) => {
  const toolset = await toolsetOver({}, { requireWriteApproval: true })
  const write = [{ callId: 'c', tool: 'write_file', input: { path: 'a.txt', content: '' } }]
  const resumed = toolset.resume((pending ?? write) as never, answers as never)
  expect(await rejection(resumed)).toBeInstanceOf(InvalidInputError)
  expect((await toolset.call('read_file', { path: 'a.txt' })).code).toBe('FILE_NOT_FOUND')
})

test('what was approved for the session can be seen and forgotten (AP-13, AP-14)', async () => {
  let asked = 0
  const toolset = await toolsetOver(
    {},
    {
      requireWriteApproval: true,
      approve: () => {
        asked += 1
        return { approved: true, remember: 'session' }
      },
    },
  )
  const input = { path: 'a.txt', content: 'a' }
  const write = () => toolset.call('write_file', input)
  expect(toolset.rememberedApprovals).toEqual([])
  await write()
  await write()
  expect([asked, toolset.rememberedApprovals]).toEqual([1, [{ tool: 'write_file', input }]])
  toolset.forgetApprovals()
  expect(toolset.rememberedApprovals).toEqual([])
  await write()
  expect(asked).toBe(2)
})

test('a tool that is approved beforehand asks nobody, and opens nothing (AP-2, D41)', async () => {
  const toolset = await toolsetOver({ '.env': 'KEY=1' }, { permissions: 'default', preApproved: ['write_file'] })
  expect((await toolset.call('write_file', { path: 'a.txt', content: '' })).isError).toBe(false)
  expect(await toolset.call('write_file', { path: '.env', content: '' })).toMatchObject({ code: 'PERMISSION_DENIED' })
  expect(await rejection(toolset.call('edit_file', { path: 'a.txt', old_string: '', new_string: 'x' }))).toMatchObject({
    code: 'APPROVAL_REQUIRED',
  })
})
