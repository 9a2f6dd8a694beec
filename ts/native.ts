// The one door to the addon. Nothing else in ts/ imports `binding.js`.

export {
  analyzeCommand,
  applyHashlineEdit,
  createRuleset,
  formatHashlineOutput,
  lineHash,
  builtinRuntimesJson,
  defineRuntime as defineRuntimeNative,
  maskJson,
  NativeAuditLog,
  NativeBackend,
  NativeCancel,
  NativeChecker,
  NativeDocker,
  NativeProcess,
  NativeSandbox,
  NativeState,
  NativeToolset,
  presets,
  shownToPerson,
} from '../binding.js'
export type { NativeAnswer, NativeError, NativeOutcome, NativeReader, NativeWriter } from '../binding.js'
