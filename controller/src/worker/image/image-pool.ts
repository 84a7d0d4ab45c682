import { Piscina } from 'piscina'
import type { ResultImage } from './apply-output.ts'
import type { CutOutTask } from './cut-out-worker.ts'
import type { EncodedResult } from './encode.ts'

// Pixels are worked on in threads of their own, so that the event loop goes on answering: a 50-megapixel photo takes
// 0.3 s. A thread that dies takes down only the call it was working on; the pool replaces it.

export type ImagePool = ReturnType<typeof createImagePool>

// Calls waiting for a thread. Slots and the bytes for pixels keep this far lower; reaching it must show, because
// each waiting call holds a decoded photo.
const waitingMax = 256

// A 50-megapixel photo takes 0.3 s; past this the thread is stuck.
const closeTimeoutMs = 5_000

const ownWorker = new URL('./cut-out-worker.ts', import.meta.url)

/** `threads`: at most this many calls at once. `workerUrl` is for tests of what happens when one dies. */
export function createImagePool(threads: number, workerUrl = ownWorker) {
  const pool = new Piscina({
    filename: workerUrl.href,
    minThreads: threads,
    maxThreads: threads,
    maxQueue: waitingMax,
    closeTimeout: closeTimeoutMs,
    recordTiming: false,
  })
  let closed = false
  // A thread that dies with a call rejects that call. This is one that died without: its file cannot be loaded, so
  // every later call would wait forever. Better that the process ends and says why.
  pool.on('error', (error) => {
    if (!closed) throw error
  })
  return {
    /**
     * The join of two masks, cutOut and applyOutput on a thread, and the file where that is a PNG of the image's own
     * size; else the image, for encodeResult. The photo's pixels move away: after this call `photo.pixels` is empty,
     * however it ends. Rejects with an AbortError when `signal` fires (a call that had begun loses its thread, which is
     * replaced), and with the thread's error when it dies.
     */
    async cutOut(task: CutOutTask, signal?: AbortSignal): Promise<EncodedResult | ResultImage> {
      if (closed) throw new Error('the image pool is closed')
      // Copies of just these bytes: a mask may be a view into a whole gRPC message, which would travel with it.
      const mask = new Uint8Array(task.mask)
      const mirrored = task.mirrored && new Uint8Array(task.mirrored)
      const transferList = [task.photo.pixels.buffer, mask.buffer, ...(mirrored ? [mirrored.buffer] : [])]
      return await pool.run({ ...task, mask, mirrored }, { transferList, signal: signal ?? null })
    },
    /** Lets calls in progress end, at most `closeTimeoutMs`; then ends the threads. */
    close(): Promise<void> {
      closed = true
      return pool.close()
    },
  }
}
