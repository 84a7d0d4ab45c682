import type { AttemptHours } from '@matte/core/webhook/endpoint/attempt-hours'
import { hoursShown } from '@matte/core/webhook/endpoint/attempt-hours'
import { type Static, Type } from 'typebox'
import { count, named, nullable, time } from './schema.ts'

const counts = {
  totalAttempts: count('Ended attempts.'),
  succeededAttempts: count('Attempts that were answered with 2xx.'),
  failedAttempts: count(),
  successRate: nullable(
    Type.Number({ minimum: 0, maximum: 1, description: 'Succeeded ÷ all attempts; null without any.' }),
  ),
  latencyP50Ms: nullable(
    Type.Integer({
      description: 'Median time of an attempt in milliseconds, time-outs included; interpolated. Null without any.',
    }),
  ),
  latencyP95Ms: nullable(Type.Integer({ description: 'The time that 95 of 100 attempts do not exceed.' })),
}

const none = { totalAttempts: 0, succeededAttempts: 0, failedAttempts: 0 }
const idle = { ...none, successRate: null, latencyP50Ms: null, latencyP95Ms: null }
const busy = {
  ...{ totalAttempts: 40, succeededAttempts: 39, failedAttempts: 1, successRate: 0.975 },
  ...{ latencyP50Ms: 120, latencyP95Ms: 410 },
}

export const webhookStatsSchema = named(
  'WebhookStats',
  {
    ...counts,
    hourly: Type.Array(Type.Object({ start: time('Start of the hour, UTC.'), ...counts }), {
      maxItems: hoursShown,
      description: 'The last 168 hours, oldest first, also those without attempts. The last one is the current hour.',
    }),
  },
  {
    ...busy,
    // Two of the 168 hours.
    hourly: [
      { start: '2026-11-21T08:00:00.000Z', ...idle },
      { start: '2026-11-21T09:00:00.000Z', ...busy },
    ],
  },
)

export const egressAddressesSchema = named(
  'WebhookEgressAddresses',
  {
    addresses: Type.Array(Type.String({ description: 'An address, or a network in CIDR notation.' }), {
      description: 'Sources of webhooks. Empty: the operator has not configured them, and they are unknown.',
    }),
    known: Type.Boolean({ description: 'False: `addresses` is empty because the addresses are unknown.' }),
  },
  { addresses: ['203.0.113.7', '203.0.113.16/28'], known: true },
)

type Stats = AttemptHours['hours'][number]

const toCounts = ({ total, succeeded, failed, successRate, p50Ms, p95Ms }: Omit<Stats, 'hour'>) => ({
  ...{ totalAttempts: total, succeededAttempts: succeeded, failedAttempts: failed },
  ...{ successRate, latencyP50Ms: p50Ms, latencyP95Ms: p95Ms },
})

export const toWebhookStatsView = (stats: AttemptHours): Static<typeof webhookStatsSchema> => ({
  ...toCounts(stats),
  hourly: stats.hours.map((each) => ({ start: each.hour.toISOString(), ...toCounts(each) })),
})
