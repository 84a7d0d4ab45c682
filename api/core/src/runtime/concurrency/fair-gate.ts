import { createGate, type Gate } from './gate.ts'

type OwnGate = { readonly gate: Gate; calls: number }

/** A gate with a smaller bound for each owner: more calls of one do not keep those of others waiting. */
export function createFairGate(runningMax: number, perOwner: number) {
  const all = createGate(runningMax)
  const own = new Map<string, OwnGate>()
  return {
    async run<T>(owner: string, act: () => Promise<T>): Promise<T> {
      const entry = own.get(owner) ?? { gate: createGate(perOwner), calls: 0 }
      own.set(owner, entry)
      entry.calls += 1
      try {
        return await entry.gate.run(() => all.run(act))
      } finally {
        entry.calls -= 1
        if (entry.calls === 0) own.delete(owner)
      }
    },
  }
}
