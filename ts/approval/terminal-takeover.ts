// Hands a terminal session to the person at this terminal. Programs chose what the session shows, and a model what it is
// asked: nothing of either reaches the person's terminal as it came. The lines are painted anew by the core, in the
// alternate screen, so that the person's own scrollback stays clean.

import type { TerminalPainting, TerminalSession } from '../backend/terminal-session.js'
import { checkOptions, describe } from '../encode.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { escapeControls } from '../escape-controls.js'
import type { HelpHandler, HelpRequest, TookOver } from '../toolset/types.js'
import { inTurn } from './in-turn.js'

/** A terminal's keys. */
type Keys = NodeJS.ReadableStream & {
  readonly isTTY?: boolean
  readonly isRaw?: boolean
  setRawMode?(raw: boolean): unknown
}
/** A terminal's screen. */
type Sheet = NodeJS.WritableStream & {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

/** Where a {@link terminalTakeover} happens. */
export interface TerminalTakeoverOptions {
  /** Default `process.stdin`. */
  readonly input?: Keys
  /** Default `process.stdout`. */
  readonly output?: Sheet
  /** The key that gives the session back: what is pressed together with Ctrl, one of `a` to `z` and `[ \ ] ^ _`. Default `]`. */
  readonly leaveKey?: string
}

/**
 * For `onHelp`: the person at this terminal works in the session themselves. Their keys reach its program, they see its
 * screen, and a last line says what the model asks and how to leave (Ctrl-]). Meanwhile the model's calls type nothing into
 * the session. What was printed is told to the model: what a person types where it is shown, the model reads. Without a session
 * they are asked for a command. Without a terminal nobody is there.
 *
 * @example
 * const toolset = createToolset({ backend, tools: ['terminal'], approve: terminalApprover(), onHelp: terminalTakeover() })
 *
 * @throws {InvalidInputError} `leaveKey` is no such key
 */
export function terminalTakeover(options: TerminalTakeoverOptions = {}): HelpHandler {
  const { input = process.stdin, output = process.stdout, leaveKey = ']' } = checkOptions(options)
  const leave = leaveByte(leaveKey)
  return async (request, { session, signal }) =>
    inTurn(input, async () => {
      if (signal?.aborted || !input.isTTY || !output.isTTY) return undefined
      if (!session) return askForCommand(request, input, output, signal)
      const status = ` Ctrl-${leaveKey.toUpperCase()} gives '${request.sessionId}' back | ${oneLine(request.prompt)}`
      return new Takeover(session, input, output, leave, status).run(signal)
    })
}

function leaveByte(key: unknown): number {
  if (typeof key === 'string' && /^[a-z[\\\]^_]$/i.test(key)) return key.toUpperCase().charCodeAt(0) & 0x1f
  const shown = typeof key === 'string' ? JSON.stringify(key) : describe(key)
  throw new InvalidInputError(`\`options.leaveKey\` must be a letter or one of [ \\ ] ^ _, not ${shown}.`)
}

function oneLine(text: string): string {
  return escapeControls(text).replaceAll(/[\n\t]+/g, ' ')
}

async function askForCommand(
  { sessionId, prompt }: HelpRequest,
  input: Keys,
  output: Sheet,
  signal: AbortSignal | undefined,
): Promise<string> {
  // As in `terminalApprover`: loaded where it is needed.
  const { createInterface } = await import('node:readline')
  const terminal = createInterface({ input, output })
  output.write(`\nHelp is asked for: ${oneLine(prompt)}\n`)
  const answer = await new Promise<string>((resolve) => {
    const stop = (): void => resolve('')
    terminal.once('close', stop)
    terminal.once('SIGINT', stop)
    signal?.addEventListener('abort', stop, { once: true })
    terminal.question(`Command to run in the new session '${escapeControls(sessionId)}' (none): `, resolve)
  })
  terminal.close()
  return answer
}

const ENTER = '\u001B[?1049h\u001B[?7l\u001B[2J'
const LEAVE = '\u001B[m\u001B[?7h\u001B[?25h\u001B[?1049l'

const BELL = '\u0007'
/** 1 MiB may wait for a program that does not read: no person types it, and it bounds what somebody pastes. */
const WAITING_BYTES = 1 << 20
/** 1 s for what was typed before the key that leaves. */
const LEAVE_MS = 1_000

/** One session in a person's hands. */
class Takeover {
  /** The lines as they stand on the person's terminal. */
  #lines: string[] = []
  #applicationCursor = false
  /** Bytes that the program did not take yet. */
  #waiting = 0
  /** What was typed goes in one after the other. */
  #typed: Promise<unknown> = Promise.resolve()
  readonly #over = new AbortController()

  constructor(
    readonly session: TerminalSession,
    readonly input: Keys,
    readonly output: Sheet,
    readonly leave: number,
    readonly status: string,
  ) {}

  async run(signal: AbortSignal | undefined): Promise<TookOver> {
    const { session, input, output } = this
    const over = (): void => this.#over.abort()
    const resized = (): void => void this.#resize().catch(over)
    const wasRaw = input.isRaw ?? false
    const before = await session.painting()
    this.#applicationCursor = before.applicationCursor
    signal?.addEventListener('abort', over, { once: true })
    if (signal?.aborted) over()
    input.on('data', this.#type).once('end', over).once('close', over)
    output.on('resize', resized)
    try {
      input.setRawMode?.(true)
      output.write(ENTER)
      await this.#resize()
      input.resume()
      await this.#show()
    } finally {
      signal?.removeEventListener('abort', over)
      input.off('data', this.#type).off('end', over).off('close', over)
      output.off('resize', resized)
      input.pause()
      input.setRawMode?.(wasRaw)
      output.write(LEAVE)
      await this.#typed
      // The session may have ended.
      await session.resize(before.columns, before.rows).catch(() => {})
    }
    return { tookOver: true }
  }

  /** Draws what changes until the session ends or is given back. */
  async #show(): Promise<void> {
    const { signal } = this.#over
    try {
      for (let since: number | undefined; ;) {
        const painting = await this.session.painting({ since, signal })
        const isTaken = this.#draw(painting)
        if (painting.ended) return
        since = painting.position
        // Only the newest counts: what a slow terminal cannot show is never made.
        if (!isTaken) await this.#drained()
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  /** The last line is ours. */
  get #size(): { readonly columns: number; readonly rows: number } {
    const { columns = 80, rows = 24 } = this.output
    return { columns: clamp(columns), rows: clamp(rows - 1) }
  }

  async #resize(): Promise<void> {
    const { columns, rows } = this.#size
    this.#lines = []
    // Where it has just ended, what it showed last is shown.
    await this.session.resize(columns, rows).catch(() => {})
    const status = Array.from(this.status).slice(0, columns).join('').padEnd(columns)
    this.output.write(`\u001B[2J\u001B[${rows + 1};1H\u001B[7m${status}\u001B[m`)
    this.#draw(await this.session.painting())
  }

  /** Waits until the person's terminal took what it was given, or the session is given back. */
  #drained(): Promise<void> {
    const { output } = this
    const { signal } = this.#over
    return new Promise((resolve) => {
      const done = (): void => {
        for (const event of ['drain', 'close', 'error']) output.off(event, done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      for (const event of ['drain', 'close', 'error']) output.on(event, done)
      signal.addEventListener('abort', done)
      if (signal.aborted) done()
    })
  }

  /** Whether the terminal takes more at once. */
  #draw({ lines, cursorRow, cursorColumn, cursorHidden, applicationCursor }: TerminalPainting): boolean {
    const { columns, rows } = this.#size
    this.#applicationCursor = applicationCursor
    let text = '\u001B[?25l'
    for (const [row, line] of lines.slice(0, rows).entries()) {
      if (line !== this.#lines[row]) text += `\u001B[${row + 1};1H\u001B[K${line}`
    }
    this.#lines = [...lines]
    text += `\u001B[${Math.min(cursorRow + 1, rows)};${Math.min(cursorColumn + 1, columns)}H`
    return this.output.write(cursorHidden ? text : `${text}\u001B[?25h`)
  }

  readonly #type = (chunk: Buffer | string): void => {
    if (this.#over.signal.aborted) return
    const bytes = Buffer.from(chunk)
    const end = bytes.indexOf(this.leave)
    const keys = this.#keys(end < 0 ? bytes : bytes.subarray(0, end))
    if (this.#waiting + keys.length > WAITING_BYTES) {
      this.output.write(BELL)
    } else if (keys.length > 0) {
      this.#waiting += keys.length
      this.#typed = this.#give(keys, this.#typed)
    }
    if (end >= 0) {
      const over = (): void => this.#over.abort()
      void this.#typed.then(over)
      // Who holds a program that does not read can leave it all the same.
      setTimeout(over, LEAVE_MS).unref()
    }
  }

  async #give(keys: Buffer, before: Promise<unknown>): Promise<void> {
    await before
    // The session may have ended, or be given back while its program does not read.
    await this.session.write(keys, { signal: this.#over.signal }).catch(() => {})
    this.#waiting -= keys.length
  }

  /** The person's terminal knows nothing of the form of arrow keys that the program asked for. */
  #keys(bytes: Buffer): Buffer {
    if (!this.#applicationCursor) return bytes
    // oxlint-disable-next-line no-control-regex
    return Buffer.from(bytes.toString('latin1').replaceAll(/\u001B\[([ABCDHF])/g, '\u001BO$1'), 'latin1')
  }
}

/** What a session takes as columns or rows. */
function clamp(count: number): number {
  return Math.min(Math.max(count, 1), 500)
}
