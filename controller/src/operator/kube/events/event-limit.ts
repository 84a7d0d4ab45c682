import { BoundedMap } from '@matte/core/runtime/bounded-map'
import type { Clock } from '@matte/core/runtime/clock'

export type EventLimit = {
  /** Takes one Event's worth for this object; false: it has had its share. */
  take(object: string): boolean
}

type EventLimitOptions = {
  readonly clock: Clock
  /** Events that an object may have at once. */
  readonly burst?: number
  /** After so long it may have one more. */
  readonly everyMs?: number
  /** Objects that are remembered; the one whose Events are longest ago is forgotten. */
  readonly objectsMax?: number
}

/**
 * A bucket per object. Twenty at once are a rollout with all its steps and a scaling between; one more every ten
 * seconds is as much as a person can read, and 360 an hour of what the API server keeps.
 */
export function createEventLimit(options: EventLimitOptions): EventLimit {
  const { clock, burst = 20, everyMs = 10_000, objectsMax = 1_000 } = options
  const buckets = new BoundedMap<string, { left: number; at: number }>(objectsMax)
  return {
    take: (object) => {
      const now = clock.monotonicMs()
      const bucket = buckets.get(object) ?? { left: burst, at: now }
      const left = Math.min(burst, bucket.left + (now - bucket.at) / everyMs)
      buckets.set(object, { left: left < 1 ? left : left - 1, at: now })
      return left >= 1
    },
  }
}
