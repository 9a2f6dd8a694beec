// The one door to the addon. Nothing else in ts/ imports `binding.js`.

export { NativeBackend, NativeCancel, NativeSandbox, NativeToolset } from '../binding.js'
export type { NativeError, NativeOutcome } from '../binding.js'
