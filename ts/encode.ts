// JavaScript values to JSON text, strictly: what JSON would silently change or drop is an error that names the place.

import { InvalidInputError } from './errors/invalid-input-error.js'

/** 120 levels: the core's JSON reader stops at 128, and no input of a tool is nested deeper than five. */
const MAX_DEPTH = 120
/** 1,000,000 values: a shared object counts each time it appears, so that a small graph cannot stand for a huge tree. */
const MAX_VALUES = 1_000_000

/**
 * The JSON text of `value`. `name` is what messages call it, such as `input`.
 *
 * A field that is `undefined` is left out, as in JSON. Everything else that JSON cannot carry exactly is refused:
 * NaN and infinities, BigInt, functions, symbols, holes and `undefined` in arrays, cycles, class instances, and
 * strings with half a surrogate pair.
 */
export function encodeJson(value: unknown, name: string): string {
  try {
    new Check(name).value(value, [], 0)
    return JSON.stringify(value)
  } catch (error) {
    if (error instanceof InvalidInputError) throw error
    // A getter or proxy of the caller threw, or the text would be longer than a string can be.
    throw new InvalidInputError(`\`${name}\` cannot be read as plain data.`, { cause: error })
  }
}

/** A string that survives the way to UTF-8, or an error that says what is wrong with it. */
export function checkText(text: unknown, name: string): string {
  if (typeof text !== 'string') throw new InvalidInputError(`\`${name}\` must be a string, not ${describe(text)}.`)
  if (!text.isWellFormed()) {
    throw new InvalidInputError(
      `\`${name}\` holds half a surrogate pair, which no encoding can carry; send whole characters.`,
    )
  }
  return text
}

/** The caller's text, or an error. */
export function checkString(value: unknown, name: string): string {
  if (typeof value === 'string' && value.isWellFormed()) return value
  throw new InvalidInputError(`\`${name}\` must be a string of whole characters, not ${describe(value)}.`)
}

/** The caller's milliseconds, or an error; `undefined` where there are none. */
export function checkMilliseconds(value: unknown, name: string): number | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  const given = typeof value === 'number' ? value : describe(value)
  throw new InvalidInputError(`\`${name}\` must be a whole number of milliseconds from 0 on, not ${given}.`)
}

/** The caller's true or false, or an error. */
export function checkFlag(value: unknown, name: string): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value
  throw new InvalidInputError(`\`${name}\` must be true or false, not ${describe(value)}.`)
}

/** The caller's function, or an error. */
export function checkFunction<F>(value: F | undefined, name: string): F | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'function')
    throw new InvalidInputError(`\`${name}\` must be a function, not ${describe(value)}.`)
  return value
}

/** The caller's options as an object, or an error. */
export function checkOptions<T extends object>(options: T | undefined, name = 'options'): Partial<T> {
  if (options === undefined || options === null) return {}
  if (typeof options !== 'object' || Array.isArray(options)) {
    throw new InvalidInputError(`\`${name}\` must be an object, not ${describe(options)}.`)
  }
  return options
}

/** The caller's options, or an error that names the ones that there are. One that is `undefined` is not there. */
export function checkKnown<T extends object>(
  options: T | undefined,
  known: readonly (keyof T & string)[],
  name = 'options',
): Partial<T> {
  const given = checkOptions(options, name)
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || known.some((one) => one === key)) continue
    throw new InvalidInputError(`\`${name}.${key.toWellFormed()}\` is not known; there are ${known.join(', ')}.`)
  }
  return given
}

class Check {
  #values = 0
  readonly #ancestors = new Set<object>()

  constructor(readonly name: string) {}

  /** Depth is bounded, so this recursion is too. */
  value(value: unknown, path: (string | number)[], depth: number): void {
    this.#values += 1
    if (this.#values > MAX_VALUES) this.#refuse([], `holds more than ${MAX_VALUES} values`)
    switch (typeof value) {
      case 'boolean':
        return
      case 'string':
        if (!value.isWellFormed()) this.#refuse(path, 'holds half a surrogate pair, which no encoding can carry')
        return
      case 'number':
        if (!Number.isFinite(value)) this.#refuse(path, `is ${value}; use a finite number`)
        return
      case 'object':
        if (value !== null) this.#object(value, path, depth)
        return
      case 'bigint':
      case 'function':
      case 'symbol':
      case 'undefined':
        this.#refuse(path, `is ${describe(value)}, which JSON cannot carry`)
    }
  }

  #object(value: object, path: (string | number)[], depth: number): void {
    if (depth >= MAX_DEPTH) this.#refuse([], `is nested deeper than ${MAX_DEPTH} levels`)
    if (this.#ancestors.has(value)) this.#refuse(path, 'contains itself')
    if (typeof (value as { toJSON?: unknown }).toJSON === 'function' || !isPlain(value)) {
      this.#refuse(path, `is ${describe(value)}; use plain objects, arrays, strings, numbers and booleans`)
    }
    this.#ancestors.add(value)
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) {
        path.push(index)
        this.value(value[index], path, depth + 1)
        path.pop()
      }
    } else {
      for (const [key, field] of Object.entries(value)) {
        if (field === undefined) continue
        path.push(key)
        if (!key.isWellFormed()) this.#refuse(path, 'has a name with half a surrogate pair')
        this.value(field, path, depth + 1)
        path.pop()
      }
    }
    this.#ancestors.delete(value)
  }

  #refuse(path: readonly (string | number)[], what: string): never {
    const place = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step.toWellFormed()}`)).join('')
    throw new InvalidInputError(`\`${this.name}${place}\` ${what}.`)
  }
}

/** Plain objects and arrays of any realm: their prototype is a root, or an array's, which stands one below a root. */
function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** What a value is, in words for a message. */
export function describe(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  switch (typeof value) {
    case 'undefined':
      return 'undefined'
    case 'bigint':
      return 'a BigInt'
    case 'object':
      return isPlain(value) ? 'an object' : `a ${value.constructor?.name || 'special object'}`
    default:
      return `a ${typeof value}`
  }
}
