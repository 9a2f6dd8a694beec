// Which tools of a toolset are there now: those of the application say so themselves, and one may stand back for another.

import type { Host } from './host.js'

export class Presence {
  readonly #host: Host
  /** All tools of the toolset, by our names. */
  readonly #tools: () => readonly string[]

  constructor(host: Host, tools: () => readonly string[]) {
    this.#host = host
    this.#tools = tools
  }

  /** As far as it can be told at once. */
  isMissing(tool: string): boolean {
    return !this.#host.isAvailable(tool) || this.#superseding(tool).some((other) => this.#host.isAvailable(other))
  }

  /** The same, waited for. */
  async isMissingNow(tool: string): Promise<boolean> {
    const [isThere, ...others] = await Promise.all(
      [tool, ...this.#superseding(tool)].map((name) => this.#host.askAvailable(name)),
    )
    return !isThere || others.includes(true)
  }

  /** The tools that stand for this one where they are available. */
  #superseding(tool: string): string[] {
    const { supersededBy = [] } = this.#host.custom(tool)?.definition ?? {}
    if (supersededBy.length === 0) return []
    return this.#tools().filter((other) => {
      const { tags = [] } = this.#host.custom(other)?.definition ?? {}
      return other !== tool && tags.some((tag) => supersededBy.includes(tag))
    })
  }
}
