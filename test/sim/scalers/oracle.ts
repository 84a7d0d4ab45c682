import { meanServiceSeconds } from '../trace.ts'
import { clamp, type MakeScaler } from './scaler.ts'

/** Load that scalers plan for that know the rate. */
export const plannedLoad = 0.8

/**
 * Knows the rate from now until a pod that is desired now is ready, and has pods for the highest: none is late and none
 * goes early. It does not know the requests themselves, so it misses a few by chance. The measure for all others.
 */
export const oracle: MakeScaler = (setting, { rates }) => {
  const needed = rates.map((_, second) => {
    const ahead = rates.subarray(second, second + setting.startSeconds + 1)
    return Math.ceil((Math.max(...ahead) * meanServiceSeconds) / plannedLoad)
  })
  return ({ now }) => clamp(needed[now] ?? 0, setting)
}
