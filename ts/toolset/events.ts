// What a toolset tells an application's `onEvent` and writes into its audit log: enough to log, trace or audit every call.
// Secrets are masked, and long texts cut.

import type { ApprovalRequest } from '../approval/types.js'
import type { ErrorCode } from '../errors/error-code.js'
import type { Action } from '../permissions.js'

interface EventOfCall {
  /** Milliseconds since 1970. */
  readonly time: number
  readonly toolsetId: string
  readonly callId: string
  /** Our own name of the tool; as called, where there is no such tool. */
  readonly tool: string
}

/** How the rules judged a call before it ran. */
export interface CallVerdict {
  /** `allow`: it ran as it was. `ask`: somebody had to say yes. `deny`: it did not run. */
  readonly action: Action
  /** Empty where the call was allowed. */
  readonly reason: string
  /**
   * Whose yes let it run, where somebody had to say it: the approver's, now (`approver`) or for the whole `session`; one that came
   * with the call (`grant`); or the application's, for every call of the tool (`pre-approved`) or for everything (`approve-all`).
   */
  readonly approvedBy?: 'approver' | 'session' | 'grant' | 'pre-approved' | 'approve-all'
}

/** What an event says of an error. */
export interface EventError {
  readonly name: string
  readonly code?: ErrorCode
  readonly message: string
}

/** Something that happened to a call. */
export type AuditEvent =
  | (EventOfCall & { readonly type: 'call-started'; readonly input?: unknown })
  | (EventOfCall & { readonly type: 'approval-requested'; readonly request: ApprovalRequest })
  | (EventOfCall & {
      readonly type: 'approval-decided'
      readonly approved: boolean
      /** What is to run instead, where whoever was asked changed the input. */
      readonly input?: unknown
      readonly reason?: string
      readonly remember?: 'none' | 'session'
    })
  | (EventOfCall & {
      readonly type: 'call-ended'
      /** Absent where the call ended before it was judged. */
      readonly verdict?: CallVerdict
      /** What ran, where hooks or whoever was asked made it something else than what `call-started` tells. */
      readonly input?: unknown
      readonly isError: boolean
      readonly code?: ErrorCode
      /** Bytes of the text for the model. */
      readonly textBytes: number
      readonly truncated: boolean
      readonly durationMs: number
      /** The command of this `execute` ended the program that ends its processes: those that could not be found may live on. */
      readonly supervisorLost?: true
    })
  | (EventOfCall & {
      /** A command in the background or a terminal ended; `callId` and `tool` are of the call that started it. */
      readonly type: 'session-ended'
      readonly sessionId: string
      readonly command: string
      /** Null when a signal ended it. */
      readonly exitCode: number | null
      readonly signal?: string
      readonly durationMs: number
      /** It ended the program that ends its processes: those that could not be found then may live on. */
      readonly supervisorLost?: true
    })
  | (EventOfCall & {
      /** The call rejected. */
      readonly type: 'call-failed'
      readonly verdict?: CallVerdict
      /** As of `call-ended`. */
      readonly input?: unknown
      readonly error: EventError
      readonly durationMs: number
    })
