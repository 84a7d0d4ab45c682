// The situations of docs/situations/: the controller's own decision and status run over the passes of a scenario, so
// that the documents show what the controller writes.

import type { PoolStatus } from '@matte/controller/operator/pool/pool-status'
import type { PoolObservation } from '@matte/controller/operator/pool/status/observation'
import { buildStatus } from '@matte/controller/operator/pool/status/status'
import { group, kind, type PoolSpecInput, version, withDefaults } from '@matte/controller/operator/pool/triton-pool'
import { boundsInForce } from '@matte/controller/operator/scale/bounds'
import {
  decideReplicas,
  stabilizationSecondsFor,
  startMemory,
  unmeasuredStartSeconds,
} from '@matte/controller/operator/scale/decide'
import { at, type Pass, plainSpec, scenarios, stable } from './pool-scenarios.ts'

export type Situation = {
  readonly id: string
  readonly title: string
  readonly about: string
  /** The moment of its last reconcile pass. */
  readonly now: Date
  /** What the user wrote, with what the API server adds of its own accord. */
  readonly pool: { readonly metadata: Metadata; readonly spec: PoolSpecInput; readonly status: PoolStatus }
  /** What was emitted until then, the oldest first. */
  readonly events: readonly SituationEvent[]
}

type Metadata = { name: string; namespace: string; generation: number; creationTimestamp: string }

export type SituationEvent = {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly at: Date
  readonly message: string
}

type Watched = { readonly status: PoolStatus; readonly events: readonly SituationEvent[] }

const quiet = {
  arrivals3s: 0,
  arrivals30s: 0,
  backlog: 0,
  batchSlots: 0,
  batchProcessing: 0,
  processing: 0,
  oldestSeconds: 0,
}
const usual = { serviceSeconds: 0.31, p95Seconds: 0.94, missedShare: 0 }
const measuredStartSeconds = 6.2

/** Runs the controller's own decision and status over the passes, one after the other, and returns the last status with the Events of all. */
function watch(spec: PoolSpecInput, generation: number, passes: readonly Pass[]): Watched {
  const metadata = { name: 'u2netp', namespace: 'matte', generation, creationTimestamp: at(0).toISOString() }
  const pool = { apiVersion: `${group}/${version}`, kind, metadata, spec: withDefaults(spec) }
  const { scaling } = pool.spec
  const effective = { ...scaling, ...scaling.target }
  let memory = startMemory(0, 0)
  let previous: PoolStatus | undefined
  const events: SituationEvent[] = []
  for (const pass of passes) {
    const now = at(pass.seconds)
    const startSeconds = 'startSeconds' in pass ? pass.startSeconds : measuredStartSeconds
    const demand = { at: now, ageSeconds: 0, ...quiet, ...usual, ...pass.demand }
    const ready = pass.pods.filter((pod) => pod.ready && !pod.draining).length
    const draining = pass.pods.filter((pod) => pod.draining).length
    const decision = decideReplicas({
      nowSeconds: pass.seconds,
      scaling: effective,
      demand,
      demandAgeSeconds: demand.ageSeconds,
      ledSeconds: pass.seconds,
      slotsPerPod: 2,
      pods: {
        current: previous?.desiredReplicas ?? 0,
        ready,
        starting: pass.pods.length - ready - draining,
        draining,
      },
      startSeconds: startSeconds ?? unmeasuredStartSeconds,
      memory,
    })
    memory = decision.memory
    const observed: PoolObservation = {
      pods: pass.pods,
      deployments: pass.deployments ?? [{ revision: stable, replicas: decision.replicas }],
      models: pass.models ?? [{ name: 'u2netp', revision: stable, state: ready > 0 ? 'ready' : 'unknown' }],
      demand,
      ...(pass.demandFailure === undefined ? {} : { demandFailure: pass.demandFailure }),
      duplicates: [],
      missingSources: [],
      badSchedules: [],
      bounds: boundsInForce(effective),
      slotsPerPod: startSeconds === undefined ? undefined : 2,
      startSeconds,
      stabilizationWindowSeconds: stabilizationSecondsFor(effective, startSeconds ?? unmeasuredStartSeconds),
    }
    const rollout = pass.rollout ?? { stable, weight: 0, step: -1, since: '2026-11-21T08:00:00Z' }
    const target = rollout.failed?.revision ?? rollout.canary ?? stable
    const status = buildStatus({ pool, observed, decision, target, rollout, previous, leaderTerm: 4, now })
    events.push(...eventsOf(pass, status, previous))
    previous = status
  }
  if (previous === undefined) throw new Error('a situation needs one pass')
  return { status: previous, events }
}

/** As `reconcile` emits them: a change of the pods wanted, what the rollout says, and the beginning and end of trouble. */
function eventsOf(pass: Pass, status: PoolStatus, previous: PoolStatus | undefined): SituationEvent[] {
  const decided = status.scalingHistory?.at(-1)
  const isScaled = status.desiredReplicas !== (previous?.desiredReplicas ?? 0) && decided !== undefined
  const [trouble, before] = [status, previous].map((of) => of?.conditions.find(({ type }) => type === 'Degraded'))
  const isTroubled = trouble?.status === 'True' && (before?.status !== 'True' || before.reason !== trouble.reason)
  const all = [
    isScaled && {
      reason: decided.to > decided.from ? 'ScaledUp' : 'ScaledDown',
      message: `${decided.from} → ${decided.to}: ${decided.sentence}`,
    },
    ...(pass.events ?? []),
    isTroubled && { type: 'Warning' as const, reason: trouble.reason, message: trouble.message },
  ]
  return all.flatMap((event) => (event ? [{ type: 'Normal' as const, at: at(pass.seconds), ...event }] : []))
}

export const situations: readonly Situation[] = scenarios.map(
  ({ id, title, about, passes, spec = plainSpec, generation = 1 }) => {
    const metadata = { name: 'u2netp', namespace: 'matte', generation, creationTimestamp: '2026-11-21T08:00:00Z' }
    const now = at(passes.at(-1)?.seconds ?? 0)
    const { status, events } = watch(spec, generation, passes)
    return { id, title, about, now, pool: { metadata, spec, status }, events }
  },
)
