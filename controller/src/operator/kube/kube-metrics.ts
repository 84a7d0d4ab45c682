import type { ConnectionErrorReason } from '@matte/core/runtime/metrics/connection-error'
import { counter, gauge, histogram } from '@matte/core/runtime/metrics/define'
import { createEdgeMetrics } from '@matte/core/runtime/metrics/edge-metrics'
import type { Registry } from 'prom-client'
import { requestOf, type Verb } from './http/verbs.ts'
import { endReasons } from './watch/watch-ending.ts'

/** `not_leader` is no failure: the Lease was lost meanwhile, and the pool is another's to reconcile. */
const reconcileOutcomes = ['done', 'requeued', 'conflict', 'not_leader', 'failed', 'timeout'] as const
export type ReconcileOutcome = (typeof reconcileOutcomes)[number]

/** `counted`: in the Event that was written shortly before. `dropped`: there were too many. */
const eventOutcomes = ['created', 'counted', 'dropped', 'failed'] as const
export type EventOutcome = (typeof eventOutcomes)[number]

const resource = 'plural of the resource, with its subresource'
const queue = 'pools'

/** All of this file; docs/metrics.md lists them. */
export const kubeMetrics = {
  requests: counter({
    name: 'matte_kube_requests_total',
    help: 'Requests to the API server.',
    labels: {
      verb: Object.keys(requestOf) as Verb[],
      resource,
      code: 'the HTTP status, or why there was none: Timeout, Unreachable, TooLarge, BadAnswer, Aborted',
    },
  }),
  drift: counter({
    name: 'matte_kube_drift_total',
    help: 'Objects that a comparing list found different from what the watch had sent.',
    labels: { resource },
  }),
  watchRestarts: counter({
    name: 'matte_kube_watch_restarts_total',
    help: 'Watches that ended and were begun again. `ended` is the limit of time that each has: nothing is wrong.',
    labels: { resource, reason: endReasons },
  }),
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

/** Metrics of what talks to Kubernetes; one set per process. */
export type KubeMetrics = ReturnType<typeof createKubeMetrics>

/** `edges`: those of the process, where it has them already. */
export const createKubeMetrics = (registry: Registry, edges = createEdgeMetrics(registry, ['kubernetes'])) => ({
  requests: kubeMetrics.requests.register(registry),
  /** Counts a request that the API server failed, rather than refused. */
  serverFailed: (reason: ConnectionErrorReason): void => edges.count('kubernetes', reason),
  drift: kubeMetrics.drift.register(registry),
  watchRestarts: kubeMetrics.watchRestarts.register(registry),
  reconciles: kubeMetrics.reconciles.register(registry),
  reconcileSeconds: kubeMetrics.reconcileSeconds.register(registry),
  leader: kubeMetrics.leader.register(registry),
  events: kubeMetrics.events.register(registry),
})
