// A tool's input as Standard Schema and Standard JSON Schema: https://standardschema.dev. The types are structural, so that
// nobody needs a package for them.

import { GloveportError } from '../errors/gloveport-error.js'
import { UnsupportedError } from '../errors/unsupported-error.js'
import type { JsonSchemaObject } from './types.js'

/** What stands under `~standard`. */
export interface StandardProps {
  readonly version: 1
  readonly vendor: 'gloveport'
  readonly types?: { readonly input: unknown; readonly output: unknown } | undefined
  /** Decodes the value as a call would, and changes nothing about it. */
  readonly validate: (value: unknown) => Promise<StandardResult>
  readonly jsonSchema: {
    readonly input: (options: { readonly target: string }) => Record<string, unknown>
    readonly output: (options: { readonly target: string }) => Record<string, unknown>
  }
}

/** The answer of `validate`. */
export type StandardResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] }

/** The schemas use only what means the same in both. */
const TARGETS: readonly string[] = ['draft-07', 'draft-2020-12']

/** The `~standard` of a tool with this schema; `decode` rejects with what is wrong with an input. */
export function standardProps(schema: JsonSchemaObject, decode: (value: unknown) => Promise<void>): StandardProps {
  const convert = ({ target }: { readonly target: string }): Record<string, unknown> => {
    if (!TARGETS.includes(target)) {
      throw new UnsupportedError(`There is no '${target}' schema of a tool; ask for one of ${TARGETS.join(', ')}.`)
    }
    return structuredClone(schema) as Record<string, unknown>
  }
  return {
    version: 1,
    vendor: 'gloveport',
    validate: async (value) => {
      try {
        await decode(value)
        return { value }
      } catch (error) {
        if (GloveportError.isInstance(error) && error.code === 'INVALID_INPUT')
          return { issues: [{ message: error.message }] }
        throw error
      }
    },
    jsonSchema: { input: convert, output: convert },
  }
}
