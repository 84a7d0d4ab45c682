import { createClaimMetrics } from '@matte/core/runtime/metrics/claim-metrics'
import { counter, gauge, histogram } from '@matte/core/runtime/metrics/define'
import { attemptErrors } from '@matte/core/webhook/attempt-outcome'
import { dueMetrics } from '@matte/core/webhook/due-metrics'
import { webhookEvents } from '@matte/core/webhook/events'
import type { Registry } from 'prom-client'

const outcomes = ['delivered', 'exhausted', 'canceled'] as const

/** Listed in docs/metrics.md. */
export const deliveryMetrics = {
  attempts: counter({
    name: 'matte_delivery_attempts_total',
    reader: 'product',
    help: 'Webhook attempts by outcome.',
    labels: { outcome: ['delivered', ...attemptErrors] },
  }),
  ended: counter({
    name: 'matte_deliveries_ended_total',
    reader: 'product',
    help:
      'Deliveries that this process ended: delivered, exhausted after the last attempt, or canceled because the endpoint ' +
      'was deleted. Excludes deliveries that the API cancels. A paused delivery has not ended.',
    labels: { event: webhookEvents, outcome: outcomes },
  }),
  duration: histogram({
    name: 'matte_delivery_duration_seconds',
    reader: 'saturation',
    help: 'Time of one webhook attempt, DNS and body included.',
  }),
  inFlight: gauge({
    name: 'matte_delivery_in_flight',
    reader: 'saturation',
    help: 'Webhook attempts in flight in this process.',
  }),
}

export type DeliveryMetrics = ReturnType<typeof createDeliveryMetrics>

export const createDeliveryMetrics = (registry: Registry) => ({
  attempts: deliveryMetrics.attempts.register(registry),
  ended: deliveryMetrics.ended.register(registry),
  duration: deliveryMetrics.duration.register(registry),
  dueAge: dueMetrics.dueAge.register(registry),
  inFlight: deliveryMetrics.inFlight.register(registry),
  claims: createClaimMetrics(registry, 'delivery'),
})
