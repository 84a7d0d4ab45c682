// Rollouts for tests: ten desired pods, an old and a new revision, times in seconds after noon.
import type { RolloutStatus } from '../pool/pool-status.ts'
import { planRollout } from './canary.ts'
import type { RequestCounts } from './gate.ts'
import type { RevisionObservation, RolloutInput } from './rollout-decision.ts'

export const at = (seconds: number): Date => new Date(Date.UTC(2026, 10, 21, 12, 0, seconds))
export const time = (seconds: number): string => `${at(seconds).toISOString().slice(0, 19)}Z`

export const rollout: RolloutInput['rollout'] = {
  strategy: 'Canary',
  maxSurge: 1,
  maxUnavailable: 0,
  steps: [
    { weight: 10, durationSeconds: 60 },
    { weight: 50, durationSeconds: 60 },
  ],
  gate: { readySeconds: 600, maxErrorRate: 0.02, maxLatencyRatio: 1.5, minRequests: 50, idle: 'wait' },
}

export const seen = (
  revision: string,
  ready: number,
  more: Partial<RevisionObservation> = {},
): RevisionObservation => ({
  revision,
  replicas: ready,
  pods: ready,
  ready,
  up: ready,
  ...more,
})

export const did = (done: number, failures: Partial<RequestCounts> = {}): RequestCounts => ({
  done,
  failed: 0,
  timedOut: 0,
  serviceSeconds: 0.5,
  ...failures,
})

export const trying = (step: number, weight: number, more: Partial<RolloutStatus> = {}): RolloutStatus => ({
  stable: 'old',
  canary: 'new',
  step,
  weight,
  since: time(0),
  ...more,
})

export function plan(input: Partial<RolloutInput>) {
  const now = input.now ?? at(0)
  const { pods, ...rest } = planRollout({
    rollout,
    target: 'new',
    desired: 10,
    state: undefined,
    revisions: [],
    namesOf: () => ['v2', 'service-v2'],
    counts: new Map(),
    isDemandFresh: true,
    retry: undefined,
    elapsed: (since) => Math.max(0, (now.getTime() - Date.parse(since)) / 1000),
    now,
    ...input,
  })
  return { ...rest, pods: Object.fromEntries(pods) }
}
