// A model that needs no network: AI SDK's own mock, which decides each step from what the tools really returned. It knows one
// way of working (run the tests, read the failing one, find the code, mend a rounding, run again) and gives up when what it
// reads does not fit.

import type { LanguageModelV3CallOptions, LanguageModelV3GenerateResult } from '@ai-sdk/provider'
import { MockLanguageModelV3 } from 'ai6/test'

/** TAP prints where a failing test stands, and which values differed. */
const RUN_TESTS = { command: 'node --test --test-reporter=tap' }

/** A tool call that came back, as the model sees it. */
interface Returned {
  readonly tool: string
  readonly input: Record<string, unknown>
  readonly text: string
  readonly failed: boolean
}

/** What the model does next: a call, or its last words. */
type Move = { readonly say: string; readonly tool?: string; readonly input?: Record<string, unknown> }

/** The scripted model, for AI SDK 6 and 7. */
export function scriptedModel() {
  return new MockLanguageModelV3({
    modelId: 'scripted',
    doGenerate: async ({ prompt }) => answer(nextMove(returnedCalls(prompt)), prompt.length),
  })
}

function nextMove(calls: readonly Returned[]): Move {
  const last = calls.at(-1)
  if (!last) return { say: 'I run the tests first.', tool: 'execute', input: RUN_TESTS }
  if (last.failed) return { say: `I give up: ${last.text}` }
  switch (last.tool) {
    case 'execute':
      return afterTests(last.text, calls)
    case 'grep':
      return afterSearch(last.text)
    case 'read_file':
      return calls.some((call) => call.tool === 'grep') ? afterCode(last, calls) : afterFailingTest(last, calls)
    case 'edit_file':
      return { say: 'Now the tests again.', tool: 'execute', input: RUN_TESTS }
    default:
      return { say: `I give up: I do not know what ${last.tool} does.` }
  }
}

function afterTests(output: string, calls: readonly Returned[]): Move {
  if (/^# fail 0$/m.test(output)) {
    return { say: calls.length === 1 ? 'Every test passes already.' : 'Every test passes now.' }
  }
  const failure = firstFailure(output)
  if (!failure || calls.some((call) => call.tool === 'edit_file')) return { say: 'I give up: a test still fails.' }
  const difference = `expected ${failure.expected}, got ${failure.actual}`
  return {
    say: `"${failure.name}" fails: ${difference}. I read the test.`,
    tool: 'read_file',
    input: { path: failure.path },
  }
}

function afterFailingTest(test: Returned, calls: readonly Returned[]): Move {
  const failure = firstFailure(calls[0]?.text ?? '')
  const body = test.text.slice(test.text.indexOf(failure?.name ?? ''))
  const tested = /assert\.equal\((\w+)\(/.exec(body)?.[1]
  if (!tested) return { say: 'I give up: I cannot tell what the test calls.' }
  return {
    say: `It tests ${tested}. I look for its code.`,
    tool: 'grep',
    input: { pattern: `function ${tested}\\b`, output_mode: 'content' },
  }
}

function afterSearch(matches: string): Move {
  const path = /^(\S+):\d+: /m.exec(matches)?.[1]
  if (!path) return { say: 'I give up: I cannot find the code.' }
  return { say: 'There it is.', tool: 'read_file', input: { path } }
}

function afterCode(code: Returned, calls: readonly Returned[]): Move {
  const failure = firstFailure(calls[0]?.text ?? '')
  const line = withoutNumbers(code.text).find((text) => text.includes('Math.floor('))
  if (!failure || failure.expected - failure.actual !== 1 || !line) {
    return { say: 'I give up: I cannot see what is wrong.' }
  }
  return {
    say: 'One too few: the fraction is cut off where it should be rounded.',
    tool: 'edit_file',
    input: { path: code.input['path'], old_string: line, new_string: line.replace('Math.floor(', 'Math.round(') },
  }
}

/** The first failing test of a TAP report. */
function firstFailure(report: string) {
  const [, name, details] = /^not ok \d+ - (.*)\n((?: {2}.*\n)*)/m.exec(report) ?? []
  const field = (key: string) => new RegExp(`^ {2}${key}: '?(.*?)'?$`, 'm').exec(details ?? '')?.[1] ?? ''
  const path = field('location').replace(/:\d+:\d+$/, '')
  return name && path ? { name, path, expected: Number(field('expected')), actual: Number(field('actual')) } : undefined
}

/** The lines of a file as `read_file` shows them: a number, a tab, the text. */
function withoutNumbers(text: string): string[] {
  return text.split('\n').map((line) => line.replace(/^ *\d+\t/, ''))
}

/** Every tool call of the conversation that has its result. */
function returnedCalls(prompt: LanguageModelV3CallOptions['prompt']): Returned[] {
  const inputs = new Map<string, Record<string, unknown>>()
  const returned: Returned[] = []
  for (const message of prompt) {
    if (message.role !== 'assistant' && message.role !== 'tool') continue
    for (const part of message.content) {
      if (part.type === 'tool-call') inputs.set(part.toolCallId, part.input as Record<string, unknown>)
      if (part.type !== 'tool-result') continue
      const { type } = part.output
      const text = type === 'text' || type === 'error-text' ? part.output.value : JSON.stringify(part.output)
      const input = inputs.get(part.toolCallId) ?? {}
      returned.push({ tool: part.toolName, input, text, failed: type !== 'text' })
    }
  }
  return returned
}

function answer({ say, tool, input }: Move, turn: number): LanguageModelV3GenerateResult {
  const call = tool && {
    type: 'tool-call' as const,
    toolCallId: `call-${turn}`,
    toolName: tool,
    input: JSON.stringify(input),
  }
  return {
    content: [{ type: 'text', text: say }, ...(call ? [call] : [])],
    finishReason: { unified: call ? 'tool-calls' : 'stop', raw: undefined },
    usage: {
      inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    },
    warnings: [],
  }
}
