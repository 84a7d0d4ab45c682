import { durationBuckets } from '@matte/core/runtime/metrics'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

export type DeliveryMetrics = ReturnType<typeof createDeliveryMetrics>

export const createDeliveryMetrics = (registry: Registry) => ({
  attempts: new Counter({
    name: 'matte_delivery_attempts_total',
    help: 'Webhook attempts by outcome: delivered, or the class of the failure.',
    labelNames: ['outcome'],
    registers: [registry],
  }),
  duration: new Histogram({
    name: 'matte_delivery_duration_seconds',
    help: 'Time of one webhook attempt, DNS and body included.',
    buckets: durationBuckets,
    registers: [registry],
  }),
  /** Counts deliveries held back by a cap too: lag that is left out of an alarm is lag that nobody sees. */
  dueAge: new Gauge({
    name: 'matte_delivery_due_age_seconds',
    help: 'How long the oldest due delivery that nobody has claimed has been due.',
    registers: [registry],
  }),
  inFlight: new Gauge({
    name: 'matte_delivery_in_flight',
    help: 'Webhook attempts in flight in this process.',
    registers: [registry],
  }),
})
