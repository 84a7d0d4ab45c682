import type { ConnectionErrorReason } from '@matte/core/runtime/metrics/connection-error'
import { counter, gauge, histogram } from '@matte/core/runtime/metrics/define'
import { createEdgeMetrics, type EdgeMetrics } from '@matte/core/runtime/metrics/edge-metrics'
import type { Registry } from 'prom-client'
import { requestOf, type Verb } from './http/transport.ts'
import { endReasons } from './reflector-state.ts'

/** `not_leader` is not a failure: another replica reconciles the pool. */
const reconcileOutcomes = ['done', 'requeued', 'conflict', 'not_leader', 'failed', 'timeout'] as const
export type ReconcileOutcome = (typeof reconcileOutcomes)[number]

/** `counted`: added to the count of a recent Event. `dropped`: above the rate limit. */
const eventOutcomes = ['created', 'counted', 'dropped', 'failed'] as const
export type EventOutcome = (typeof eventOutcomes)[number]

const queue = 'pools'

export const leaderMetrics = {
  reconciles: counter({
    name: 'matte_reconcile_total',
    help: 'Reconcile passes by outcome; `not_leader` (the Lease was lost) is not a failure.',
    labels: { queue: [queue], outcome: reconcileOutcomes },
  }),
  reconcileSeconds: histogram({
    name: 'matte_reconcile_seconds',
    help: 'Duration of one reconcile pass.',
    labels: { queue: [queue] },
  }),
  leader: gauge({
    name: 'matte_leader',
    reader: 'alert',
    help: '1 in the replica that leads, 0 in the others.',
  }),
  events: counter({
    name: 'matte_kube_events_total',
    help: 'Events by outcome: written, counted in a recent one, dropped by the rate limit, or failed.',
    labels: { outcome: eventOutcomes },
  }),
}

export type KubeMetrics = ReturnType<typeof createKubeMetrics>

export const createKubeMetrics = (registry: Registry, edges?: EdgeMetrics) => ({
  ...createClusterMetrics(registry, edges),
  reconciles: leaderMetrics.reconciles.register(registry),
  reconcileSeconds: leaderMetrics.reconcileSeconds.register(registry),
  leader: leaderMetrics.leader.register(registry),
  events: leaderMetrics.events.register(registry),
})

const resource = 'plural of the resource, with its subresource'

export const clusterMetrics = {
  requests: counter({
    name: 'matte_kube_requests_total',
    help: 'Requests to the API server.',
    labels: {
      verb: Object.keys(requestOf) as Verb[],
      resource,
      code: 'HTTP status, or the error without one: Timeout, Unreachable, TooLarge, BadAnswer, Aborted',
    },
  }),
  drift: counter({
    name: 'matte_kube_drift_total',
    help: 'Objects whose cached copy was stale: a comparing list found a difference, or a write found them gone.',
    labels: { resource },
  }),
  watchRestarts: counter({
    name: 'matte_kube_watch_restarts_total',
    help: 'Restarted watches by reason. `ended` is the normal time limit.',
    labels: { resource, reason: endReasons },
  }),
  namespaceReadable: gauge({
    name: 'matte_kube_namespace_readable',
    reader: 'alert',
    help:
      '1 for a readable watched namespace; 0 while the API server refuses to list or watch there, and the operator ' +
      'does not change its pools.',
    // Named so because a scrape's label `namespace` is that of the scraped pod.
    labels: { watched_namespace: 'the watched namespaces' },
  }),
}

export type ClusterMetrics = ReturnType<typeof createClusterMetrics>

export const createClusterMetrics = (registry: Registry, edges = createEdgeMetrics(registry, ['kubernetes'])) => ({
  requests: clusterMetrics.requests.register(registry),
  serverFailed: (reason: ConnectionErrorReason): void => edges.count('kubernetes', reason),
  drift: clusterMetrics.drift.register(registry),
  watchRestarts: clusterMetrics.watchRestarts.register(registry),
  namespaceReadable: clusterMetrics.namespaceReadable.register(registry),
})
