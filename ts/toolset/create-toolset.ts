// Makes a toolset of what an application says: what is plain data goes to the core, its functions and tools to the host.

import { nativeFor, watchFailures } from '../backend/user.js'
import { checkFlag, checkFunction, checkOptions, checkString, encodeJson } from '../encode.js'
import { NativeToolset } from '../native.js'
import { CustomTool } from './custom-tool.js'
import { Host } from './host.js'
import { callTimeout, checkHooks, customTools, imageBytes } from './options.js'
import { subagentTools } from './subagents.js'
import { Toolset } from './toolset.js'
import type { ToolsetOptions } from './types.js'

/**
 * Named tools over a backend. The toolset never closes the backend.
 *
 * @example
 * const toolset = createToolset({ backend: new LocalBackend({ root: './project' }), approve: terminalApprover() })
 * const { text } = await toolset.call('read_file', { path: 'README.md' })
 *
 * @throws {InvalidInputError} an option has the wrong type or value, or is not known
 * @throws {UnsupportedError} a tool was named that the backend cannot run
 */
export function createToolset<Own extends string = never>(options: ToolsetOptions<Own>): Toolset {
  const { backend, approve, onHelp, allowCommand, hooks, onEvent, auditLog, onError, images, subagents, ...given } =
    checkOptions(options) as ToolsetOptions<string>
  const { tools: named, isControlFlow, skipUnavailable, limits, ...settings } = given
  const timeout = callTimeout(limits)
  let made: Toolset | undefined
  const delegates = subagentTools(subagents, () => made!)
  const isList = named === undefined || Array.isArray(named)
  const tools = delegates.length > 0 && isList ? [...(named ?? ['console']), ...delegates] : named
  const native = nativeFor(backend, 'backend')
  const custom = customTools(tools)
  const checkedHooks = checkHooks(hooks, custom)
  const host = new Host({
    hooks: checkedHooks,
    approve: checkFunction(approve, 'approve'),
    allowCommand: checkFunction(allowCommand, 'allowCommand'),
    tools: custom,
    onHelp: checkFunction(onHelp, 'onHelp'),
    onEvent: checkFunction(onEvent, 'onEvent'),
    backend: native,
    auditLog: auditLog === undefined ? undefined : checkString(auditLog, 'auditLog'),
    onError: checkFunction(onError, 'onError'),
    isControlFlow: checkFunction(isControlFlow, 'isControlFlow'),
    skipsUnavailable: checkFlag(skipUnavailable, 'skipUnavailable') ?? true,
    callTimeout: timeout,
  })
  const plain = {
    ...settings,
    ...imageBytes(images),
    limits: { ...limits, callTimeout: timeout },
    tools: Array.isArray(tools) ? tools.map((tool) => (tool instanceof CustomTool ? tool.name : tool)) : tools,
    customTools: Array.from(custom.values(), (tool) => tool.spec),
    alwaysPost: checkedHooks.alwaysPost,
  }
  const optionsJson = encodeJson(plain, 'options')
  const created = NativeToolset.create(native, optionsJson, host.description, host.answer)
  const ourNames = new Map(Object.entries(settings.names ?? {}).map(([ours, exposed]) => [exposed as string, ours]))
  made = Toolset.of(created, host, ourNames, backend)
  watchFailures(backend, host)
  return made
}
