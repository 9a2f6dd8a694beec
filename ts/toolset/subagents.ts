// Agents that a model can hand a task to: each is a tool, and gets a part of the toolset to work with. Which model runs it is
// for the application; what it may do is for the rules, approvals, hooks and limits of the toolset that it is part of.

import { checkFunction, checkOptions, checkText, describe } from '../encode.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { type CustomTool, type CustomToolAnswer, type CustomToolCall, defineTool } from './custom-tool.js'
import type { Toolset } from './toolset.js'

/** 1 hour: what one task may take, unless the application says otherwise. */
const TASK_MS = 3_600_000
/** The tool that hands a task to any of them. */
const DELEGATE = 'delegate'

/** A task, as it is handed over. */
export interface SubagentTask {
  /** What is to be done, in the words of the model that asks for it. */
  readonly prompt: string
  /** The agent's name. */
  readonly name: string
  /**
   * What it works with: the tools that it was given, with the same rules, approvals, hooks and limits. It is closed with the
   * toolset that it is part of, and has no tool to hand on the task.
   */
  readonly toolset: Toolset
  /** The call that this is the run of: its `signal` ends with it, `context` is the caller's. */
  readonly call: CustomToolCall
}

/** An agent that tasks are handed to. */
export interface Subagent {
  /** What it is good for; the model chooses by it. */
  readonly description: string
  /** Names of the tools that it gets; absent: all but those that are `mainOnly`. Tools that are `autoInherit` come along. */
  readonly tools?: readonly string[] | undefined
  /** Milliseconds that one task may take; default 1 hour. */
  readonly timeoutMs?: number | undefined
  /** Does the task with whatever model; the answer is what the model that asked reads. */
  readonly run: (task: SubagentTask) => CustomToolAnswer | Promise<CustomToolAnswer>
}

/** Agents by name, and whether one tool hands tasks to all of them. */
export interface Subagents {
  readonly agents: Readonly<Record<string, Subagent>>
  /** One tool `delegate` with the agent's name as an argument, instead of a tool for each, of its name. Default false. */
  readonly unified?: boolean | undefined
}

/** The tools that hand tasks over. `toolset` is asked when a task comes. */
export function subagentTools(subagents: Subagents | undefined, toolset: () => Toolset): CustomTool[] {
  if (subagents === undefined) return []
  const { agents, unified = false, ...unknown } = checkOptions(subagents, 'subagents') as Subagents
  const [other] = Object.keys(unknown)
  if (other !== undefined) throw new InvalidInputError(`\`subagents.${other}\` is not known.`)
  if (typeof unified !== 'boolean') throw new InvalidInputError('`subagents.unified` must be true or false.')
  const named = Object.entries(checkOptions(agents, 'subagents.agents') as Subagents['agents'])
  if (named.length === 0) throw new InvalidInputError('`subagents.agents` names no agent.')
  for (const [name, agent] of named) checkAgent(name, agent)

  const start = (name: string, agent: Subagent, prompt: string, call: CustomToolCall) =>
    agent.run({ name, prompt, call, toolset: part(toolset(), agent) })
  const prompt = {
    type: 'string',
    description: 'The task, with everything that the agent must know: it sees nothing else.',
  }
  const shared = { touches: [], mainOnly: true, destructive: true } as const
  if (!unified) {
    return named.map(([name, agent]) =>
      defineTool<{ prompt: string }>({
        ...shared,
        name,
        description: agent.description,
        inputSchema: { properties: { prompt }, required: ['prompt'], additionalProperties: false },
        timeoutMs: agent.timeoutMs ?? TASK_MS,
        run: async (input, call) => start(name, agent, input.prompt, call),
      }),
    )
  }
  const list = named.map(([name, { description }]) => `- ${name}: ${description}`).join('\n')
  const longest = Math.max(...named.map(([, { timeoutMs }]) => timeoutMs ?? TASK_MS))
  return [
    defineTool<{ agent: string; prompt: string }>({
      ...shared,
      name: DELEGATE,
      description: `Hands a task to another agent and returns its answer. The agents are:\n${list}`,
      inputSchema: {
        properties: { agent: { type: 'string', enum: named.map(([name]) => name) }, prompt },
        required: ['agent', 'prompt'],
        additionalProperties: false,
      },
      timeoutMs: longest,
      run: async ({ agent: chosen, prompt: task }, call) => {
        const found = named.find(([name]) => name === chosen)
        if (found === undefined) throw new InvalidInputError(`There is no agent '${chosen}'.`)
        const [name, agent] = found
        const limit = AbortSignal.timeout(agent.timeoutMs ?? TASK_MS)
        return start(name, agent, task, { ...call, signal: AbortSignal.any([call.signal, limit]) })
      },
    }),
  ]
}

function part(toolset: Toolset, { tools }: Subagent): Toolset {
  return tools === undefined ? toolset.subset(null) : toolset.subset(tools, { autoInherit: true })
}

function checkAgent(name: string, agent: Subagent): void {
  const where = `subagents.agents.${name}`
  const { description, tools, timeoutMs, run, ...unknown } = checkOptions(agent, where) as Subagent
  const [other] = Object.keys(unknown)
  if (other !== undefined) throw new InvalidInputError(`\`${where}.${other}\` is not known.`)
  checkText(description, `${where}.description`)
  if (checkFunction(run, `${where}.run`) === undefined) throw new InvalidInputError(`\`${where}.run\` is missing.`)
  if (tools !== undefined && (!Array.isArray(tools) || tools.some((tool) => typeof tool !== 'string')))
    throw new InvalidInputError(`\`${where}.tools\` must be an array of tool names, not ${describe(tools)}.`)
  if (timeoutMs !== undefined && !(Number.isInteger(timeoutMs) && timeoutMs > 0))
    throw new InvalidInputError(`\`${where}.timeoutMs\` must be a whole number above 0, not ${describe(timeoutMs)}.`)
}
