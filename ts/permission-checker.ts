import { checkFunction, checkOptions, checkText, encodeJson } from './encode.js'
import { ApprovalRequiredError } from './errors/approval-required-error.js'
import { errorFromNative } from './errors/from-native.js'
import { InvalidInputError } from './errors/invalid-input-error.js'
import { PermissionDeniedError } from './errors/permission-denied-error.js'
import { analyzeCommand as analyze, createRuleset as create, NativeChecker, presets as allPresets } from './native.js'
import type { NativeOutcome } from './native.js'
import type {
  CommandAnalysis,
  CommandContext,
  CreateRulesetOptions,
  Operation,
  PermissionAsker,
  PermissionCheckerOptions,
  PermissionRuleset,
  PresetName,
  Verdict,
} from './permissions.js'

/** The built-in rulesets; by name they may also be given to `createToolset({ permissions })`. */
export const presets: Readonly<Record<PresetName, PermissionRuleset>> = deepFreeze(decode(allPresets()))

/**
 * A ruleset from answers to "may it …?": yes allows, no asks. Secrets and dangerous commands are denied unless
 * `denySecrets` is false.
 *
 * @example
 * createToolset({ backend, permissions: createRuleset({ allowWrite: true, allowEdit: true }) })
 */
export function createRuleset(options?: CreateRulesetOptions): PermissionRuleset {
  return decode(create(encodeJson(checkOptions(options), 'options')))
}

/**
 * The parsed picture of a shell command (POSIX sh and bash): what it runs, reads and writes, what cannot be known before it
 * runs, and the verdict of the built-in policy. Nothing is run and nothing is looked up.
 *
 * The deny list is a seat belt against accidents, not a wall. Give `workingDirectory`: without one every relative name is
 * read from `/`, which is the strictest reading (`rm x` then removes a top directory, and is denied).
 */
export function analyzeCommand(command: string, context?: CommandContext): CommandAnalysis {
  return decode(analyze(checkText(command, 'command'), encodeJson(checkOptions(context, 'context'), 'context')))
}

/**
 * A ruleset, ready to judge. Pure: the same question gets the same answer.
 *
 * @throws {InvalidInputError} a rule is not right, or its `match` and `notMatch` examples do not hold; the rule is named
 */
export class PermissionChecker {
  readonly #native: NativeChecker
  readonly #ask: PermissionAsker | undefined
  readonly #withoutAsk: 'error' | 'deny'

  constructor(ruleset: PermissionRuleset | PresetName, options?: PermissionCheckerOptions) {
    const { ask, withoutAsk = 'error' } = checkOptions(options)
    this.#ask = checkFunction(ask, 'ask')
    if (withoutAsk !== 'error' && withoutAsk !== 'deny')
      throw new InvalidInputError("`options.withoutAsk` must be 'error' or 'deny'.")
    this.#withoutAsk = withoutAsk
    const rules = typeof ruleset === 'string' ? presetNamed(ruleset) : checkOptions(ruleset, 'ruleset')
    const made = NativeChecker.create(encodeJson(rules, 'ruleset'))
    if (!made.checker)
      throw errorFromNative(made.error ?? { code: 'INTERNAL', message: 'The rules could not be read.' })
    this.#native = made.checker
  }

  /**
   * The verdict on an operation on one path or command. A path with `.`, `..` or doubled slashes is judged as it is spelled and
   * without them, and the stricter answer counts.
   */
  check(operation: Operation, target: string): Verdict {
    return decode(this.#native.check(checkText(operation, 'operation'), checkText(target, 'target')))
  }

  /**
   * Like `check`, for code that goes on only when it may: resolves when the operation is allowed, or when `ask` says yes
   * where a rule asks. `reason` is told to whoever is asked.
   *
   * @throws {PermissionDeniedError} a rule denies it, `ask` said no or failed, or nobody is there and `withoutAsk` is `deny`
   * @throws {ApprovalRequiredError} a rule asks and there is no `ask`
   */
  async require(operation: Operation, target: string, reason?: string): Promise<Verdict> {
    const verdict = this.check(operation, target)
    if (verdict.action === 'allow') return verdict
    const about = { operation, target, ...(verdict.rule ? { rule: verdict.rule } : {}) }
    if (verdict.action === 'deny') throw new PermissionDeniedError(verdict.reason, { details: about })
    if (this.#ask === undefined) {
      if (this.#withoutAsk === 'deny') throw new PermissionDeniedError(verdict.reason, { details: about })
      throw new ApprovalRequiredError(verdict.reason, { details: { ...about, reason: reason ?? verdict.reason } })
    }
    let approved: unknown
    try {
      approved = await this.#ask(operation, target, reason ?? verdict.reason)
    } catch (cause) {
      throw new PermissionDeniedError(`Nobody could be asked: ${verdict.reason}`, { details: about, cause })
    }
    // Nothing but a plain yes is one.
    if (approved === true) return verdict
    throw new PermissionDeniedError(`Somebody was asked and said no: ${verdict.reason}`, { details: about })
  }
}

function presetNamed(name: string): PermissionRuleset {
  if (Object.hasOwn(presets, name)) return presets[name as PresetName]
  throw new InvalidInputError(`There is no preset of that name; there are ${Object.keys(presets).join(', ')}.`)
}

function decode<T>(outcome: NativeOutcome): T {
  if (outcome.error) throw errorFromNative(outcome.error)
  return JSON.parse(outcome.value ?? 'null') as T
}

/** Rulesets are shared by all who import them. */
function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze)
  return value
}
