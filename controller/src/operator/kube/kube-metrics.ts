import { counter, gauge, histogram } from '@matte/core/runtime/metrics/define'
import type { EdgeMetrics } from '@matte/core/runtime/metrics/edge-metrics'
import type { Registry } from 'prom-client'
import { createClusterMetrics } from './cluster-metrics.ts'

/** `not_leader` is no failure: the Lease was lost meanwhile, and the pool is another's to reconcile. */
const reconcileOutcomes = ['done', 'requeued', 'conflict', 'not_leader', 'failed', 'timeout'] as const
export type ReconcileOutcome = (typeof reconcileOutcomes)[number]

/** `counted`: in the Event that was written shortly before. `dropped`: there were too many. */
const eventOutcomes = ['created', 'counted', 'dropped', 'failed'] as const
export type EventOutcome = (typeof eventOutcomes)[number]

const queue = 'pools'

/** Of the operator; docs/metrics.md lists them. */
export const leaderMetrics = {
  reconciles: counter({
    name: 'matte_reconcile_total',
    help: 'Reconcile passes; `not_leader` means that the Lease was lost, which is no failure.',
    labels: { queue: [queue], outcome: reconcileOutcomes },
  }),
  reconcileSeconds: histogram({
    name: 'matte_reconcile_seconds',
    help: 'Time of one reconcile pass, whatever its outcome.',
    labels: { queue: [queue] },
  }),
  leader: gauge({
    name: 'matte_leader',
    reader: 'alert',
    help: '1 in the replica that leads, 0 in the others.',
  }),
  events: counter({
    name: 'matte_kube_events_total',
    help: 'Events: written, counted in the one written shortly before, dropped since there were too many, or failed.',
    labels: { outcome: eventOutcomes },
  }),
}

export type KubeMetrics = ReturnType<typeof createKubeMetrics>

/** Those of a process that decides and writes; one that only reads has createClusterMetrics. */
export const createKubeMetrics = (registry: Registry, edges?: EdgeMetrics) => ({
  ...createClusterMetrics(registry, edges),
  reconciles: leaderMetrics.reconciles.register(registry),
  reconcileSeconds: leaderMetrics.reconcileSeconds.register(registry),
  leader: leaderMetrics.leader.register(registry),
  events: leaderMetrics.events.register(registry),
})
