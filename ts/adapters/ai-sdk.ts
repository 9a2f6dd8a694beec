// gloveport/ai-sdk: a toolset as tools of the Vercel AI SDK, versions 6 and 7. Types are structural and nothing of `ai` is
// imported, so that both versions fit. The adapter translates and holds no rule: what a call does is decided by the toolset.

import type { ApprovalGrant, StandardProps, Toolset, ToolResult, ToolSpec } from '../../index.js'

/** How `aiTools` treats approvals. */
export interface AiToolsOptions {
  /**
   * Who asks when a call needs an approval. `toolset`: its `approve`. `framework`: the AI SDK stops with a
   * `tool-approval-request`; the answer that comes back in the messages is taken as the user's. Messages from a client
   * can be forged: there, use the SDK's signed approvals. Default: `toolset` where the toolset has an approver, else
   * `framework`.
   */
  readonly approval?: 'toolset' | 'framework' | undefined
}

/** A tool as versions 6 and 7 of the AI SDK take it. */
export interface AiTool {
  readonly description: string
  readonly inputSchema: { readonly '~standard': StandardProps }
  readonly execute: (input: unknown, options: AiExecuteOptions) => Promise<ToolResult>
  readonly needsApproval?: (input: unknown, options: AiCall) => Promise<boolean>
  readonly toModelOutput: (options: { readonly output: ToolResult }) => AiModelOutput
}

/** What the AI SDK says about a call that it may have to ask about. */
export interface AiCall {
  readonly toolCallId: string
  readonly messages: readonly unknown[]
}

/** What the AI SDK hands to `execute`. */
export interface AiExecuteOptions extends AiCall {
  readonly abortSignal?: AbortSignal | undefined
  /** Version 7; handed to hooks as `context`. */
  readonly context?: unknown
  /** Version 6; handed to hooks as `context`. */
  readonly experimental_context?: unknown
}

/** What the model is given of a result. */
export type AiModelOutput =
  | { type: 'text'; value: string }
  | { type: 'error-text'; value: string }
  | { type: 'content'; value: AiContentPart[] }

/** The parts that the types of both versions know. */
export type AiContentPart =
  | { type: 'text'; text: string }
  | { type: 'image-data'; mediaType: string; data: string }
  | { type: 'file-data'; mediaType: string; data: string; filename?: string }

/** The verdict of `toolApproval` in version 7. */
export type AiApprovalStatus = { type: 'user-approval'; reason: string } | undefined

/**
 * The tools of a toolset for `generateText`, `streamText` and agents. They throw for nothing but an abort.
 *
 * @example
 * const { text } = await generateText({
 *   model, prompt, instructions: toolset.instructions,
 *   tools: aiTools(toolset),
 *   stopWhen: stepCountIs(40),
 * })
 */
export function aiTools(toolset: Toolset, options: AiToolsOptions = {}): Record<string, AiTool> {
  const framework = (options.approval ?? (toolset.hasApprover ? 'toolset' : 'framework')) === 'framework'
  return Object.fromEntries(toolset.tools.map((spec) => [spec.name, aiTool(toolset, spec, framework)]))
}

/**
 * For `toolApproval` of version 7: asks the user about what the rules ask about, with the description and diff as the
 * reason. Use it with `aiTools(toolset, { approval: 'framework' })`, which is also the default without an approver.
 *
 * @example
 * toolApproval: { ...aiToolApproval(toolset), myOwnTool: 'user-approval' }
 */
export function aiToolApproval(
  toolset: Toolset,
): Record<string, (input: unknown, call: AiCall) => Promise<AiApprovalStatus>> {
  return Object.fromEntries(
    toolset.tools.map(({ name }) => [
      name,
      async (input: unknown, call: AiCall) => {
        const reason = await reasonToAsk(toolset, name, input, call)
        return reason === undefined ? undefined : { type: 'user-approval' as const, reason }
      },
    ]),
  )
}

function aiTool(toolset: Toolset, spec: ToolSpec, framework: boolean): AiTool {
  const { name, description } = spec
  return {
    description,
    inputSchema: openSchema(spec),
    execute: async (input, options) => {
      const result = await toolset.answer(name, input, {
        callId: options.toolCallId,
        signal: options.abortSignal,
        context: options.context ?? options.experimental_context,
        approval: framework ? grantIn(options) : undefined,
      })
      if ('context' in options) MADE_UNDER_7.add(result)
      return result
    },
    ...(framework && {
      needsApproval: async (input: unknown, call: AiCall) =>
        (await reasonToAsk(toolset, name, input, call)) !== undefined,
    }),
    toModelOutput: ({ output }) => modelOutput(output),
  }
}

/**
 * The schema for the model, with a `validate` that lets everything through: the pipeline judges the input, answers the
 * model in its own words, and counts the failure.
 */
function openSchema(spec: ToolSpec): AiTool['inputSchema'] {
  return { '~standard': { ...spec['~standard'], validate: async (value) => ({ value }) } }
}

/**
 * Why the user must be asked; undefined when the call runs, or fails, without a question. A call that was answered is not
 * looked at again: what the user saw then is what the grant is held to.
 */
async function reasonToAsk(toolset: Toolset, name: string, input: unknown, call: AiCall): Promise<string | undefined> {
  if (grantIn(call)) return 'This call was approved.'
  const assessment = await toolset.assess(name, input, { callId: call.toolCallId })
  if (assessment.status !== 'needs-approval') return undefined
  const { description, diff } = assessment.request
  return [description, assessment.reason, diff].filter(Boolean).join('\n')
}

interface MessagePart {
  readonly type?: unknown
  readonly toolCallId?: unknown
  readonly approvalId?: unknown
  readonly approved?: unknown
}

/**
 * The user's yes to this call. The AI SDK runs approved calls when the last message answers them, so only that one counts,
 * and not when it also holds a no.
 */
function grantIn({ toolCallId, messages }: AiCall): ApprovalGrant | undefined {
  const last = messages.at(-1) as { readonly role?: unknown } | undefined
  if (last?.role !== 'tool') return undefined
  const requests = messages.flatMap(parts).filter((part) => part.type === 'tool-approval-request')
  const asked = new Set(requests.filter((part) => part.toolCallId === toolCallId).map((part) => part.approvalId))
  const answers = parts(last).filter((part) => part.type === 'tool-approval-response' && asked.has(part.approvalId))
  return answers.length > 0 && answers.every((answer) => answer.approved === true) ? { approved: true } : undefined
}

function parts(message: unknown): readonly MessagePart[] {
  const { content } = message as { readonly content?: unknown }
  return Array.isArray(content) ? (content as MessagePart[]) : []
}

/**
 * Results that version 7 asked for: only it knows file parts, and only it warns of the older image parts. A result that was
 * stored and read again is none of them, and the older parts work everywhere.
 */
const MADE_UNDER_7 = new WeakSet<ToolResult>()

function modelOutput(output: ToolResult): AiModelOutput {
  if (output.isError) return { type: 'error-text', value: output.text }
  if (!output.parts?.length) return { type: 'text', value: output.text }
  const under7 = MADE_UNDER_7.has(output)
  const files = output.parts.map((part): AiContentPart => {
    const { mediaType, data } = part
    const filename = part.type === 'file' ? { filename: part.name } : {}
    // The types of version 6 lack this part, and it is never made there.
    if (under7) return { type: 'file', mediaType, data: { type: 'data', data }, ...filename } as never
    return part.type === 'image'
      ? { type: 'image-data', mediaType, data }
      : { type: 'file-data', mediaType, data, ...filename }
  })
  return { type: 'content', value: [{ type: 'text', text: output.text }, ...files] }
}
