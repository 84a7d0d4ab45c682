import { Piscina } from 'piscina'
import type { CutOutTask, Made, Refused } from './cut-out-worker.ts'
import { ImageError } from './image-error.ts'

// Threads for pixel work: a 50-megapixel photo takes 0.3 s, which would block the event loop. A thread that dies fails
// only its own call; the pool replaces it.

export type ImagePool = ReturnType<typeof createImagePool>

// Slots and the pixel budget keep the queue far shorter; each entry holds a decoded photo.
const waitingMax = 256

// Longest wait for calls in progress; one takes 0.3 s.
const closeTimeoutMs = 5_000

const ownWorker = new URL('./cut-out-worker.ts', import.meta.url)

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
  // Raised when a thread dies without a call, for example because its file cannot be loaded. Later calls would wait
  // forever, so the process ends.
  pool.on('error', (error) => {
    if (!closed) throw error
  })
  return {
    /**
     * Makes the result on a thread: a file when that is a PNG of full size, else pixels for encodeResult. Empties
     * `photo.pixels`. Rejects with an AbortError when `signal` fires, and with an ImageError as applyOutput does.
     */
    async cutOut(task: CutOutTask, signal?: AbortSignal): Promise<Made> {
      if (closed) throw new Error('the image pool is closed')
      // Copied because a mask may be a view into a whole gRPC message.
      const mask = new Uint8Array(task.mask)
      const mirrored = task.mirrored && new Uint8Array(task.mirrored)
      const transferList = [task.photo.pixels.buffer, mask.buffer, ...(mirrored ? [mirrored.buffer] : [])]
      const made: Made | Refused = await pool.run({ ...task, mask, mirrored }, { transferList, signal: signal ?? null })
      if ('reason' in made) throw new ImageError(made.reason, made.message)
      return made
    },
    close(): Promise<void> {
      closed = true
      return pool.close()
    },
  }
}
