// What the tools that run commands tell programs, beside the text for the model: the `data` of their results.

import type { TerminalScreen } from '../backend/terminal-session.js'
import type { ExecuteResult } from '../backend/types.js'

/** The ceiling of `commandLimits` for which something was ended. */
export type CeilingName = NonNullable<ExecuteResult['ceiling']>

/** What is known of a session; the `data` of `shell_kill_process`. */
export interface SessionData {
  readonly id: string
  /** Whether a command runs in it. */
  readonly running: boolean
  /** Whether its shell has not ended. */
  readonly open: boolean
}

/** Of output that is told in part. */
interface OutputData {
  /** What was printed: plain text, or the screen of a full-screen program; of `read_output` as it was printed. */
  readonly output: string
  /** Bytes that `text` and `output` leave out. */
  readonly droppedBytes: number
  /** Whether the next look has more at once. */
  readonly more: boolean
  /** The file, in the agent's own paths, that has what is left out. */
  readonly spillPath: string | null
  /** Where that file holds only the beginning: so many bytes. */
  readonly spillBytes: number | null
}

/** How a session, or a command in it, ended. */
interface EndData {
  /** Null where it has not ended, or nobody knows. */
  readonly exitCode: number | null
  /** The signal by which the shell ended, such as `SIGKILL`. */
  readonly signal: string | null
  readonly ceiling: CeilingName | null
}

/** The `data` of `shell_exec`. */
export interface ShellExecData extends SessionData, OutputData, EndData {
  /** The process number of the shell, where there is one. */
  readonly pid: number | null
  /** What the exit code means, where that is well known. */
  readonly exitMeaning: string | null
  /** Whether `output` is the screen of a full-screen program. */
  readonly fullScreen: boolean
  /** What the session printed before the command, and nobody had looked at; also what its shell that had ended did. */
  readonly before: string
  /** How what ran before ended, where nobody was told. */
  readonly beforeExitCode: number | null
  /** Whether the command goes on because the time to wait for it was over. */
  readonly timedOut: boolean
  /** Whether the shell ran another line, as another program that reads the same terminal took a part of this one. */
  readonly torn: boolean
  /**
   * The lines that were typed while something ran before and that it did not read, one behind the other: the shell ran none of them. Told
   * once.
   */
  readonly thrownAway: string | null
  /** Whether it goes on because it asks for input. */
  readonly waitsForInput: boolean
  /** Whether it is stopped, as by Ctrl-Z, and has not ended. */
  readonly stopped: boolean
}

/** The `data` of `shell_view` and `shell_write_to_process`. */
export interface ShellViewData extends SessionData, OutputData, EndData {
  /** Whether the shell waits for a command. */
  readonly atPrompt: boolean
  /** Whether the command that the look tells of is stopped, as by Ctrl-Z, and has not ended. */
  readonly stopped: boolean
  /** Whether the shell ran another line than the one that was typed last at its prompt, or none: another program took a part of it. */
  readonly torn: boolean
  /**
   * The lines that were typed while something ran before and that it did not read, one behind the other: the shell ran none of them. Told
   * once.
   */
  readonly thrownAway: string | null
  /**
   * Whether what runs asks for a line, or draws a full screen and waits for a key: the kernel says that it reads the terminal, and the last
   * line has no end.
   */
  readonly waitsForInput: boolean
  /** Whether `output` is the screen of a full-screen program. */
  readonly fullScreen: boolean
}

/** The `data` of `shell_resize`. */
export interface ShellResizeData {
  readonly id: string
  readonly columns: number
  readonly rows: number
}

/** The `data` of `shell_ask_user_for_help`; what a look tells is there where a person took the session over. */
export interface ShellHelpData extends Partial<ShellViewData> {
  readonly id: string
  /** Whether the person answered, or worked in the session. */
  readonly answered: boolean
  /** Whether they worked in it themselves. */
  readonly tookOver?: true
}

/** One of the `data` of `shell_list` and `list_shells`. */
export interface ShellEntry extends SessionData, Omit<EndData, 'ceiling'> {
  /** What it was opened with, as it was given. */
  readonly command: string
  readonly pid: number | null
}

/** The `data` of `execute`. */
export interface ExecuteData extends Omit<ExecuteResult, 'process'> {
  readonly aborted: boolean
  /** The background shell in which it goes on (`onTimeout: 'background'`). */
  readonly shellId?: string
  /** Its process number. */
  readonly pid?: number | null
}

/** The `data` of `run_in_background`. */
export interface BackgroundData {
  readonly shellId: string
  readonly pid: number | null
}

/** The `data` of `read_output`. */
export interface ReadOutputData extends OutputData, EndData {
  readonly shellId: string
  readonly running: boolean
  readonly durationMs: number
  /** Processes that the command left behind and that were ended. */
  readonly processesLeft: number | null
}

/** The `data` of `kill_shell`. */
export interface KillShellData {
  readonly shellId: string
  /** Whether this call ended it. */
  readonly killed: boolean
}

/** The `data` of `shell_input`. */
export interface ShellInputData {
  readonly shellId: string
  /** Bytes that it was given. */
  readonly bytes: number
  /** Whether its input was ended. */
  readonly closed: boolean
  /** Whether some of what it was given is not read yet. */
  readonly waits: boolean
}

/** The `data` of each tool that runs commands, by its name. */
export interface ToolData {
  readonly execute: ExecuteData
  readonly run_in_background: BackgroundData
  readonly read_output: ReadOutputData
  readonly kill_shell: KillShellData
  readonly list_shells: readonly ShellEntry[]
  readonly shell_input: ShellInputData
  readonly shell_exec: ShellExecData
  readonly shell_view: ShellViewData
  readonly shell_write_to_process: ShellViewData
  readonly shell_kill_process: SessionData
  readonly shell_screen: TerminalScreen
  readonly shell_resize: ShellResizeData
  readonly shell_list: readonly ShellEntry[]
  readonly shell_ask_user_for_help: ShellHelpData
}

/** The `data` of the tool of that name; `unknown` of one that has no fixed shape, or of a name that is known only when it runs. */
export type DataOf<Name extends string> = Name extends keyof ToolData ? ToolData[Name] : unknown
