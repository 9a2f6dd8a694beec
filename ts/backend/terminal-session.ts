// A command on a terminal of its own.

import { checkKnown } from '../encode.js'
import type { NativeProcess } from '../native.js'
import { decode, RunningCommand } from './running-command.js'
import type { CallSignal, ExecuteLimits } from './types.js'

/** How a terminal is opened. */
export interface TerminalOptions extends CallSignal {
  /** The command line; default a shell that waits for commands. */
  readonly command?: string | undefined
  /** Where it runs; default the working directory. */
  readonly cwd?: string | undefined
  /** Variables on top of the backend's. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Default 120. */
  readonly columns?: number | undefined
  /** Default 40. */
  readonly rows?: number | undefined
  /** Ceilings on what it uses. */
  readonly limits?: ExecuteLimits | undefined
}

/** What a terminal shows. */
export interface TerminalScreen {
  /** From the top, without spaces at their ends, up to the last line that shows something. */
  readonly lines: readonly string[]
  /** The numbers, from 0, of the lines that changed since the last look. */
  readonly changed: readonly number[]
  readonly cursorRow: number
  readonly cursorColumn: number
  readonly cursorHidden: boolean
  /** What the program called its window. */
  readonly title: string
  /** Whether a full-screen program shows its own screen. */
  readonly alternateScreen: boolean
  readonly columns: number
  readonly rows: number
}

/** What a terminal shows, as lines that may be written to a person's terminal. */
export interface TerminalPainting {
  /**
   * All lines from the top, made anew from what was drawn: with colours, attributes and moves of the cursor within the line,
   * and without anything else that a terminal obeys. Each begins and ends with plain attributes.
   */
  readonly lines: readonly string[]
  readonly cursorRow: number
  readonly cursorColumn: number
  readonly cursorHidden: boolean
  /** Whether the program wants the arrow keys as `ESC O A` instead of `ESC [ A`. */
  readonly applicationCursor: boolean
  readonly columns: number
  readonly rows: number
  /** For `since` of the next look. */
  readonly position: number
  /** Whether the program has ended. */
  readonly ended: boolean
}

export interface PaintingOptions extends CallSignal {
  /** The `position` of the last look: waits until something was printed since, or the program ended. Default: does not wait. */
  readonly since?: number | undefined
}

/**
 * A command on a terminal. What {@link RunningCommand.read} gives is raw, escape sequences included: never show it on a
 * person's terminal. {@link TerminalSession.screen} is text.
 *
 * @example
 * await using terminal = await backend.openTerminal({ command: 'python3 -q' })
 * await terminal.write('print(6 * 7)\r')
 */
export class TerminalSession extends RunningCommand {
  /** For this package. */
  constructor(native: NativeProcess) {
    super(native, 0)
  }

  /** Gives the terminal another size. */
  async resize(columns: number, rows: number, options?: CallSignal): Promise<void> {
    await this.invoke('resize', { columns, rows }, options)
  }

  /** What it shows now. */
  async screen(options?: CallSignal): Promise<TerminalScreen> {
    return decode<TerminalScreen>(await this.invoke('screen', {}, options))
  }

  /** What it shows, to be written to a person's terminal; see {@link TerminalPainting}. Not a look for `changed`. */
  async painting(options?: PaintingOptions): Promise<TerminalPainting> {
    const { since, signal } = checkKnown(options, ['since', 'signal'])
    const outcome = await this.invoke('painting', { since }, { signal })
    const { painting, ...facts } = decode<{ painting: object; position: number; ended: boolean }>(outcome)
    return { ...painting, ...facts } as TerminalPainting
  }

  /** What it shows now as a PNG, 8 by 16 pixels a character, for models that see. */
  async screenPng(options?: CallSignal): Promise<Uint8Array> {
    const { bytes } = await this.invoke('screenPng', {}, options)
    return bytes ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array()
  }
}
