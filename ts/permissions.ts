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
