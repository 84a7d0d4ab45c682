import { meanServiceSeconds } from '../trace.ts'
import { plannedLoad } from './oracle.ts'
import { clamp, type MakeScaler, windowMax } from './scaler.ts'

const stabilizationWindowSeconds = 90

/** Knows the current rate exactly, but not the future; keeps its pods for 90 s. */
export const ideal: MakeScaler = (setting, { rates }) => {
  const stabilize = windowMax(stabilizationWindowSeconds)
  return ({ now }) => clamp(stabilize(Math.ceil(((rates[now] ?? 0) * meanServiceSeconds) / plannedLoad)), setting)
}
