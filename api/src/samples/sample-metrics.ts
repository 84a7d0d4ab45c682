import { gauge } from '@matte/core/runtime/metrics/define'
import { invariantNames } from '@matte/core/sample/invariants'
import { checkedPayments } from '@matte/core/sample/payment-lag'
import { retained } from '@matte/core/sample/retention-lag'

const modelVersion = 'the models that are installed, 100 at the most'

/** All of this file; docs/metrics.md lists them. Absent while the database cannot be asked. */
export const sampleMetrics = {
  queuedAge: gauge({
    name: 'matte_task_queued_age_seconds',
    help:
      'How long the oldest task that a worker may claim has waited, by the clock of the database; 0 when there is ' +
      'none. What the limit of its own workspace holds back does not count; what lost its worker counts from then.',
    labels: { model_version: modelVersion },
    reader: 'alert',
    joinedBy: 'max',
  }),
  queued: gauge({
    name: 'matte_tasks_queued',
    help: 'Tasks that wait for a claim, held back by limits or not, counted up to 10,000.',
    labels: { model_version: modelVersion },
    reader: 'saturation',
    unit: 'tasks',
    joinedBy: 'max',
  }),
  deliveriesDue: gauge({
    name: 'matte_deliveries_due',
    help: 'Due deliveries that nobody has claimed, counted up to 10,000.',
    reader: 'saturation',
    unit: 'deliveries',
    joinedBy: 'max',
  }),
  creditsHeld: gauge({
    name: 'matte_credits_held',
    help: 'Credits held by tasks that have not ended, added up over the 10,000 oldest; read every minute.',
    reader: 'product',
    unit: 'credits',
    joinedBy: 'max',
  }),
  violations: gauge({
    name: 'matte_invariant_violations',
    help:
      'Rows that break a rule that no row may break, counted up to 100, among those that changed last; 0 always. ' +
      'Read every five minutes. The log has the ids: `an invariant is broken`.',
    labels: { invariant: invariantNames },
    reader: 'alert',
    unit: 'rows',
    joinedBy: 'max',
  }),
  retentionLag: gauge({
    name: 'matte_retention_lag_seconds',
    help:
      'How long the oldest that is due to be deleted has been due: unused uploads, objects whose rows are gone, ' +
      'lapsed credits, and finished tasks past the days of their plan (read every five minutes). An object that the ' +
      'store refuses to delete is due again ten minutes later.',
    labels: { what: retained },
    reader: 'alert',
    joinedBy: 'max',
  }),
  paymentLag: gauge({
    name: 'matte_payment_overdue_seconds',
    help:
      'How long the provider of payments should have been asked about an open order or a subscription, and for how ' +
      'long the oldest refund that is not confirmed has been; 0 when there is none. Read every minute.',
    labels: { what: checkedPayments },
    reader: 'alert',
    joinedBy: 'max',
  }),
}
