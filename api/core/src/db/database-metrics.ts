import type pg from 'pg'
import { connectionErrorReason } from '../runtime/metrics/connection-error.ts'
import { counter, gauge, histogram } from '../runtime/metrics/define.ts'
import type { EdgeMetrics } from '../runtime/metrics/edge-metrics.ts'

export const statementKinds = ['select', 'insert', 'update', 'delete', 'transaction', 'other'] as const

type StatementKind = (typeof statementKinds)[number]

/** Kind by the first word or, after `with`, by the first part that writes. */
export function statementKind(text: string): StatementKind {
  const [, word = ''] = /^\s*(\w+)/.exec(text) ?? []
  if (word === 'with') return kindOfPart(writingPart.exec(text)?.[1])
  return kindOfPart(word)
}

/** Excludes the `update` of `for update`. */
const writingPart = /(?<!for |key )\b(insert|update|delete)\s+(?:into|from|only|"?\w+"?)/

const kindOfPart = (word = 'select'): StatementKind =>
  word === 'select' || word === 'insert' || word === 'update' || word === 'delete' ? word : 'other'

export const databaseErrorReasons = ['unavailable', 'timeout', 'conflict', 'constraint', 'other'] as const

/** Reason by SQLSTATE, or by the connection error without one. */
export function databaseErrorReason(error: unknown): (typeof databaseErrorReasons)[number] {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === '57014' || code === '55P03') return 'timeout' // statement timeout or lock timeout
  if (/^(40\w{3})$/.test(code)) return 'conflict'
  if (/^23\w{3}$/.test(code)) return 'constraint'
  if (error instanceof Error && error.name === 'DatabaseBusy') return 'timeout'
  const reason = connectionErrorReason(error)
  if (reason === 'other') return 'other'
  return reason === 'timeout' ? 'timeout' : 'unavailable'
}

export const databaseMetrics = {
  duration: histogram({
    name: 'matte_database_query_duration_seconds',
    help:
      'Time of a statement until its response, by its first keyword, without the wait for a pool connection. ' +
      '`transaction` is the time from BEGIN to the end of a transaction, whose statements count too.',
    labels: { operation: statementKinds },
    // Statements take a few milliseconds; at a queue age of 1 s requests are rejected.
    buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5],
    reader: 'saturation',
  }),
  errors: counter({
    name: 'matte_database_errors_total',
    help:
      'Failed statements, and callers without a connection. `timeout`: waited too long for a lock, a response or ' +
      'a pool connection; `conflict`: deadlocks; `constraint` includes rejected requests.',
    labels: { reason: databaseErrorReasons },
    reader: 'alert',
  }),
  connections: gauge({
    name: 'matte_database_pool_connections',
    help:
      'Connections of this process: in use, idle, and the limit, which is below DATABASE_POOL_MAX while the server ' +
      'rejects more.',
    labels: { state: ['used', 'idle', 'max'] },
    reader: 'saturation',
  }),
  waiting: gauge({
    name: 'matte_database_pool_waiting',
    help: 'Callers waiting for a connection of this process.',
    reader: 'saturation',
  }),
}

export type DatabaseObserver = {
  statementEnded(text: string, seconds: number, error?: unknown): void
  transactionEnded(seconds: number): void
  connectFailed(error: unknown): void
  notServed(error: unknown): void
}

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
