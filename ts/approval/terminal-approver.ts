// Asks the person at the terminal. What is shown was chosen by a model, so control characters never reach the terminal raw;
// where no person can answer, the answer is no.

import { shownToPerson } from '../native.js'
import { inTurn } from './in-turn.js'
import type { ApprovalDecision, ApprovalRequest, Approver } from './types.js'

/** 50 ms without a key: what somebody typed before they saw the question is over then, and thrown away. */
const QUIET_MS = 50
/** 1 s: somebody who types on and on is asked all the same. */
const DISCARD_MS = 1_000
/** 120 lines of a diff, two screens, half of them from its end: what is longer nobody reads there, and it says so. */
const DIFF_LINES = 120
/** 200 characters of each simple command, and of each file, of a command line that is not shown whole; 120 of them. */
const COMMAND_CHARACTERS = 200
const COMMANDS = 120
/** How the core says that it leaves out the middle of a text. */
const LEFT_OUT = 'characters are not shown here ...]'
/** 20 lines of a diff push what is said above them out of sight: it is said again below. */
const FAR_LINES = 20

/** The sign of a line of a diff, up to 80 blanks by which it is indented, and the text of which more blanks are counted. */
const INDENTED = /^([-+ ]?)([ \t]{0,80})([^]*)$/

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
  const isOver = await discard(input, signal)
  if (isOver || signal?.aborted) return { approved: false, reason: 'nobody answered' }
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

/** Throws away what was typed before the question, which it cannot answer. Whether the input is over. */
async function discard(
  input: NodeJS.ReadableStream & { readonly readableEnded?: boolean; readonly destroyed?: boolean },
  signal: AbortSignal | undefined,
): Promise<boolean> {
  if (input.readableEnded === true || input.destroyed === true) return true
  return new Promise((resolve) => {
    const finish = (isOver: boolean): void => {
      clearTimeout(quiet)
      clearTimeout(late)
      input.off('data', more)
      input.off('end', end)
      input.off('close', end)
      input.pause()
      signal?.removeEventListener('abort', stop)
      resolve(isOver)
    }
    const end = (): void => finish(true)
    const stop = (): void => finish(false)
    const late = setTimeout(stop, DISCARD_MS)
    let quiet = setTimeout(stop, QUIET_MS)
    const more = (): void => {
      clearTimeout(quiet)
      quiet = setTimeout(stop, QUIET_MS)
    }
    input.on('data', more).on('end', end).on('close', end)
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** What a person is shown of a request, ending in a newline. */
export function approvalText(request: ApprovalRequest, color: boolean): string {
  const [description = '', reason = ''] = shownToPerson([request.description, request.reason])
  const header = paint(BOLD, `${request.tool}: ${setOff(description)}`, color)
  const lines = [header]
  if (description.includes(LEFT_OUT)) lines.push(...commandLines(request))
  for (const { operation, target, resolved } of request.touches) {
    const [shown = '', leads] = shownToPerson(resolved === undefined ? [target] : [target, resolved])
    // Where a link leads is always told: a name with an arrow in it must not stand for it.
    if (leads !== undefined) lines.push(`  ${operation} ${setOff(`${shown} → ${leads}`)}`)
    else if (!description.includes(shown)) lines.push(`  ${operation} ${setOff(shown)}`)
  }
  lines.push(paint(DIM, `  ${setOff(reason)}`, color))
  const about = lines.slice(0)
  if (request.diff) {
    const diff = diffLines(request.diff, color)
    lines.push(...diff)
    if (diff.length > FAR_LINES) lines.push(...about)
  }
  return `${lines.join('\n')}\n`
}

/** What a command line does whose middle is left out: each simple command and the files, so that none is there where nobody reads. */
function commandLines({ command }: ApprovalRequest): string[] {
  if (command === undefined) return []
  const parts = [
    ...command.commands.map(({ text }) => ['runs', text] as const),
    ...command.writes.map((path) => ['writes', path] as const),
    ...command.reads.map((path) => ['reads', path] as const),
  ]
  const texts = parts.map(([, text]) => {
    const characters = [...text]
    const rest = characters.length - COMMAND_CHARACTERS
    return rest > 0 ? `${characters.slice(0, COMMAND_CHARACTERS).join('')} … and ${rest} characters` : text
  })
  const shown = shownToPerson(texts.slice(0, COMMANDS)).map(
    (text, index) => `  ${parts[index]?.[0]}: ${text.replaceAll('\n', ' ')}`,
  )
  const rest = texts.length - shown.length
  if (rest > 0) shown.push(`  [... ${rest} more of these are not shown here ...]`)
  return [...shown, '  [Variables that are set, and texts that are handed to a command, are not in this list.]']
}

/** The lines of a diff as they are shown; of one that is too long the middle is left out, and said so. */
function diffLines(diff: string, color: boolean): string[] {
  const all = diff.replace(/\n$/, '').split('\n')
  const dropped = Math.max(all.length - DIFF_LINES, 0)
  const half = DIFF_LINES / 2
  const kept = dropped === 0 ? all : [...all.slice(0, half), ...all.slice(-half)]
  // The header is the first two lines: a line that was added may begin like one.
  const isHeader = (index: number): boolean => index < 2 && /^(---|\+\+\+) /.test(all[index] ?? '')
  const parted = kept.map((line) => INDENTED.exec(line) ?? [line, '', '', line])
  const texts = shownToPerson(parted.map(([, , , text = '']) => text))
  const shown = parted.map(([line = '', sign = '', indent = ''], index) => {
    const text = `${sign}${indent.replaceAll('\t', '    ')}${texts[index] ?? ''}`
    return paint(isHeader(index) ? BOLD : diffStyle(line), text.replaceAll('\n', ' '), color)
  })
  if (dropped > 0)
    shown.splice(half, 0, paint(BOLD, `[... ${dropped} lines of the diff are not shown here ...]`, color))
  return shown
}

/** Further lines of what a model chose (a command, the name of a file) are set off: none of them can pass for a line of ours. */
function setOff(text: string): string {
  return text.replaceAll('\n', '\n  | ')
}

const BOLD = '1'
const DIM = '2'

function diffStyle(line: string): string | undefined {
  if (line.startsWith('+')) return '32'
  if (line.startsWith('-')) return '31'
  if (line.startsWith('@@')) return '36'
  return undefined
}

function paint(style: string | undefined, text: string, color: boolean): string {
  return color && style !== undefined ? `\u001B[${style}m${text}\u001B[0m` : text
}
