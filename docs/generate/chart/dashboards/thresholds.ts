// Thresholds of orange and red.
import type { Threshold } from './panel.ts'

/** Orange from `warn`, red from `bad`. */
export const worseFrom = (warn: number, bad: number): readonly Threshold[] => [
  { from: warn, color: 'orange' },
  { from: bad, color: 'red' },
]

/** Red from `bad`. */
export const badFrom = (bad: number): readonly Threshold[] => [{ from: bad, color: 'red' }]

/** Red below `good`. */
export const goodFrom = (good: number): readonly Threshold[] => [
  { from: Number.NEGATIVE_INFINITY, color: 'red' },
  { from: good, color: 'green' },
]
