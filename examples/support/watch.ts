// Shows a person what an agent does: every call, every approval, every edit. Colours only where somebody looks at a terminal.

import type { LanguageModelMiddleware } from 'ai'
import type { Approver, Hooks, ToolResult } from 'gloveport'

/** 8 lines from each end of a result: enough to follow along. */
const END_LINES = 8

const coloured = process.stdout.isTTY && !process.env['NO_COLOR']
const paint = (code: number, text: string) => (coloured ? `\u001b[${code}m${text}\u001b[0m` : text)
const bold = (text: string) => paint(1, text)
const red = (text: string) => paint(31, text)
export const green = (text: string) => paint(32, text)
const dim = (text: string) => paint(2, text)

/** Control and direction characters made visible: what a model or a file says must not steer the terminal. */
const visible = (text: string) =>
  text.replace(/(?![\t\n])[\p{Cc}\p{Cf}]/gu, (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`)

const indent = (text: string) => text.replace(/^/gm, '    ')

function diffLine(line: string): string {
  if (line.startsWith('+')) return green(line)
  return line.startsWith('-') ? red(line) : dim(line)
}

function shownDiff(diff: string): string {
  return visible(diff).trimEnd().split('\n').map(diffLine).join('\n')
}

function shownResult(result: ToolResult): string {
  const diff = (result.data as { diff?: unknown } | undefined)?.diff
  if (typeof diff === 'string' && diff) return shownDiff(diff)
  const lines = visible(result.text).split('\n')
  const between = lines.length - 2 * END_LINES
  const shown =
    between > 1 ? [...lines.slice(0, END_LINES), `… ${between} more lines`, ...lines.slice(-END_LINES)] : lines
  const text = shown.join('\n')
  return result.isError ? red(text) : dim(text)
}

/** Prints what the model says before its calls run. */
export const speaksAloud: LanguageModelMiddleware = {
  specificationVersion: 'v3',
  wrapGenerate: async ({ doGenerate }) => {
    const answer = await doGenerate()
    for (const part of answer.content) if (part.type === 'text' && part.text) console.log(`\n${visible(part.text)}`)
    return answer
  },
}

/** Hooks that print each call and what came of it. */
export const watchingHooks: Hooks = {
  pre: ({ tool, input }) => {
    console.log(`\n${bold(`▸ ${tool}`)} ${visible(JSON.stringify(input))}`)
  },
  post: ({ result, error }) => {
    console.log(indent(result ? shownResult(result) : red(visible(error.message))))
  },
}

/** An approver for a demonstration: shows what is asked and says yes. A real one asks a person: `terminalApprover()`. */
export const showAndApprove: Approver = (request) => {
  console.log(
    `  ${bold('? approval')} ${visible(request.description)} ${dim(`(${visible(request.reason)})`)} ${green('yes')}`,
  )
  return { approved: true }
}
