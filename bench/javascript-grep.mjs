// The fastest search that plain JavaScript allows here, as something to compare with: fast-glob lists the files, and one
// worker for each processor reads them and matches. Imported by search.mjs, and run by its own workers.

import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import fastGlob from 'fast-glob'

/** Files handed to a worker at once. */
const BATCH = 500

export class JavaScriptGrep {
  #workers = Array.from({ length: availableParallelism() }, () => new Worker(fileURLToPath(import.meta.url)))

  /** The number of matching lines below `root`. */
  async grep(root, pattern, glob = '*') {
    const files = await fastGlob(`**/${glob}`, {
      cwd: root,
      absolute: true,
      ignore: ['**/node_modules/**', '**/dist/**'],
    })
    const work = async (worker) => {
      let count = 0
      for (let batch = files.splice(-BATCH); batch.length > 0; batch = files.splice(-BATCH)) {
        worker.postMessage({ batch, pattern }, [])
        count += await new Promise((resolve) => worker.once('message', resolve))
      }
      return count
    }
    const counts = await Promise.all(this.#workers.map(work))
    return counts.reduce((sum, count) => sum + count, 0)
  }

  async close() {
    await Promise.all(this.#workers.map((worker) => worker.terminate()))
  }
}

if (!isMainThread) {
  parentPort.on('message', ({ batch, pattern }) => {
    const isLiteral = /^\w+$/.test(pattern)
    const lines = new RegExp(`^.*(?:${pattern}).*$`, 'gm')
    const regex = new RegExp(pattern)
    let count = 0
    for (const file of batch) {
      const bytes = readFileSync(file)
      if (isLiteral ? bytes.includes(pattern) : regex.test(bytes.latin1Slice())) {
        count += bytes.latin1Slice().match(lines)?.length ?? 0
      }
    }
    parentPort.postMessage(count, [])
  })
}
