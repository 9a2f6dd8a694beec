// What a toolset tells an application's `onEvent`: enough to log, trace or audit every call.

import type { ApprovalRequest } from '../approval/types.js'
import type { ErrorCode } from '../errors/error-code.js'

interface EventOfCall {
  /** Milliseconds since 1970. */
  readonly time: number
  readonly toolsetId: string
  readonly callId: string
  /** Our own name of the tool; as called, where there is no such tool. */
  readonly tool: string
}

/** Something that happened to a call. */
export type AuditEvent =
  | (EventOfCall & { readonly type: 'call-started'; readonly input: unknown })
  | (EventOfCall & { readonly type: 'approval-requested'; readonly request: ApprovalRequest })
  | (EventOfCall & { readonly type: 'approval-decided'; readonly approved: boolean; readonly reason?: string })
  | (EventOfCall & {
      readonly type: 'call-ended'
      readonly isError: boolean
      readonly code?: ErrorCode
      readonly truncated: boolean
      readonly durationMs: number
    })
  | (EventOfCall & {
      /** The call rejected. */
      readonly type: 'call-failed'
      readonly error: unknown
      readonly durationMs: number
    })
