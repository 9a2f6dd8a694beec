// The one door to the addon. Nothing else in ts/ imports `binding.js`.

export {
  analyzeCommand,
  applyHashlineEdit,
  createRuleset,
  formatHashlineOutput,
  lineHash,
  maskJson,
  NativeAuditLog,
  NativeBackend,
  NativeCancel,
  NativeChecker,
  NativeProcess,
  NativeSandbox,
  NativeState,
  NativeToolset,
  presets,
} from '../binding.js'
export type { NativeAnswer, NativeError, NativeOutcome, NativeReader, NativeWriter } from '../binding.js'
