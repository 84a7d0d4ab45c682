import { gauge } from '../runtime/metrics/define.ts'

/** All of this file; docs/metrics.md lists them. */
export const dueMetrics = {
  /** Counts deliveries held back by a cap too: lag that is left out of an alarm is lag that nobody sees. */
  dueAge: gauge({
    name: 'matte_delivery_due_age_seconds',
    help: 'How long the oldest due delivery that nobody has claimed has been due; 0 when there is none.',
    reader: 'alert',
    joinedBy: 'max',
  }),
}
