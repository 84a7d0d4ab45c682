// Metrics of the servers that a process depends on.
import type { Registry } from 'prom-client'
import { type ConnectionErrorReason, connectionErrorReason, connectionErrorReasons } from './connection-error.ts'
import { counter } from './define.ts'

const dependencies = ['database', 'nats', 'store', 'kubernetes', 'triton'] as const

type Dependency = (typeof dependencies)[number]

export const edgeMetrics = {
  errors: counter({
    name: 'matte_dependency_errors_total',
    help:
      'Failed connections and requests to a server that this process depends on, by reason: certificate, ' +
      'credentials, network, timeout. The log line of the failure has the details.',
    labels: { dependency: dependencies, reason: connectionErrorReasons },
    reader: 'alert',
  }),
}

export type EdgeMetrics = {
  readonly registry: Registry
  readonly failed: (dependency: Dependency, error: unknown) => void
  readonly count: (dependency: Dependency, reason: ConnectionErrorReason) => void
}

/** `used`: servers of this process; their counts start at 0. */
export function createEdgeMetrics(registry: Registry, used: readonly Dependency[]): EdgeMetrics {
  const errors = edgeMetrics.errors.register(registry, { dependency: used })
  const count: EdgeMetrics['count'] = (dependency, reason) => errors.inc({ dependency, reason })
  return { registry, count, failed: (dependency, error) => count(dependency, connectionErrorReason(error)) }
}
