// A pool that serves with one pod, for tests of its status.
import type { PoolStatus, RolloutStatus } from '../pool-status.ts'
import type { ConditionType } from '../reasons.ts'
import { type PoolSpecInput, withDefaults } from '../triton-pool.ts'
import type { DemandObservation, PodObservation, PoolObservation, StatusInput } from './observation.ts'
import { buildStatus } from './status.ts'

export const stable = 'aaaaaaaa'
export const canary = 'bbbbbbbb'
export const now = new Date('2026-11-21T08:00:00Z')
export const ago = (seconds: number): Date => new Date(now.getTime() - seconds * 1000)

export const demand: DemandObservation = {
  at: now,
  ageSeconds: 0,
  arrivals3s: 3,
  arrivals30s: 30,
  backlog: 0,
  batchSlots: 0,
  batchProcessing: 0,
  processing: 1,
  oldestSeconds: 0,
  serviceSeconds: 0.3123456,
  p95Seconds: undefined,
  missedShare: undefined,
}

export const pod = (name: string, changes: Partial<PodObservation> = {}): PodObservation => ({
  name,
  revision: stable,
  phase: 'Running',
  ready: true,
  draining: false,
  createdAt: ago(60),
  restarts: 0,
  ...changes,
})

type Changes = {
  readonly spec?: Partial<PoolSpecInput>
  readonly rollout?: Partial<RolloutStatus>
  /** Default: the canary, else the failed revision, else the stable one. */
  readonly target?: string
  readonly replicas?: number
  readonly held?: NonNullable<StatusInput['held']>
  readonly previous?: PoolStatus
  readonly decision?: Partial<StatusInput['decision']>
  readonly now?: Date
} & Partial<PoolObservation>

export const modelSpec = { name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }
export const loaded = (revision = stable) => ({ name: 'u2netp', revision, state: 'ready' }) as const

export function status({
  spec,
  rollout,
  target = rollout?.failed?.revision ?? rollout?.canary ?? stable,
  replicas = 1,
  held,
  previous,
  decision,
  now: at = now,
  ...observed
}: Changes = {}): PoolStatus {
  return buildStatus({
    pool: {
      apiVersion: 'matte.dev/v1alpha1',
      kind: 'TritonPool',
      metadata: { name: 'pool', generation: 7 },
      spec: withDefaults({ models: [modelSpec], ...spec }),
    },
    observed: {
      pods: [pod('a')],
      deployments: [],
      models: [loaded()],
      demand,
      duplicates: [],
      missingSources: [],
      badSchedules: [],
      bounds: { minReplicas: 1, maxReplicas: 10 },
      slotsPerPod: 2,
      startSeconds: 6.2,
      stabilizationWindowSeconds: 69.3,
      ...observed,
    },
    decision: { replicas, rule: 'rate', sentence: 'So many.', inputs: { rate: 1 }, ...decision },
    target,
    rollout: { stable, weight: 0, step: -1, since: '2026-11-21T07:00:00Z', ...rollout },
    ...(held && { held }),
    previous,
    leaderTerm: 3,
    now: at,
  })
}

export const answerOf = (type: ConditionType, of: PoolStatus) => {
  const { status, reason, message } = of.conditions.find((condition) => condition.type === type) ?? {}
  return { status, reason, message }
}
