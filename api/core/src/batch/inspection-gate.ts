/** Runs at most so many calls at once; more wait their turn, first come first served. */
export type InspectionGate = { run<T>(inspect: () => Promise<T>): Promise<T> }

/**
 * Bounds the inspections of objects that all batches of a process make at once. Each holds a connection to the store
 * and up to 128 KiB; without the bound a few batches would take every connection from single creations.
 */
export function inspectionGate(inspectionsMax: number): InspectionGate {
  const waiting: (() => void)[] = []
  let running = 0
  return {
    run: async (inspect) => {
      // Who leaves hands its turn on, so that a newcomer never overtakes.
      if (running >= inspectionsMax) await new Promise<void>((resolve) => waiting.push(resolve))
      else running += 1
      try {
        return await inspect()
      } finally {
        const next = waiting.shift()
        if (next !== undefined) next()
        else running -= 1
      }
    },
  }
}
