import { checkOptions, encodeJson } from '../encode.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { NativeBackend } from '../native.js'
import { NativeFiles } from './native-files.js'
import type { Backend } from './types.js'
import type { UserBackend } from './user-types.js'
import { nativeFor } from './user.js'

/** What an author sets on a {@link CompositeBackend}. */
export interface CompositeBackendOptions {
  /** Has every path that no route has, and runs the commands. */
  readonly default: Backend | UserBackend
  /** Backends by path: `/memories/` and `memories` are the same route, and do not capture `/memories-of-old`. */
  readonly routes?: Readonly<Record<string, Backend | UserBackend>> | undefined
  /**
   * Which routes hand on paths without their own prefix, so that `/memories/a.md` is `a.md` in the working directory of the
   * routed backend: all, none, or those named. Default none: backends are asked for the path that the agent uses.
   */
  readonly strip?: boolean | readonly string[] | undefined
}

/**
 * Several backends as one tree. The longest route wins, on whole names; routes show in listings, searches reach into all of
 * them, moves and copies lead across. Closing it leaves the backends open: whoever made them closes them.
 *
 * @example
 * const backend = new CompositeBackend({
 *   default: new LocalBackend({ root: './project' }),
 *   routes: { '/memories/': new StateBackend() },
 * })
 *
 * @throws {InvalidInputError} a route is `/`, is named twice, or an option has the wrong type or is not known
 */
export class CompositeBackend extends NativeFiles {
  constructor(options: CompositeBackendOptions) {
    const { default: rest, routes, strip, ...unknown } = checkOptions(options) as CompositeBackendOptions
    const [name] = Object.keys(unknown)
    if (name !== undefined) {
      throw new InvalidInputError(`\`options.${name}\` is not known; there are \`default\`, \`routes\` and \`strip\`.`)
    }
    const routed = Object.entries(checkOptions(routes, 'routes') as NonNullable<typeof routes>)
    const prefixes = routed.map(([prefix]) => checkPrefix(prefix))
    const backends = routed.map(([prefix, backend]) => nativeFor(backend, `routes['${prefix}']`))
    const own = nativeFor(rest, 'default')
    super(NativeBackend.composite(own, prefixes, backends, encodeJson(strip ?? false, 'strip')), [
      rest,
      ...routed.map(([, backend]) => backend),
    ])
  }
}

function checkPrefix(prefix: string): string {
  if (prefix.isWellFormed()) return prefix
  throw new InvalidInputError('A route holds half a surrogate pair, which no encoding can carry; use whole characters.')
}
