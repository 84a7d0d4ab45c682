import { retentionParts } from '@matte/core/retention/sweep-retention'
import { counter } from '@matte/core/runtime/metrics/define'

/** Parts of a task sweep in run order. Dead letters are last, because NATS may hang until its timeout. */
export const taskSweepParts = [
  'runs_ended',
  'idempotency_records_deleted',
  'inference_windows_deleted',
  'dead_letters',
] as const

export const sweepMetrics = {
  failures: counter({
    name: 'matte_sweep_failures_total',
    reader: 'alert',
    help: 'Parts of sweeps that failed, or had a row that failed.',
    labels: { part: [...taskSweepParts, ...retentionParts] },
  }),
}
