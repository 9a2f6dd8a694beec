// A command on a terminal of its own.

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
}
