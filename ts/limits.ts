/** Bounds, each with a default; all are enforced. Sizes are bytes, durations milliseconds, counts counts. */
export interface Limits {
  /** Lines that one read returns when the caller names no limit; default 2,000. */
  readonly readLines?: number | undefined
  /** Bytes of text that one read returns; default 256 KiB. */
  readonly readBytes?: number | undefined
  /** Characters of one line before it is cut; default 2,000. */
  readonly lineChars?: number | undefined
  /** Bytes of the largest file that is written or edited; default 64 MiB. */
  readonly fileBytes?: number | undefined
  /** Bytes up to which a read counts all lines of the file; default 16 MiB. */
  readonly countLinesBytes?: number | undefined
  /** Bytes of a command's output that are kept; default 100,000. */
  readonly outputBytes?: number | undefined
  /** Time of a command when the caller names none; default 120,000. */
  readonly commandTimeout?: number | undefined
  /** Time of one search; default 30,000. */
  readonly searchTimeout?: number | undefined
  /** Time of one whole call, approval not counted; default 600,000. */
  readonly callTimeout?: number | undefined
  /** Entries of one listing; default 10,000. */
  readonly listEntries?: number | undefined
  /** Paths of one glob; default 10,000. */
  readonly globPaths?: number | undefined
  /** Matches of one grep; default 10,000. */
  readonly grepMatches?: number | undefined
  /** Bytes of the largest file that grep looks into; default 64 MiB. */
  readonly grepFileBytes?: number | undefined
  /** Bytes of text for a model from one call; default 256 KiB. */
  readonly textBytes?: number | undefined
  /** Bytes of an image that is handed to a model; default 10 MiB. */
  readonly imageBytes?: number | undefined
  /** Bytes of a PDF document that is handed to a model; default 20 MiB. */
  readonly documentBytes?: number | undefined
  /** Bytes of all images and documents of one call; default 24 MiB. */
  readonly partBytes?: number | undefined
  /** Threads of one search; default the machine's count, at most 8. */
  readonly searchThreads?: number | undefined
}
