import { meanServiceSeconds } from '../trace.ts'
import { plannedLoad } from './oracle.ts'
import { clamp, type MakeScaler, windowMax } from './scaler.ts'

const stabilizationWindowSeconds = 90

/** Knows the present rate exactly and at once, and nothing of the future; holds for 90 s what it needed. */
export const ideal: MakeScaler = (setting, { rates }) => {
  const hold = windowMax(stabilizationWindowSeconds)
  return ({ now }) => clamp(hold(Math.ceil(((rates[now] ?? 0) * meanServiceSeconds) / plannedLoad)), setting)
}
