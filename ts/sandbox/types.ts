/** One host directory, the path that the agent sees it under, and its rules. */
export interface Mount {
  /** A directory of the host; a relative one lies beneath `basePath`. It is made when it is missing. */
  readonly hostPath: string
  /** The path that the agent sees, such as `/workspace`. */
  readonly mountPoint: string
  /** Default `ro`. */
  readonly mode?: 'ro' | 'rw' | undefined
  /** Only names with one of these last suffixes, such as `['.md', '.txt']`; case does not count. Default: all names. */
  readonly suffixes?: readonly string[] | undefined
  /** Bytes of the largest file that is read or written. */
  readonly maxFileBytes?: number | undefined
  /** Whether somebody is asked before a write. Default true. */
  readonly writeApproval?: boolean | undefined
  /** Whether somebody is asked before a read. Default false. */
  readonly readApproval?: boolean | undefined
}

/** The mounts of a sandbox. */
export interface SandboxConfig {
  readonly mounts: readonly Mount[]
}

export interface SandboxOptions {
  /** What relative host paths are relative to. Default: the current directory. */
  readonly basePath?: string | undefined
}

/** What a derived sandbox may do; without any field nothing at all. */
export interface DeriveOptions {
  /** Directories that may be read. */
  readonly allowRead?: string | readonly string[] | undefined
  /** Directories that may be written; without `allowRead` they may be read too. */
  readonly allowWrite?: string | readonly string[] | undefined
  /** Nothing may be written, whatever the rest says. */
  readonly readonly?: boolean | undefined
  /** Without any list: all that the parent may do. */
  readonly inherit?: boolean | undefined
}

/** The mount of a path. */
export interface PathConfig {
  readonly mountPoint: string
  /** Where the path lies on the host. For display and set-up only: whoever opens it is outside the walls. */
  readonly hostPath: string
  readonly mount: Mount
}
