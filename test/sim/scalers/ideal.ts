import { meanServiceSeconds } from '../trace.ts'
import { plannedLoad } from './oracle.ts'
import { clamp, type MakeScaler, windowMax } from './scaler.ts'

const stabilizationWindowSeconds = 90

/** Knows the present rate exactly and at once, and not the future; keeps for 90 s what it needed. */
export const ideal: MakeScaler = (setting, { rates }) => {
  const stabilize = windowMax(stabilizationWindowSeconds)
  return ({ now }) => clamp(stabilize(Math.ceil(((rates[now] ?? 0) * meanServiceSeconds) / plannedLoad)), setting)
}
