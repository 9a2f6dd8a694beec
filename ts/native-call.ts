// Runs one call of the addon: abort in, outcome out. The addon answers with data also when it fails; here failures become
// typed errors. Nothing in this module knows which method it runs.

import { checkFunction, describe } from './encode.js'
import { AbortError } from './errors/abort-error.js'
import { errorFromNative } from './errors/from-native.js'
import { InvalidInputError } from './errors/invalid-input-error.js'
import { NativeCancel, type NativeOutcome } from './native.js'
import { OutputSink, type OnOutput } from './output.js'

/** What the caller may bring along to any call. */
export interface NativeCallOptions {
  readonly signal?: AbortSignal | undefined
  readonly onOutput?: OnOutput | undefined
}

/** Starts the native work; `cancel` is null where nothing can stop it. */
export type StartNative = (
  cancel: NativeCancel | null,
  onOutput: ((json: string) => void) | null,
) => Promise<NativeOutcome>

/**
 * Runs `start` to its outcome. A signal that is already aborted rejects without starting; a later abort cancels the
 * native work and rejects with `AbortError` once it has ended. The signal's listener never outlives the call.
 */
export async function runNative(options: NativeCallOptions, start: StartNative): Promise<NativeOutcome> {
  const signal = checkSignal(options.signal)
  refuseAborted(signal)
  const onOutput = checkFunction(options.onOutput, 'onOutput')
  if (!signal && !onOutput) return answered(await start(null, null))
  const cancel = new NativeCancel()
  const sink = onOutput ? new OutputSink(onOutput, () => cancel.cancel()) : null
  const abort = (): void => cancel.cancel()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    const outcome = await start(cancel, sink && sink.take)
    sink?.rethrow()
    return answered(outcome, signal)
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

/** The outcome of a call that did not fail. */
function answered(outcome: NativeOutcome, signal?: AbortSignal): NativeOutcome {
  if (outcome.error) throw errorFromNative(outcome.error, signal?.aborted ? signal.reason : undefined)
  return outcome
}

/** Throws `AbortError` when the signal has aborted already. */
export function refuseAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new AbortError('The call was aborted before it began.', { cause: signal.reason })
}

/** The signal, or an error that says what was given instead. Signals of another realm are signals too. */
export function checkSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal === null) return undefined
  const candidate = signal as AbortSignal
  if (
    typeof candidate === 'object' &&
    typeof candidate.aborted === 'boolean' &&
    typeof candidate.addEventListener === 'function'
  ) {
    return candidate
  }
  throw new InvalidInputError(
    `\`signal\` must be an AbortSignal, such as \`new AbortController().signal\`, not ${describe(signal)}.`,
  )
}
