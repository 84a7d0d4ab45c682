// What bounds memory is decoded pixels, not images: one of 50 megapixels weighs as much as 170 of 680 x 440. A task
// takes its pixels before it decodes and gives them back when its result is stored. First come, first served: a large
// photo is not overtaken forever by small ones, at the price of a gap while it waits for room.

export type PixelBudget = ReturnType<typeof createPixelBudget>

/** `waitingMax`: each holds a fetched file (20 MB at most); the slots that feed this allow far fewer. */
export function createPixelBudget(totalPixels: number, waitingMax = 256) {
  const waiting: { readonly pixels: number; readonly admit: () => void }[] = []
  let used = 0

  function take(pixels: number): () => void {
    used += pixels
    let held = true
    return () => {
      if (!held) return
      held = false
      used -= pixels
      admitWaiting()
    }
  }

  function admitWaiting(): void {
    for (let next = waiting[0]; next && used + next.pixels <= totalPixels; next = waiting[0]) {
      waiting.shift()
      next.admit()
    }
  }

  return {
    /** Pixels taken now. */
    used: (): number => used,
    /**
     * Waits until the pixels fit, and answers the function that gives them back (again: no effect). An image larger
     * than the whole budget waits until it is alone. Rejects with the signal's reason when it fires first, and with a
     * RangeError when `waitingMax` others already wait.
     */
    async acquire(requested: number, signal?: AbortSignal): Promise<() => void> {
      signal?.throwIfAborted()
      const pixels = Math.min(requested, totalPixels)
      if (waiting.length === 0 && used + pixels <= totalPixels) return take(pixels)
      if (waiting.length >= waitingMax) throw new RangeError(`${waitingMax} images already wait for memory`)
      return await new Promise((resolve, reject) => {
        const leave = () => {
          waiting.splice(waiting.indexOf(waiter), 1)
          reject(signal?.reason)
          admitWaiting()
        }
        const admit = () => {
          signal?.removeEventListener('abort', leave)
          resolve(take(pixels))
        }
        const waiter = { pixels, admit }
        waiting.push(waiter)
        signal?.addEventListener('abort', leave, { once: true })
      })
    },
  }
}
