// What every process counts of the servers that it stands on, whichever library talks to them.
import type { Registry } from 'prom-client'
import { type ConnectionErrorReason, connectionErrorReason, connectionErrorReasons } from './connection-error.ts'
import { counter } from './define.ts'

const dependencies = ['database', 'nats', 'store', 'kubernetes', 'triton'] as const

type Dependency = (typeof dependencies)[number]

/** All of this file; docs/metrics.md lists them. */
export const edgeMetrics = {
  errors: counter({
    name: 'matte_dependency_errors_total',
    help:
      'Connections and requests to a server that this process needs that failed for a reason of the connection: its ' +
      'certificate, our credentials, no way there, no answer in time. The log line of the failure has the details.',
    labels: { dependency: dependencies, reason: connectionErrorReasons },
    reader: 'alert',
  }),
}

/** What an edge (database, bus, store, cluster) is observed by. */
export type EdgeMetrics = {
  readonly registry: Registry
  /** Counts a connection or request that failed by its reason. */
  readonly failed: (dependency: Dependency, error: unknown) => void
  /** Counts one whose reason is known. */
  readonly count: (dependency: Dependency, reason: ConnectionErrorReason) => void
}

/** Once for each process. `used`: the servers that it talks to; their counts begin at 0. */
export function createEdgeMetrics(registry: Registry, used: readonly Dependency[]): EdgeMetrics {
  const errors = edgeMetrics.errors.register(registry, { dependency: used })
  const count: EdgeMetrics['count'] = (dependency, reason) => errors.inc({ dependency, reason })
  return { registry, count, failed: (dependency, error) => count(dependency, connectionErrorReason(error)) }
}
