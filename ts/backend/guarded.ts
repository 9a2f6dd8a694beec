import { checkDecision } from '../approval/check-decision.js'
import type { ApprovalRequest, Approver } from '../approval/types.js'
import { checkFunction, checkOptions, encodeJson } from '../encode.js'
import { InvalidInputError } from '../errors/invalid-input-error.js'
import { NativeBackend } from '../native.js'
import type { PermissionRuleset, PresetName } from '../permissions.js'
import { NativeFiles } from './native-files.js'
import type { Backend } from './types.js'
import type { UserBackend } from './user-types.js'
import { nativeFor } from './user.js'

/** What stands before a backend. */
export interface GuardedBackendOptions {
  /** Rules: a preset's name or a ruleset. */
  readonly permissions: PresetName | PermissionRuleset
  /** Command prefixes that may run, such as `git status`; an empty list allows none. */
  readonly allowedCommands?: readonly string[] | undefined
  /**
   * Who is asked where a rule asks, one request at a time. A file that changed until they answered they are asked about again.
   * Of a write, an edit or an append they are shown the diff, and where the file changed since it is refused (`StaleFileError`).
   * `remember: 'session'` allows the same method on the same paths with the same content, or the same command, as long as this
   * backend lives; what `writeStream` brings is not known, so that a yes to it holds once. An answer with an `input` is a no: what a method was given cannot be changed. Without
   * an approver such a method rejects with `ApprovalRequiredError`.
   */
  readonly approve?: Approver | undefined
  /** Is told what `approve` threw; the method itself only says that it was denied. Default: a warning of the process. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/**
 * A backend behind rules: every method is judged as a toolset judges its tools, whoever calls it. Names that are denied are
 * left out of listings and searches, commands are understood first, links are judged as they resolve. What the rules deny
 * altogether is not there: no writing, no commands. Closing it closes the backend behind it.
 *
 * @example
 * const backend = new GuardedBackend(new LocalBackend({ root: './project' }), { permissions: 'readonly' })
 * await backend.read('.env') // PermissionDeniedError
 *
 * @throws {InvalidInputError} a rule is not right, or an option has the wrong type or is not known
 */
export class GuardedBackend extends NativeFiles {
  constructor(backend: Backend | UserBackend, options: GuardedBackendOptions) {
    const { approve, onError, permissions, ...rest } = checkOptions(options) as GuardedBackendOptions
    if (permissions === undefined)
      throw new InvalidInputError('`options.permissions` is missing: give a preset or rules.')
    const asked = checkFunction(approve, 'approve')
    const report = checkFunction(onError, 'onError') ?? ((error) => process.emitWarning(String(error)))
    const answer = async (requestJson: string): Promise<string> => {
      const { request } = JSON.parse(requestJson) as { readonly request: ApprovalRequest }
      try {
        const decision = await asked?.(request, { context: undefined, metadata: {}, signal: undefined })
        return `{"decision":${encodeJson(checkDecision(decision), 'decision')}}`
      } catch (error) {
        report(error)
        return '{"failed":true}'
      }
    }
    const native = nativeFor(backend, 'backend')
    const optionsJson = encodeJson({ ...rest, permissions }, 'options')
    super(NativeBackend.guarded(native, optionsJson, asked !== undefined, answer), [backend])
  }
}
