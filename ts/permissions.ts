// The types of rules. Rules are judged in the core; here they are only data.

/** What a rule says. The strictest of several answers counts: deny, then ask, then allow. */
export type Action = 'allow' | 'deny' | 'ask'

/** The kinds of access that rules speak of. */
export type Operation = 'read' | 'write' | 'edit' | 'delete' | 'execute' | 'glob' | 'grep' | 'ls'

/** One rule. The first of a section whose pattern matches decides. */
export interface Rule {
  /** Which paths, or which commands. */
  readonly pattern: string
  readonly action: Action
  readonly description?: string | undefined
  /** Examples that the pattern must match; checked when the toolset is made. */
  readonly match?: readonly string[] | undefined
  /** Examples that the pattern must not match; checked when the toolset is made. */
  readonly notMatch?: readonly string[] | undefined
}

/** The rules of one operation. */
export interface OperationRules {
  /** When no rule matches; the ruleset's own default when absent. */
  readonly default?: Action | undefined
  readonly rules?: readonly Rule[] | undefined
}

/** Rules for each operation; one that is absent follows `default`, which is `ask` when absent. */
export type PermissionRuleset = { readonly default?: Action | undefined } & {
  readonly [operation in Operation]?: OperationRules | undefined
}

/** A ruleset by name. */
export type PresetName = 'default' | 'permissive' | 'readonly' | 'strict'

/** A judgement, and what it rests on. */
export interface Verdict {
  readonly action: Action
  /** The rule that decided; absent where a default did. */
  readonly rule?: {
    readonly operation: Operation
    readonly pattern: string
    readonly description?: string
    /** Its place in the section, from 0. */
    readonly index: number
  }
  /** One sentence for a person or a model. */
  readonly reason: string
}

/** Says whether an operation may be done that a rule asks about; anything but `true` is a no. */
export type PermissionAsker = (operation: Operation, target: string, reason: string) => boolean | Promise<boolean>

/** What a `PermissionChecker` takes besides rules, for its `require`. */
export interface PermissionCheckerOptions {
  /** Is asked where a rule asks. One that throws says no. */
  readonly ask?: PermissionAsker | undefined
  /** What happens without `ask` where a rule asks: `ApprovalRequiredError` or `PermissionDeniedError`. Default `error`. */
  readonly withoutAsk?: 'error' | 'deny' | undefined
}

/** Answers to "may it …?". Defaults: reading, listing and searching yes, everything else no; secrets denied. */
export interface CreateRulesetOptions {
  /** For operations without a section. Default `ask`. */
  readonly default?: Action | undefined
  readonly allowRead?: boolean | undefined
  readonly allowWrite?: boolean | undefined
  readonly allowEdit?: boolean | undefined
  /** Default: as `allowWrite`. */
  readonly allowDelete?: boolean | undefined
  readonly allowExecute?: boolean | undefined
  readonly allowGlob?: boolean | undefined
  readonly allowGrep?: boolean | undefined
  readonly allowLs?: boolean | undefined
  readonly denySecrets?: boolean | undefined
}

/** What a command is judged against. */
export interface CommandContext {
  /** Where the command runs, absolute. Default `/`, the strictest: every relative name is then one right below the root. */
  readonly workingDirectory?: string | undefined
  /** The home directory; without one `~` and `$HOME` are unresolved. */
  readonly home?: string | undefined
  /** The agent's directories: none is deleted as a whole, and `cd` must stay within them. */
  readonly roots?: readonly string[] | undefined
  /** Beginnings of commands that may run, such as `git status`; an empty list allows none. */
  readonly allowedCommands?: readonly string[] | undefined
  /** Whether the shell ran other command lines before, which may have given variables any value. Default false. */
  readonly continues?: boolean | undefined
  /**
   * Whether `!` and `^` may stand for text of those lines. Default true, as in an interactive shell that was not told otherwise;
   * false for lines at the prompt of a session of this package.
   */
  readonly expandsHistory?: boolean | undefined
}

/** The parsed picture of a command line. */
export interface CommandAnalysis {
  /** Whether the whole text was understood. */
  readonly parsed: boolean
  /** Every simple command that can run. */
  readonly commands: readonly {
    /** Its words, quotes removed; `…` stands for what is not known. */
    readonly text: string
    /** Its words; null for one that is not known. */
    readonly argv: readonly (string | null)[]
    /** Whether it only starts another command of this list (`nohup`, `time`). */
    readonly wrapper: boolean
  }[]
  /** Files that are read, as far as they can be told. */
  readonly reads: readonly string[]
  /** Files that are written or removed. */
  readonly writes: readonly string[]
  /** What is known only when it runs, or was not understood. */
  readonly unresolved: readonly string[]
  readonly verdict: { readonly action: Action; readonly reason: string }
}
