// The public entry of gloveport. Adapters have entries of their own.

export type {
  ApprovalContext,
  ApprovalDecision,
  ApprovalGrant,
  ApprovalRequest,
  Approver,
  Touch,
} from './approval/types.js'
export { terminalApprover, type TerminalApproverOptions } from './approval/terminal-approver.js'
export { terminalTakeover, type TerminalTakeoverOptions } from './approval/terminal-takeover.js'
export { CompositeBackend, type CompositeBackendOptions } from './backend/composite.js'
export { GuardedBackend, type GuardedBackendOptions } from './backend/guarded.js'
export { DockerBackend, type DockerBackendOptions, type DockerUsage } from './docker/backend.js'
export { builtinRuntimes, defineRuntime, getRuntime, type Runtime, type RuntimeConfig } from './docker/runtime.js'
export {
  type Session,
  type SessionContext,
  type SessionFactory,
  SessionManager,
  type SessionManagerOptions,
} from './docker/session-manager.js'
export type { SessionHost } from './docker/placement.js'
export { LocalBackend, type LocalBackendOptions } from './backend/local.js'
export { type OutputPiece, type ReadOutputOptions, RunningCommand, type SignalName } from './backend/running-command.js'
export { ShellBackend, type ShellBackendOptions } from './backend/shell.js'
export {
  StateBackend,
  type StateBackendOptions,
  type StateDocument,
  type StateFile,
  type StateLimits,
} from './backend/state.js'
export {
  type PaintingOptions,
  type TerminalOptions,
  type TerminalPainting,
  type TerminalScreen,
  TerminalSession,
} from './backend/terminal-session.js'
export type * from './backend/types.js'
export type * from './backend/user-types.js'
export { ConsoleCapability, type ConsoleCapabilityOptions } from './console.js'
export { type Environment, type EnvironmentOptions, type EnvironmentProgress, setUpEnvironment } from './environment.js'
export * from './errors/index.js'
export {
  applyHashlineEdit,
  formatHashlineOutput,
  type HashlineResult,
  type HashlineWindow,
  lineHash,
} from './hashline.js'
export type { Limits } from './limits.js'
export type { OnOutput, OutputChunk } from './output.js'
export { analyzeCommand, createRuleset, PermissionChecker, presets } from './permission-checker.js'
export type * from './permissions.js'
export { Sandbox } from './sandbox/sandbox.js'
export type * from './sandbox/types.js'
export {
  type CustomTool,
  type CustomToolAnswer,
  type CustomToolCall,
  type CustomToolOptions,
  defineTool,
  type JsonSchema,
  type StandardIssue,
  type StandardOutcome,
  type StandardSchema,
  type ToolInstruction,
  type ToolTouch,
  type UserInput,
} from './toolset/custom-tool.js'
export type { AuditEvent, CallVerdict, EventError } from './toolset/events.js'
export {
  type TerminalCallOptions,
  type TerminalExecOptions,
  Terminals,
  type TerminalScreenOptions,
  type TerminalsOptions,
  type TerminalViewOptions,
  type TerminalWriteOptions,
} from './terminals.js'
export type { Subagent, Subagents, SubagentTask } from './toolset/subagents.js'
export type { StandardProps, StandardResult } from './toolset/standard-schema.js'
export { createToolset } from './toolset/create-toolset.js'
export { Toolset } from './toolset/toolset.js'
export type * from './toolset/data.js'
export type * from './toolset/types.js'
