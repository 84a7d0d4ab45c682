// Metrics of requests to the API server, in the worker and the operator.
import type { ConnectionErrorReason } from '@matte/core/runtime/metrics/connection-error'
import { counter, gauge } from '@matte/core/runtime/metrics/define'
import { createEdgeMetrics } from '@matte/core/runtime/metrics/edge-metrics'
import type { Registry } from 'prom-client'
import { requestOf, type Verb } from './http/verbs.ts'
import { endReasons } from './watch/watch-ending.ts'

const resource = 'plural of the resource, with its subresource'

/** All of this file; docs/metrics.md lists them. */
export const clusterMetrics = {
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
    help: 'Objects that a comparing list found different from what the watch had sent, or that a write found gone.',
    labels: { resource },
  }),
  watchRestarts: counter({
    name: 'matte_kube_watch_restarts_total',
    help: 'Watches that ended and were begun again. `ended` is the limit of time that each has: nothing is wrong.',
    labels: { resource, reason: endReasons },
  }),
  namespaceReadable: gauge({
    name: 'matte_kube_namespace_readable',
    reader: 'alert',
    help:
      '1 for a watched namespace; 0 while the API server refuses to list or watch an object there, and its pools ' +
      'stay as they are.',
    // The label `namespace` of a scrape is the namespace of the pod that is scraped.
    labels: { watched_namespace: 'the watched namespaces' },
  }),
}

export type ClusterMetrics = ReturnType<typeof createClusterMetrics>

/** `edges`: those of the process, where it has them already. */
export const createClusterMetrics = (registry: Registry, edges = createEdgeMetrics(registry, ['kubernetes'])) => ({
  requests: clusterMetrics.requests.register(registry),
  /** Counts a request that the API server failed, rather than refused. */
  serverFailed: (reason: ConnectionErrorReason): void => edges.count('kubernetes', reason),
  drift: clusterMetrics.drift.register(registry),
  watchRestarts: clusterMetrics.watchRestarts.register(registry),
  namespaceReadable: clusterMetrics.namespaceReadable.register(registry),
})
