import { counter, gauge, histogram } from '@matte/core/runtime/metrics/define'
import { dueMetrics } from '@matte/core/webhook/due-metrics'
import type { Registry } from 'prom-client'

/** All of this file beside those of core; docs/metrics.md lists them. */
export const deliveryMetrics = {
  attempts: counter({
    name: 'matte_delivery_attempts_total',
    help: 'Webhook attempts by outcome.',
    labels: { outcome: 'delivered, or the class of the failure, as the deliveries of an endpoint show it' },
  }),
  duration: histogram({
    name: 'matte_delivery_duration_seconds',
    help: 'Time of one webhook attempt, DNS and body included.',
  }),
  inFlight: gauge({
    name: 'matte_delivery_in_flight',
    help: 'Webhook attempts in flight in this process.',
  }),
}

export type DeliveryMetrics = ReturnType<typeof createDeliveryMetrics>

export const createDeliveryMetrics = (registry: Registry) => ({
  attempts: deliveryMetrics.attempts.register(registry),
  duration: deliveryMetrics.duration.register(registry),
  dueAge: dueMetrics.dueAge.register(registry),
  inFlight: deliveryMetrics.inFlight.register(registry),
})
