import type pg from 'pg'
import { counter, gauge, histogram } from '../../runtime/metrics/define.ts'
import type { EdgeMetrics } from '../../runtime/metrics/edge-metrics.ts'
import { databaseErrorReason, databaseErrorReasons, statementKind, statementKinds } from './statement.ts'

/** All of this file; docs/metrics.md lists them. */
export const databaseMetrics = {
  duration: histogram({
    name: 'matte_database_query_duration_seconds',
    help:
      'Time of one statement from its sending to its answer, by what it begins with: the wait for a connection of ' +
      'the pool is not in it. `transaction` is the time from BEGIN to the end of a transaction, whose statements ' +
      'count too.',
    labels: { operation: statementKinds },
    // A statement takes one to a few milliseconds; a second is the age of the queue at which requests are refused (D6).
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5],
    reader: 'saturation',
  }),
  errors: counter({
    name: 'matte_database_errors_total',
    help:
      'Statements that failed, and askers that got no connection. `timeout` has those that waited too long for a ' +
      'lock, an answer or a connection of the pool; `conflict` deadlocks; some of `constraint` are refusals of a ' +
      'request.',
    labels: { reason: databaseErrorReasons },
    reader: 'alert',
  }),
  connections: gauge({
    name: 'matte_database_pool_connections',
    help:
      'Connections of the pool of this process: in use, idle, and the most that it may open, which is lower than ' +
      'DATABASE_POOL_MAX while the server has no room for more.',
    labels: { state: ['used', 'idle', 'max'] },
    reader: 'saturation',
  }),
  waiting: gauge({
    name: 'matte_database_pool_waiting',
    help: 'Askers that wait for a connection of the pool of this process.',
    reader: 'saturation',
  }),
}

/** What the pool tells of its work. */
export type DatabaseObserver = {
  /** Of the text that was sent; `error` is what it failed with. */
  statementEnded(text: string, seconds: number, error?: unknown): void
  transactionEnded(seconds: number): void
  /** A connection could not be made. */
  connectFailed(error: unknown): void
  /** Somebody asked for a connection and got none, whatever the reason. */
  notServed(error: unknown): void
}

/** For programs without metrics. */
export const unobserved: DatabaseObserver = {
  statementEnded: () => undefined,
  transactionEnded: () => undefined,
  connectFailed: () => undefined,
  notServed: () => undefined,
}

export function observeDatabase({ registry, failed }: EdgeMetrics, pool: pg.Pool): DatabaseObserver {
  const duration = databaseMetrics.duration.register(registry)
  const errors = databaseMetrics.errors.register(registry)
  databaseMetrics.connections.register(registry, (metric) => {
    metric.set({ state: 'used' }, pool.totalCount - pool.idleCount)
    metric.set({ state: 'idle' }, pool.idleCount)
    metric.set({ state: 'max' }, pool.options.max)
  })
  databaseMetrics.waiting.register(registry, (metric) => metric.set(pool.waitingCount))
  const count = (error: unknown): void => errors.inc({ reason: databaseErrorReason(error) })
  return {
    statementEnded: (text, seconds, error) => {
      duration.observe({ operation: statementKind(text) }, seconds)
      if (error === undefined) return
      count(error)
      if (databaseErrorReason(error) === 'unavailable') failed('database', error)
    },
    transactionEnded: (seconds) => duration.observe({ operation: 'transaction' }, seconds),
    connectFailed: (error) => failed('database', error),
    notServed: count,
  }
}
