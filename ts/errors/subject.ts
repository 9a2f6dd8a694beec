// What a refusal is about, as its details tell it: those of a rule themselves, those of an approval by what it would touch.

import type { Operation } from '../permissions.js'

interface Subject {
  readonly operation?: Operation
  readonly target?: string
}

/** The operation and its target, where the details have them. */
export function subjectOf(details: unknown): Subject {
  if (typeof details !== 'object' || details === null) return {}
  const { touches } = details as { readonly touches?: unknown }
  const { operation, target } = (Array.isArray(touches) ? (touches[0] ?? {}) : details) as Subject
  return typeof operation === 'string' && typeof target === 'string' ? { operation, target } : {}
}
