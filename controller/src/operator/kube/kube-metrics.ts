import { durationBuckets } from '@matte/core/runtime/metrics/define'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Metrics of what talks to Kubernetes; one set per process. */
export type KubeMetrics = ReturnType<typeof createKubeMetrics>

export function createKubeMetrics(registry: Registry) {
  const registers = [registry]
  return {
    requests: new Counter({
      name: 'matte_kube_requests_total',
      help: 'Requests to the API server; code is the HTTP status, or why there was none',
      labelNames: ['verb', 'resource', 'code'],
      registers,
    }),
    drift: new Counter({
      name: 'matte_kube_drift_total',
      help: 'Objects that a comparing list found different from what the watch had sent',
      labelNames: ['resource'],
      registers,
    }),
    watchRestarts: new Counter({
      name: 'matte_kube_watch_restarts_total',
      help: 'Watches that ended and were begun again: ended, idle, cut, gone, refused, unreadable, drift',
      labelNames: ['resource', 'reason'],
      registers,
    }),
    reconciles: new Counter({
      name: 'matte_reconcile_total',
      help: 'Reconciles by outcome: done, requeued, conflict, not_leader, failed, timeout',
      labelNames: ['queue', 'outcome'],
      registers,
    }),
    reconcileSeconds: new Histogram({
      name: 'matte_reconcile_seconds',
      help: 'Time of one reconcile, whatever its outcome',
      labelNames: ['queue'],
      buckets: durationBuckets,
      registers,
    }),
    leader: new Gauge({
      name: 'matte_leader',
      help: '1 in the replica that leads, 0 in the others',
      registers,
    }),
    events: new Counter({
      name: 'matte_kube_events_total',
      help: 'Events by outcome: created, counted (repeated), dropped (too many), failed',
      labelNames: ['outcome'],
      registers,
    }),
  }
}
