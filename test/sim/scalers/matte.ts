import { scalingDefaults } from '@matte/controller/operator/pool/spec/scaling'
import { decideReplicas, startMemory } from '@matte/controller/operator/scale/decide'
import type { EffectiveScaling } from '@matte/controller/operator/scale/decision'
import { lateSeconds } from '../pool.ts'
import type { MakeScaler } from './scaler.ts'

/** A pool's default `scaling`, but for the bounds, which all scalers share. */
const defaults = {
  p95Seconds: lateSeconds,
  utilization: scalingDefaults.utilization,
  panicWindowSeconds: scalingDefaults.panicWindowSeconds,
  fallback: { afterSeconds: scalingDefaults.fallbackAfterSeconds, replicas: scalingDefaults.fallbackReplicas },
}

/**
 * Matte's own rule: the function that the controller calls, once a second, with exact demand in place of the
 * database's. `changes` are for the table of prices alone.
 */
export const matte =
  (changes: Partial<EffectiveScaling> = {}): MakeScaler =>
  ({ startSeconds, minReplicas, maxReplicas }) => {
    const scaling = { ...defaults, minReplicas, maxReplicas, ...changes }
    let memory: ReturnType<typeof startMemory> | undefined
    let serviceSeconds: number | undefined
    return ({ now, desired, ready, waiting, busy, arrived, meanService }) => {
      serviceSeconds = meanService(60) ?? serviceSeconds
      const decision = decideReplicas({
        nowSeconds: now,
        scaling,
        demand: {
          arrivals3s: arrived(3),
          arrivals30s: arrived(30),
          backlog: waiting,
          batchSlots: 0,
          batchProcessing: 0,
          processing: busy,
          serviceSeconds,
          // Shown in status, and no part of the rule.
          oldestSeconds: 0,
          p95Seconds: undefined,
          missedShare: undefined,
        },
        demandAgeSeconds: 0,
        slotsPerPod: 1,
        pods: { current: desired, ready, starting: desired - ready, draining: 0 },
        startSeconds,
        memory: memory ?? startMemory(now, desired),
      })
      memory = decision.memory
      return decision.replicas
    }
  }
