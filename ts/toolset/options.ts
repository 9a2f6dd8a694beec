// What `createToolset` was given, checked as far as it is not plain data: functions, hooks and tools of the application.

import { checkFunction, checkOptions, describe } from '../encode.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { CustomTool } from './custom-tool.js'
import { type Hooks, TOOL_NAMES, type ToolHooks, type ToolsetOptions } from './types.js'

/** 600 s, as in the core. */
const CALL_TIMEOUT = 600_000
/** Milliseconds of one call, where `limits.callTimeout` does not say. */
const CALL_TIMEOUT_VARIABLE = 'GLOVEPORT_CALL_TIMEOUT_MS'

const HOOK_KINDS = ['pre', 'post', 'around'] as const

/** The hooks as they are now: one that the application adds to its object later is not run. */
export function checkHooks(hooks: Hooks<string> | undefined, custom: ReadonlyMap<string, CustomTool>): Hooks<string> {
  const { tools, alwaysPost, ...global } = checkOptions(hooks, 'hooks')
  if (alwaysPost !== undefined && typeof alwaysPost !== 'boolean')
    throw new InvalidInputError(`\`hooks.alwaysPost\` must be true or false, not ${describe(alwaysPost)}.`)
  const known: readonly string[] = [...TOOL_NAMES, ...custom.keys()]
  const checked: Record<string, ToolHooks> = {}
  for (const [tool, own] of Object.entries(checkOptions(tools, 'hooks.tools'))) {
    if (!known.includes(tool)) {
      throw new InvalidInputError(`\`hooks.tools.${tool}\`: there is no such tool. The tools are: ${known.join(', ')}.`)
    }
    checked[tool] = checkToolHooks(checkOptions(own, `hooks.tools.${tool}`), `hooks.tools.${tool}`)
  }
  return { ...checkToolHooks(global, 'hooks'), tools: checked, alwaysPost }
}

function checkToolHooks(hooks: ToolHooks, name: string): ToolHooks {
  for (const key of Object.keys(hooks)) {
    if (!(HOOK_KINDS as readonly string[]).includes(key)) {
      throw new InvalidInputError(`\`${name}.${key}\`: there is no such hook. There are ${HOOK_KINDS.join(', ')}.`)
    }
  }
  const own = HOOK_KINDS.map((kind) => [kind, checkFunction(hooks[kind], `${name}.${kind}`)])
  return Object.fromEntries(own.filter(([, hook]) => hook !== undefined)) as ToolHooks
}

/** The tools of the application in a list of tools, by their names. */
export function customTools(tools: ToolsetOptions<string>['tools']): ReadonlyMap<string, CustomTool> {
  const custom = new Map<string, CustomTool>()
  for (const tool of Array.isArray(tools) ? (tools as readonly unknown[]) : []) {
    if (!(tool instanceof CustomTool)) continue
    if (custom.has(tool.name) && custom.get(tool.name) !== tool)
      throw new InvalidInputError(`Duplicate tool name: '${tool.name}'.`)
    custom.set(tool.name, tool)
  }
  return custom
}

/** Milliseconds of one call: what the application says, else the environment of the process, else 600 s. */
export function callTimeout(limits: ToolsetOptions['limits']): number {
  const given = limits?.callTimeout
  if (given !== undefined) return given
  const text = process.env[CALL_TIMEOUT_VARIABLE]
  if (text === undefined || text.trim() === '') return CALL_TIMEOUT
  if (/^ *[0-9]{1,15} *$/.test(text) && Number(text) > 0) return Number(text)
  throw new InvalidInputError(
    `\`${CALL_TIMEOUT_VARIABLE}\` of the environment must be a whole number of milliseconds above 0.`,
  )
}

/** The bytes of an image that the core is told. */
export function imageBytes(images: ToolsetOptions['images']): { imageBytes?: number } {
  if (images === undefined || images === true) return {}
  if (images === false) return { imageBytes: 0 }
  return { imageBytes: checkOptions(images, 'images').maxBytes as number }
}
