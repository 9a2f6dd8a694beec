import { GloveportError } from './gloveport-error.js'

/** A path or its content is not what the mounts allow. Its subclasses say how. */
export class SandboxError extends GloveportError {
  override readonly name: string = 'SandboxError'
}
