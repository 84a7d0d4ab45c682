import { gauge } from '../runtime/metrics/define.ts'

/** Listed in docs/metrics.md. */
export const dueMetrics = {
  /** Includes deliveries held back by a cap, so that their lag is visible. */
  dueAge: gauge({
    name: 'matte_delivery_due_age_seconds',
    help: 'Time that the oldest due and unclaimed delivery has been due; 0 if there is none.',
    reader: 'alert',
    joinedBy: 'max',
  }),
}
