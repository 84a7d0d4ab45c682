import { counter } from '@matte/core/runtime/metrics/define'
import type { Registry } from 'prom-client'

/** `fenced`: a later leader has written. `dropped`: the queue was full, or a sample during an outage. */
export const recordOutcomes = ['written', 'fenced', 'dropped', 'failed'] as const

export const recordMetrics = {
  records: counter({
    name: 'matte_pool_records_total',
    help:
      "Records about pools for the operators' console, by outcome: written, fenced by a later leader, dropped by the " +
      'full queue or an outage of the database, or failed. Pools are reconciled in any case.',
    labels: { outcome: recordOutcomes },
  }),
}

export type RecordMetrics = ReturnType<typeof createRecordMetrics>

export const createRecordMetrics = (registry: Registry) => ({ records: recordMetrics.records.register(registry) })
