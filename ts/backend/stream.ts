// Files piece by piece: pulled by whoever reads, pulled from whoever writes. Nothing is read ahead, and nothing is in its place
// before the last piece is.

import { describe } from '../encode.js'
import { errorFromNative } from '../errors/from-native.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { checkSignal, runNative } from '../native-call.js'
import type { NativeBackend, NativeReader, NativeWriter } from '../native.js'
import type { StreamSource, WriteResult } from './types.js'

/** A web stream of the file's bytes, which is opened with the first pull. */
export function readStream(
  native: NativeBackend,
  argumentsJson: () => string,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  let reader: NativeReader | undefined
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const aborts = checkSignal(signal)
        reader ??= await open(aborts, native, argumentsJson())
        const { bytes } = await runNative({ signal: aborts }, (cancel) => reader!.next(cancel))
        if (bytes) controller.enqueue(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength))
        else controller.close()
      },
      cancel() {
        reader = undefined
      },
    },
    { highWaterMark: 0 },
  )
}

async function open(
  signal: AbortSignal | undefined,
  native: NativeBackend,
  argumentsJson: string,
): Promise<NativeReader> {
  let reader: NativeReader | undefined
  await runNative({ signal }, async (cancel) => {
    const made = await native.openReader(argumentsJson, cancel)
    reader = made.reader
    return made.error ? { error: made.error } : {}
  })
  if (reader) return reader
  throw errorFromNative({ code: 'INTERNAL', message: 'The file could not be opened.' })
}

/** Writes all that `source` gives, or nothing. */
export async function writeStream(
  native: NativeBackend,
  argumentsJson: string,
  source: StreamSource,
  signal: AbortSignal | undefined,
): Promise<WriteResult> {
  const pieces = piecesOf(source)
  let writer: NativeWriter | undefined
  await runNative({ signal }, async (cancel) => {
    const made = await native.openWriter(argumentsJson, cancel)
    writer = made.writer
    return made.error ? { error: made.error } : {}
  })
  const opened = writer!
  try {
    for await (const piece of pieces) {
      const content = checkPiece(piece)
      await runNative({ signal }, (cancel) => opened.write(content, cancel))
    }
    const { value } = await runNative({ signal }, (cancel) => opened.finish(cancel))
    return JSON.parse(value ?? 'null') as WriteResult
  } catch (error) {
    await opened.abandon()
    throw error
  }
}

function piecesOf(source: unknown): AsyncIterable<unknown> | Iterable<unknown> {
  if (typeof source === 'object' && source !== null && !ArrayBuffer.isView(source)) {
    if (Symbol.asyncIterator in source) return source as AsyncIterable<unknown>
    if (Symbol.iterator in source) return source as Iterable<unknown>
  }
  throw new InvalidInputError(
    `\`source\` must be a stream or an iterable of strings and bytes, not ${describe(source)}.`,
  )
}

function checkPiece(piece: unknown): string | Uint8Array {
  if (typeof piece === 'string' && piece.isWellFormed()) return piece
  if (ArrayBuffer.isView(piece) && !(piece instanceof DataView)) {
    return new Uint8Array(piece.buffer as ArrayBuffer, piece.byteOffset, piece.byteLength)
  }
  throw new InvalidInputError(`\`source\` gave ${describe(piece)}; it must give whole strings or Uint8Arrays.`)
}
