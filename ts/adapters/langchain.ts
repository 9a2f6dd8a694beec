// gloveport/langchain: a toolset as tools of LangChain.js 1.x. The adapter translates and holds no rule: what a call does is
// decided by the toolset.

import { ToolMessage } from '@langchain/core/messages'
import { DynamicStructuredTool, ToolInputParsingException } from '@langchain/core/tools'

import type { Toolset, ToolResult, ToolSpec } from '../../index.js'

/** How `langchainTools` treats approvals. */
export interface LangchainToolsOptions {
  /**
   * `framework`: every call that reaches a tool counts as approved, because the application put LangChain's own interrupt
   * (`humanInTheLoopMiddleware`) before it. What the rules deny stays denied. Without it the toolset's `approve` is asked.
   */
  readonly approval?: 'framework' | undefined
}

/**
 * The tools of a toolset for `createAgent`, `ToolNode` and `bindTools`. A failure is a tool message with status `error`;
 * they throw for nothing but an abort. The whole `ToolResult` is the message's `artifact`; hooks see LangChain's config as
 * `context`.
 *
 * @example
 * const agent = createAgent({ model, tools: langchainTools(toolset), systemPrompt: toolset.instructions })
 */
export function langchainTools(toolset: Toolset, options: LangchainToolsOptions = {}): DynamicStructuredTool[] {
  const approval = options.approval === 'framework' ? { approved: true } : undefined
  return toolset.tools.map(
    (spec) =>
      new GloveportTool(spec, (input, config) =>
        toolset.answer(spec.name, input, {
          callId: config.toolCall?.id,
          signal: config.signal,
          context: config,
          approval,
        }),
      ),
  )
}

/** What LangChain says about a call. */
interface Config {
  readonly signal?: AbortSignal | undefined
  readonly toolCall?: { readonly id?: string | undefined } | undefined
}

type Answer = (input: unknown, config: Config) => Promise<ToolResult>

class GloveportTool extends DynamicStructuredTool {
  readonly #answer: Answer

  constructor({ name, description, inputSchema }: ToolSpec, answer: Answer) {
    super({
      name,
      description,
      schema: structuredClone(inputSchema) as Record<string, unknown>,
      responseFormat: 'content_and_artifact',
      func: async (input, _manager, config) => {
        const call = (config ?? {}) as Config
        const result = await answer(input, call)
        return [outputOf(name, result, call.toolCall?.id), result]
      },
    })
    this.#answer = answer
  }

  /** As LangChain runs it, but an input that misses the schema is answered by the pipeline, in its words. */
  override async invoke(...[input, config]: Parameters<DynamicStructuredTool['invoke']>): Promise<unknown> {
    try {
      return await super.invoke(input, config)
    } catch (error) {
      if (!(error instanceof ToolInputParsingException)) throw error
      const toolCall = isToolCall(input) ? input : undefined
      const result = await this.#answer(toolCall ? toolCall.args : input, { ...config, toolCall })
      return outputOf(this.name, result, toolCall?.id)
    }
  }
}

/** A tool message where LangChain said which call it answers, else the bare content. */
function outputOf(
  name: string,
  result: ToolResult,
  callId: string | undefined,
): ToolMessage | ReturnType<typeof contentOf> {
  const content = contentOf(result)
  if (callId === undefined) return content
  return new ToolMessage({
    content,
    artifact: result,
    name,
    status: result.isError ? 'error' : 'success',
    tool_call_id: callId,
  })
}

function contentOf({ text, parts }: ToolResult): string | Block[] {
  if (!parts?.length) return text
  const files = parts.map(({ type, mediaType, data, ...rest }): Block => {
    const name = 'name' in rest ? { metadata: { filename: rest.name } } : {}
    return { type, mimeType: mediaType, data, ...name }
  })
  return [{ type: 'text', text }, ...files]
}

/** LangChain's standard content blocks. */
type Block =
  | { type: 'text'; text: string }
  | { type: 'image' | 'file'; mimeType: string; data: string; metadata?: { filename: string } }

function isToolCall(input: unknown): input is { readonly id?: string; readonly args: unknown } {
  return typeof input === 'object' && input !== null && (input as { type?: unknown }).type === 'tool_call'
}
