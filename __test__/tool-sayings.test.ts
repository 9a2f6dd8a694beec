// Tools that take time to say whether they are there, and what a model should know (TS-1, TS-9, TS-10).

import { defineTool, InvalidInputError } from 'gloveport'
import { expect, test } from 'vitest'

import { toolsetOver } from './support.js'

const base = {
  name: 'radio',
  description: 'Listens.',
  inputSchema: { properties: {} },
  touches: [],
  run: () => 'heard',
}

test('a tool that takes time to say that it is there is not there before, and a call waits for it', async () => {
  let there = true
  const radio = defineTool({ ...base, available: async () => there })
  const toolset = await toolsetOver({}, { tools: ['ls', radio] })
  const names = () => toolset.tools.map(({ name }) => name)
  expect(names()).toEqual(['ls'])
  await toolset.refresh()
  expect(names()).toEqual(['ls', 'radio'])
  there = false
  expect((await toolset.call('radio', {})).code).toBe('UNSUPPORTED')
  expect(names()).toEqual(['ls'])
  there = true
  expect((await toolset.call('radio', {})).text).toBe('heard')
})

test('one that fails to say so is not there, and the application is told', async () => {
  const errors: unknown[] = []
  const mine = new Error('mine')
  const radio = defineTool({ ...base, available: () => Promise.reject(mine) })
  const toolset = await toolsetOver({}, { tools: ['ls', radio], onError: (error) => errors.push(error) })
  await toolset.refresh()
  expect(toolset.tools.map(({ name }) => name)).toEqual(['ls'])
  expect((await toolset.call('radio', {})).code).toBe('UNSUPPORTED')
  expect(errors).toContain(mine)
})

test('a tool that another one supersedes is waited for, too', async () => {
  const better = defineTool({ ...base, name: 'better', tags: ['sound'], available: async () => true })
  const radio = defineTool({ ...base, supersededBy: ['sound'] })
  const toolset = await toolsetOver({}, { tools: [radio, better] })
  expect((await toolset.call('radio', {})).code).toBe('UNSUPPORTED')
  expect(toolset.tools.map(({ name }) => name)).toEqual(['better'])
})

test('instructions may be told by a function, at once or later', async () => {
  let station = 'one'
  const radio = defineTool({ ...base, instruction: () => `Tuned to ${station}.` })
  const later = defineTool({
    ...base,
    name: 'later',
    instruction: async () => ({ group: 'air', text: `Later ${station}.` }),
  })
  const silent = defineTool({ ...base, name: 'silent', instruction: () => null })
  const toolset = await toolsetOver({}, { tools: [radio, later, silent] })
  const told = () => toolset.instructions.split('\n').filter((line) => line.startsWith('<tool-instruction'))
  expect(told()).toEqual(['<tool-instruction name="radio">Tuned to one.</tool-instruction>'])
  station = 'two'
  await toolset.refresh()
  expect(told()).toEqual([
    '<tool-instruction name="radio">Tuned to two.</tool-instruction>',
    '<tool-instruction name="air">Later two.</tool-instruction>',
  ])
})

test('one that fails, or says something else, says nothing', async () => {
  const errors: unknown[] = []
  const tools = [
    () => Promise.reject(new Error('mine')),
    () => {
      throw new Error('mine')
    },
    () => 7 as never,
    async () => ({ text: 7 }) as never,
  ].map((instruction, index) => defineTool({ ...base, name: `radio${index}`, instruction }))
  const toolset = await toolsetOver({}, { tools, onError: (error) => errors.push(error) })
  await toolset.refresh()
  expect(toolset.instructions).not.toContain('<tool-instruction')
  expect(errors.slice(0, 4)).toHaveLength(4)
  expect(errors.filter((error) => error instanceof InvalidInputError)).not.toHaveLength(0)
})
