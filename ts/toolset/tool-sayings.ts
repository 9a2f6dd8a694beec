// What tools of the application say of themselves when they are asked: whether they are there, and what a model should know.
// An answer may take time. Whoever cannot wait is told the last one, and before the first one that the tool is not there.

import { describe } from '../encode.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { type CustomTool, instructionOf, type ToolInstruction } from './custom-tool.js'

type Told = ReturnType<typeof instructionOf> | null

export class ToolSayings {
  readonly #report: (error: unknown) => void
  readonly #available = new Map<string, boolean>()
  readonly #instructions = new Map<string, Told>()

  constructor(report: (error: unknown) => void) {
    this.#report = report
  }

  isAvailable(tool: CustomTool | undefined): boolean {
    const answer = this.#askAvailable(tool)
    if (typeof answer === 'boolean') return answer
    void answer
    return this.#available.get(tool?.name ?? '') ?? false
  }

  async askAvailable(tool: CustomTool | undefined): Promise<boolean> {
    return this.#askAvailable(tool)
  }

  instructions(tools: Iterable<CustomTool>): Readonly<Record<string, unknown>> {
    const told: Record<string, Told> = {}
    for (const tool of tools) {
      const answer = this.#askInstruction(tool)
      if (answer === undefined) continue
      told[tool.name] = answer instanceof Promise ? (this.#instructions.get(tool.name) ?? null) : answer.told
    }
    return told
  }

  async refresh(tool: CustomTool): Promise<void> {
    await Promise.all([this.askAvailable(tool), this.#askInstruction(tool)])
  }

  /** Nobody waits for the tool any more: until it answers it is not there. */
  giveUp(tool: CustomTool): void {
    if (typeof tool.definition.available === 'function') this.#available.set(tool.name, false)
  }

  /** Never rejects. */
  #askAvailable(tool: CustomTool | undefined): boolean | Promise<boolean> {
    const available = tool?.definition.available
    if (typeof available !== 'function') return available ?? true
    const remember = (answer: boolean): boolean => {
      this.#available.set(tool!.name, answer)
      return answer
    }
    const failed = (error: unknown): boolean => {
      this.#report(error)
      return remember(false)
    }
    try {
      const answer = available()
      if (!isThenable(answer)) return remember(answer === true)
      return Promise.resolve(answer).then((answer) => remember(answer === true), failed)
    } catch (error) {
      return failed(error)
    }
  }

  /** Undefined where the instruction is fixed. Never rejects. */
  #askInstruction(tool: CustomTool): { readonly told: Told } | Promise<{ readonly told: Told }> | undefined {
    const { instruction } = tool.definition
    if (typeof instruction !== 'function') return undefined
    const remember = (answer: ToolInstruction): { readonly told: Told } => {
      const told = checkInstruction(answer, tool.name) ?? null
      this.#instructions.set(tool.name, told)
      return { told }
    }
    const failed = (error: unknown): { readonly told: Told } => {
      this.#report(error)
      this.#instructions.set(tool.name, null)
      return { told: null }
    }
    try {
      const answer = instruction()
      return isThenable(answer) ? Promise.resolve(answer).then(remember).catch(failed) : remember(answer)
    } catch (error) {
      return failed(error)
    }
  }
}

function checkInstruction(answer: ToolInstruction, tool: string): ReturnType<typeof instructionOf> {
  const told = instructionOf(answer)
  if (told === undefined) return undefined
  if (typeof told !== 'object' || typeof told.text !== 'string' || !['string', 'undefined'].includes(typeof told.group))
    throw new InvalidInputError(
      `The instruction of '${tool}' must be a string or { group, text }, not ${describe(answer)}.`,
    )
  return { ...(told.group === undefined ? {} : { group: told.group.toWellFormed() }), text: told.text.toWellFormed() }
}

function isThenable<T>(answer: T | Promise<T>): answer is Promise<T> {
  return typeof (answer as { then?: unknown } | null | undefined)?.then === 'function'
}
