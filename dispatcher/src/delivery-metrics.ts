import { createClaimMetrics } from '@matte/core/runtime/metrics/claim-metrics'
import { counter, gauge, histogram } from '@matte/core/runtime/metrics/define'
import { attemptErrors } from '@matte/core/webhook/attempt-outcome'
import { webhookEvents } from '@matte/core/webhook/events'
import type { Registry } from 'prom-client'

const outcomes = ['delivered', 'exhausted', 'canceled'] as const

/** All of this file but what other processes count as well; docs/metrics.md lists them. */
export const deliveryMetrics = {
  attempts: counter({
    name: 'matte_delivery_attempts_total',
    help: 'Webhook attempts, by what an attempt came to.',
    labels: { outcome: ['delivered', ...attemptErrors] },
  }),
  ended: counter({
    name: 'matte_deliveries_ended_total',
    help:
      'Deliveries ended by this process: delivered, exhausted with the last attempt, or canceled since the endpoint ' +
      'is disabled or deleted. What the API cancels at once, with an endpoint or a retry, is not among them.',
    labels: { event: webhookEvents, outcome: outcomes },
  }),
  duration: histogram({
    name: 'matte_delivery_duration_seconds',
    help: 'Time of one webhook attempt, DNS and body included.',
  }),
  /** Counts deliveries held back by a cap too: lag that is left out of an alarm is lag that nobody sees. */
  dueAge: gauge({
    name: 'matte_delivery_due_age_seconds',
    help: 'How long the oldest due delivery that nobody has claimed has been due.',
  }),
  inFlight: gauge({
    name: 'matte_delivery_in_flight',
    help: 'Webhook attempts in flight in this process.',
  }),
}

export type DeliveryMetrics = ReturnType<typeof createDeliveryMetrics>

export const createDeliveryMetrics = (registry: Registry) => ({
  attempts: deliveryMetrics.attempts.register(registry),
  ended: deliveryMetrics.ended.register(registry),
  duration: deliveryMetrics.duration.register(registry),
  dueAge: deliveryMetrics.dueAge.register(registry),
  inFlight: deliveryMetrics.inFlight.register(registry),
  claims: createClaimMetrics(registry, 'delivery'),
})
