import { gauge } from '@matte/core/runtime/metrics/define'
import { invariantNames } from '@matte/core/sample/invariants'
import { checkedPayments } from '@matte/core/sample/payment-lag'
import { retained } from '@matte/core/sample/retention-lag'

const modelVersion = 'the models that are installed, 100 at the most'

export const sampleMetrics = {
  queuedAge: gauge({
    name: 'matte_task_queued_age_seconds',
    help:
      'Age of the oldest task that a worker may claim, by the clock of the database; 0 when there is none. ' +
      'Tasks held back by the limit of their workspace do not count; after a lost worker the age starts over.',
    labels: { model_version: modelVersion },
    reader: 'alert',
    joinedBy: 'max',
  }),
  queued: gauge({
    name: 'matte_tasks_queued',
    help: 'Tasks waiting for a claim, including tasks held back by limits, counted up to 10,000.',
    labels: { model_version: modelVersion },
    reader: 'saturation',
    unit: 'tasks',
    joinedBy: 'max',
  }),
  deliveriesDue: gauge({
    name: 'matte_deliveries_due',
    help: 'Due deliveries that are unclaimed, counted up to 10,000.',
    reader: 'saturation',
    unit: 'deliveries',
    joinedBy: 'max',
  }),
  creditsHeld: gauge({
    name: 'matte_credits_held',
    help: 'Credits held by open tasks, summed over the 10,000 oldest; read every minute.',
    reader: 'product',
    unit: 'credits',
    joinedBy: 'max',
  }),
  violations: gauge({
    name: 'matte_invariant_violations',
    help:
      'Rows that violate an invariant, counted up to 100 among recently changed rows; always 0 in a correct ' +
      'installation. Read every five minutes. The log has the ids: `an invariant is broken`.',
    labels: { invariant: invariantNames },
    reader: 'alert',
    unit: 'rows',
    joinedBy: 'max',
  }),
  retentionLag: gauge({
    name: 'matte_retention_lag_seconds',
    help:
      'Age of the oldest item that is due for deletion: unused uploads, objects without rows, lapsed credits, ' +
      'and finished tasks past the retention of their plan (read every five minutes). An object that the store ' +
      'refuses to delete is due again 30 s later.',
    labels: { what: retained },
    reader: 'alert',
    joinedBy: 'max',
  }),
  paymentLag: gauge({
    name: 'matte_payment_overdue_seconds',
    help:
      "Delay of the payment provider's check of an open order or subscription, and age of the oldest " +
      'unconfirmed refund; 0 when there is none. Read every minute.',
    labels: { what: checkedPayments },
    reader: 'alert',
    joinedBy: 'max',
  }),
}
