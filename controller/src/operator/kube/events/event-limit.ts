import { BoundedMap } from '@matte/core/runtime/bounded-map'
import type { Clock } from '@matte/core/runtime/clock'

/** Twenty at once are a rollout with all its steps and a scaling between. */
const burst = 20
/** One more every ten seconds is as much as a person can read, and 360 an hour of what the API server keeps. */
const everyMs = 10_000
/** Objects that are remembered; the one whose Events are longest ago is forgotten. */
const objectsMax = 1_000

export function createEventLimit(clock: Clock) {
  const buckets = new BoundedMap<string, { left: number; at: number }>(objectsMax)
  return {
    /** Takes one Event's worth for this object; false: it has had its share. */
    take: (object: string): boolean => {
      const now = clock.monotonicMs()
      const bucket = buckets.get(object) ?? { left: burst, at: now }
      const left = Math.min(burst, bucket.left + (now - bucket.at) / everyMs)
      buckets.set(object, { left: left < 1 ? left : left - 1, at: now })
      return left >= 1
    },
  }
}
