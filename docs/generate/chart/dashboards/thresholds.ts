// From which value a panel is orange or red.
import type { Threshold } from './panel.ts'

/** From `bad` on red, from `warn` on orange. */
export const worseFrom = (warn: number, bad: number): readonly Threshold[] => [
  { from: warn, color: 'orange' },
  { from: bad, color: 'red' },
]

/** Red from the first one on. */
export const badFrom = (bad: number): readonly Threshold[] => [{ from: bad, color: 'red' }]

/** Red below `good`. */
export const goodFrom = (good: number): readonly Threshold[] => [
  { from: Number.NEGATIVE_INFINITY, color: 'red' },
  { from: good, color: 'green' },
]
