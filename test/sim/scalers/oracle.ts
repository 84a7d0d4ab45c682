import { meanServiceSeconds } from '../trace.ts'
import { clamp, type MakeScaler } from './scaler.ts'

/** Planned load of scalers that know the rate. */
export const plannedLoad = 0.8

/**
 * Knows the rates until a pod desired now is ready, and has pods for the highest, so no pod is late or removed early.
 * It does not know single requests, so it misses a few by chance. The reference for all other scalers.
 */
export const oracle: MakeScaler = (setting, { rates }) => {
  const needed = rates.map((_, second) => {
    const ahead = rates.subarray(second, second + setting.startSeconds + 1)
    return Math.ceil((Math.max(...ahead) * meanServiceSeconds) / plannedLoad)
  })
  return ({ now }) => clamp(needed[now] ?? 0, setting)
}
