export type Gate = {
  run<T>(act: () => Promise<T>): Promise<T>
  /** Calls that run or wait. */
  size(): number
}

/** Runs at most so many calls at once; more wait their turn, first come first served. */
export function createGate(runningMax: number): Gate {
  const waiting: (() => void)[] = []
  let running = 0
  return {
    run: async (act) => {
      // Who leaves hands its turn on, so that a newcomer never overtakes.
      if (running >= runningMax) await new Promise<void>((resolve) => waiting.push(resolve))
      else running += 1
      try {
        return await act()
      } finally {
        const next = waiting.shift()
        if (next !== undefined) next()
        else running -= 1
      }
    },
    size: () => running + waiting.length,
  }
}
