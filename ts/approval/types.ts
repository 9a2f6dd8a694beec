// What somebody is asked, and what they answer.

import type { CommandAnalysis, Operation } from '../permissions.js'

/** What somebody is asked to approve. Plain data: it can be stored, sent, and shown elsewhere. */
export interface ApprovalRequest {
  readonly callId: string
  /** Our own name of the tool, whatever the model calls it. */
  readonly tool: string
  /** The input as the hooks left it, in the form that `call` takes again. */
  readonly input: unknown
  /**
   * The input as the tool takes it: decoded by its schema, coerced, with what was left out filled in. Plain data: of a schema
   * that makes something else (a `Date`), what JSON tells of it.
   */
  readonly decodedInput: unknown
  /** What will happen; control characters are escaped. */
  readonly description: string
  /** Why somebody is asked. */
  readonly reason: string
  /** What will be touched. */
  readonly touches: readonly Touch[]
  /** The unified diff that a write or edit would make. */
  readonly diff?: string
  /** The parsed picture of a command. */
  readonly command?: CommandAnalysis
  /** What a tool of the application says to whoever is asked. */
  readonly metadata?: unknown
}

/** One path or command that a call touches. */
export interface Touch {
  readonly operation: Operation
  /** The path as asked, or the command. */
  readonly target: string
  /** Where the path really leads, when that is another place. */
  readonly resolved?: string
}

/** The answer to an {@link ApprovalRequest}. */
export interface ApprovalDecision {
  readonly approved: boolean
  /** Why; the model reads it. */
  readonly reason?: string | undefined
  /** `session`: the same tool with the same input is not asked about again while the toolset lives. Default `none`. */
  readonly remember?: 'none' | 'session' | undefined
  /** Another input to run instead, in the form of `request.input`; it is decoded and decided afresh. */
  readonly input?: unknown
}

/** What belongs to the call that an approver is asked about. */
export interface ApprovalContext {
  /** The caller's own object, as `call` was given it. */
  readonly context: unknown
  /** The object that all hooks of the call share. */
  readonly metadata: Record<string, unknown>
  /** The caller's signal; when it aborts, the answer is no longer wanted. */
  readonly signal: AbortSignal | undefined
}

/** Asks somebody. One that throws or answers something else than a decision is a no. */
export type Approver = (request: ApprovalRequest, call: ApprovalContext) => Promise<ApprovalDecision> | ApprovalDecision

/**
 * Somebody's answer that was given elsewhere, such as in a framework's own approval. Where `assess` was called with the
 * same `callId` in this process, the grant holds for the tool, the input and the files as they were shown then;
 * otherwise for the tool and the input, and the result says so.
 */
export interface ApprovalGrant {
  readonly approved: boolean
  readonly reason?: string | undefined
}
