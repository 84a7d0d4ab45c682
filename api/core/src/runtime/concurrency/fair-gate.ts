import pLimit, { type LimitFunction } from 'p-limit'

export type Gate = { run<T>(act: () => Promise<T>): Promise<T> }

/** Bounds concurrent calls, with a smaller bound per owner so one owner cannot delay the others. */
export function createFairGate(runningMax: number, perOwner: number) {
  const all = pLimit(runningMax)
  const owners = new Map<string, LimitFunction>()
  return {
    async run<T>(owner: string, act: () => Promise<T>): Promise<T> {
      const own = owners.get(owner) ?? pLimit(perOwner)
      owners.set(owner, own)
      try {
        return await own(() => all(act))
      } finally {
        if (own.activeCount + own.pendingCount === 0) owners.delete(owner)
      }
    },
  }
}
