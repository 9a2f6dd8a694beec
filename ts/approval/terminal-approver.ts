// Asks the person at the terminal. What is shown was chosen by a model, so control characters never reach the terminal raw;
// where no person can answer, the answer is no.

import { escapeControls } from '../escape-controls.js'
import { inTurn } from './in-turn.js'
import type { ApprovalDecision, ApprovalRequest, Approver } from './types.js'

/** Where a {@link terminalApprover} asks. */
export interface TerminalApproverOptions {
  /** Default `process.stdin`. */
  readonly input?: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  /** Default `process.stderr`, so that a program's own output stays clean. */
  readonly output?: NodeJS.WritableStream & { readonly isTTY?: boolean }
  /** Default: whether `output` is a terminal and `NO_COLOR` is not set. */
  readonly color?: boolean
}

/**
 * An approver that shows the call and its diff and reads y (yes), a (yes, and for the same call again) or n. Questions of
 * parallel calls come one after the other. Without a terminal, or at its end, the answer is no.
 */
export function terminalApprover(options: TerminalApproverOptions = {}): Approver {
  const { input = process.stdin, output = process.stderr } = options
  const color = options.color ?? (output.isTTY === true && !process.env['NO_COLOR'])
  return async (request, { signal }) =>
    inTurn(input, () => {
      if (signal?.aborted) return { approved: false, reason: 'the call was aborted' }
      if (!input.isTTY || !output.isTTY) return { approved: false, reason: 'there is no terminal to ask at' }
      return ask(request, input, output, color, signal)
    })
}

async function ask(
  request: ApprovalRequest,
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
  color: boolean,
  signal: AbortSignal | undefined,
): Promise<ApprovalDecision> {
  // Loaded where it is needed: it would be a noticeable part of the time that `require('gloveport')` takes.
  const { createInterface } = await import('node:readline')
  const terminal = createInterface({ input, output })
  output.write(`\n${approvalText(request, color)}`)
  const answer = await new Promise<string | undefined>((resolve) => {
    const finish = (text?: string): void => {
      signal?.removeEventListener('abort', stop)
      resolve(text)
    }
    const stop = (): void => finish()
    terminal.once('close', stop)
    terminal.once('SIGINT', stop)
    signal?.addEventListener('abort', stop, { once: true })
    terminal.question('Allow? [y]es, [a]lways this same call, [N]o: ', finish)
  })
  terminal.close()
  switch (answer?.trim().toLowerCase()) {
    case 'y':
    case 'yes':
      return { approved: true }
    case 'a':
    case 'always':
      return { approved: true, remember: 'session' }
    case undefined:
      return { approved: false, reason: 'nobody answered' }
    default:
      return { approved: false, reason: 'the user said no' }
  }
}

/** What a person is shown of a request, ending in a newline. */
export function approvalText(request: ApprovalRequest, color: boolean): string {
  const lines = [paint(BOLD, `${request.tool}: ${setOff(request.description)}`, color)]
  for (const { operation, target, resolved } of request.touches) {
    // Where a link leads is always told: a name with an arrow in it must not stand for it.
    if (resolved !== undefined) lines.push(`  ${operation} ${setOff(`${target} → ${resolved}`)}`)
    else if (!request.description.includes(target)) lines.push(`  ${operation} ${setOff(target)}`)
  }
  lines.push(paint(DIM, `  ${setOff(request.reason)}`, color))
  if (request.diff) {
    for (const line of request.diff.replace(/\n$/, '').split('\n'))
      lines.push(paint(diffStyle(line), escapeControls(line), color))
  }
  return `${lines.join('\n')}\n`
}

/** Further lines of what a model chose (a command, the name of a file) are set off: none of them can pass for a line of ours. */
function setOff(text: string): string {
  return escapeControls(text).replaceAll('\n', '\n  | ')
}

const BOLD = '1'
const DIM = '2'

function diffStyle(line: string): string | undefined {
  if (line.startsWith('+++') || line.startsWith('---')) return BOLD
  if (line.startsWith('+')) return '32'
  if (line.startsWith('-')) return '31'
  if (line.startsWith('@@')) return '36'
  return undefined
}

function paint(style: string | undefined, text: string, color: boolean): string {
  return color && style !== undefined ? `\u001B[${style}m${text}\u001B[0m` : text
}
