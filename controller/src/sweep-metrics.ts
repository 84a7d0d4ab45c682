import { retentionParts } from '@matte/core/retention/sweep-retention'
import { counter } from '@matte/core/runtime/metrics/define'

/** What a sweep of tasks does, in this order. Dead letters come last: NATS may hang until its time-out. */
export const taskSweepParts = [
  'runs_ended',
  'idempotency_records_deleted',
  'inference_windows_deleted',
  'dead_letters',
] as const

/** All of this file; docs/metrics.md lists them. */
export const sweepMetrics = {
  failures: counter({
    name: 'matte_sweep_failures_total',
    reader: 'alert',
    help: 'Parts of sweeps that failed, or of which a row failed.',
    labels: { part: [...taskSweepParts, ...retentionParts] },
  }),
}
