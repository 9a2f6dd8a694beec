import { encodeJson } from '../encode.js'
import { runNative } from '../native-call.js'
import { NativeDocker } from '../native.js'
import type { DockerBackendOptions } from './backend.js'

/** What an engine says of its room. */
export interface EngineRoom {
  /** Containers that run there, whoever made them. */
  readonly running: number
  /** Containers of these options that its memory and processors hold, where each takes all that it may. */
  readonly holds: number
}

/** The room of an engine; undefined where it does not say, or not soon: what is placed elsewhere needs no reason. */
export async function engineRoom(
  host: string,
  docker: Pick<DockerBackendOptions, 'memory' | 'cpus'> = {},
): Promise<EngineRoom | undefined> {
  const options = encodeJson({ host, memory: docker.memory, cpus: docker.cpus }, 'options')
  try {
    const { value } = await runNative({}, () => NativeDocker.room(options))
    return JSON.parse(value ?? 'null') as EngineRoom
  } catch {
    return undefined
  }
}
