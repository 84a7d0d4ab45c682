import { scalingDefaults } from '@matte/controller/operator/pool/spec/scaling'
import { decideReplicas, followOwner, startMemory } from '@matte/controller/operator/scale/decide'
import type { EffectiveScaling, ScaleInput } from '@matte/controller/operator/scale/decision'
import { lateSeconds, type PoolView } from '../pool.ts'
import { hpaScaler, periodSeconds } from './hpa.ts'
import type { MakeScaler, Setting } from './scaler.ts'

/** A pool's default `scaling`; the bounds are shared by all scalers. */
const defaults = {
  p95Seconds: lateSeconds,
  utilization: scalingDefaults.utilization,
  panicWindowSeconds: scalingDefaults.panicWindowSeconds,
  fallback: { afterSeconds: scalingDefaults.fallbackAfterSeconds, replicas: scalingDefaults.fallbackReplicas },
}

type Memory = ReturnType<typeof startMemory>

/** The rule's input, with exact demand in place of the database's. */
function inputReader(setting: Setting, scaling: EffectiveScaling) {
  let serviceSeconds: number | undefined
  return ({ now, desired, ready, waiting, busy, arrived, meanService }: PoolView, memory?: Memory): ScaleInput => {
    serviceSeconds = meanService(60) ?? serviceSeconds
    return {
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
        // For status only.
        oldestSeconds: 0,
        p95Seconds: undefined,
        missedShare: undefined,
      },
      demandAgeSeconds: 0,
      ledSeconds: now,
      slotsPerPod: 1,
      pods: { current: desired, ready, starting: desired - ready, draining: 0 },
      startSeconds: setting.startSeconds,
      memory: memory ?? startMemory(now, desired),
    }
  }
}

/** Matte's rule, once per second. `changes` are for the table of prices. */
export const matte =
  (changes: Partial<EffectiveScaling> = {}): MakeScaler =>
  (setting) => {
    const { minReplicas, maxReplicas } = setting
    const read = inputReader(setting, { ...defaults, minReplicas, maxReplicas, ...changes })
    let memory: Memory | undefined
    return (view) => {
      const decision = decideReplicas(read(view, memory))
      memory = decision.memory
      return decision.replicas
    }
  }

type WantedPodsRules = {
  /** Prometheus reads the metric at this interval. The scaler sees it half an interval later, at least a second. */
  readonly scrapeSeconds?: number
  /** Most pods added by one decision. */
  readonly podsMax?: number
  /** Time between two decisions of the autoscaler. */
  readonly syncSeconds?: number
}

/**
 * A HorizontalPodAutoscaler, or KEDA with at least one pod, on Matte's metric of wanted pods: the objects of
 * charts/matte/examples/external-scaler.
 */
export const hpaByWantedPods =
  ({ scrapeSeconds = periodSeconds, podsMax = 12, syncSeconds = periodSeconds }: WantedPodsRules = {}): MakeScaler =>
  (setting, { phase }) => {
    const { minReplicas, maxReplicas } = setting
    const read = inputReader(setting, { ...defaults, minReplicas, maxReplicas })
    const scrapedAt = Math.floor(((phase + 0.5) % 1) * scrapeSeconds)
    const rules = {
      phase,
      syncSeconds,
      stabilizationSeconds: 60 + 1.5 * setting.startSeconds,
      upTo: (desired: number) => desired + podsMax,
    }
    let wanted: number | undefined
    const scaler = hpaScaler(setting, rules, ({ desired }) =>
      wanted === undefined ? undefined : { replicas: wanted, ratio: wanted / desired },
    )
    return (view) => {
      const replicas = scaler(view)
      if (view.now % scrapeSeconds === scrapedAt) wanted = followOwner(read(view), view.desired).inputs.wantedPods
      return replicas
    }
  }
