import { checkOptions, checkText, describe, encodeJson } from './encode.js'
import { errorFromNative } from './errors/from-native.js'
import { InvalidInputError } from './errors/invalid-input-error.js'
import { analyzeCommand as analyze, createRuleset as create, NativeChecker, presets as allPresets } from './native.js'
import type { NativeOutcome } from './native.js'
import type {
  CommandAnalysis,
  CommandContext,
  CreateRulesetOptions,
  Operation,
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
 * The deny list is a seat belt against accidents, not a wall.
 */
export function analyzeCommand(command: string, context?: CommandContext): CommandAnalysis {
  if (typeof command !== 'string')
    throw new InvalidInputError(`\`command\` must be a string, not ${describe(command)}.`)
  return decode(analyze(checkText(command, 'command'), encodeJson(checkOptions(context, 'context'), 'context')))
}

/**
 * A ruleset, ready to judge. Pure: the same question gets the same answer.
 *
 * @throws {InvalidInputError} a rule is not right, or its `match` and `notMatch` examples do not hold; the rule is named
 */
export class PermissionChecker {
  readonly #native: NativeChecker

  constructor(ruleset: PermissionRuleset | PresetName) {
    const rules = typeof ruleset === 'string' ? presetNamed(ruleset) : checkOptions(ruleset, 'ruleset')
    const made = NativeChecker.create(encodeJson(rules, 'ruleset'))
    if (!made.checker)
      throw errorFromNative(made.error ?? { code: 'INTERNAL', message: 'The rules could not be read.' })
    this.#native = made.checker
  }

  /** The verdict on an operation on one path or command, exactly as it is spelled: give normalised paths. */
  check(operation: Operation, target: string): Verdict {
    for (const [name, value] of Object.entries({ operation, target })) {
      if (typeof value !== 'string')
        throw new InvalidInputError(`\`${name}\` must be a string, not ${describe(value)}.`)
    }
    return decode(this.#native.check(operation, checkText(target, 'target')))
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
