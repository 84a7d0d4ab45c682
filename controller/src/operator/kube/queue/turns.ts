/** A pass that takes longer waits for a slow write. It no longer counts, so other keys do not wait for it. */
const slowAfterMs = 5_000

/** Work that runs at once: at most so many, without the slow. `onRoom` is called when there may be room again. */
export function createTurns(atOnceMax: number, onRoom: () => void) {
  const running = new Set<Promise<void>>()
  let slow = 0
  return {
    hasRoom: (): boolean => running.size - slow < atOnceMax,
    /** `work` must not reject. */
    run: (work: () => Promise<void>): void => {
      let isSlow = false
      const timer = setTimeout(() => {
        isSlow = true
        slow += 1
        onRoom()
      }, slowAfterMs)
      const run = work().finally(() => {
        clearTimeout(timer)
        if (isSlow) slow -= 1
        running.delete(run)
        onRoom()
      })
      running.add(run)
    },
    /** Resolves when all that runs has ended. */
    ended: async (): Promise<void> => {
      await Promise.all(running)
    },
  }
}
