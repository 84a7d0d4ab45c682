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

type WorkspaceGate = { readonly gate: InspectionGate; calls: number }

/** The same with a smaller bound for each workspace: more batches of one do not keep those of others waiting. */
export function fairInspectionGate(inspectionsMax: number, perWorkspace: number) {
  const all = inspectionGate(inspectionsMax)
  const own = new Map<string, WorkspaceGate>()
  return {
    async run<T>(workspaceId: string, inspect: () => Promise<T>): Promise<T> {
      const entry = own.get(workspaceId) ?? { gate: inspectionGate(perWorkspace), calls: 0 }
      own.set(workspaceId, entry)
      entry.calls += 1
      try {
        return await entry.gate.run(() => all.run(inspect))
      } finally {
        entry.calls -= 1
        if (entry.calls === 0) own.delete(workspaceId)
      }
    },
  }
}
