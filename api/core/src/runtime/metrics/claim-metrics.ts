// Claim metrics of tasks and deliveries.
import type { Registry } from 'prom-client'
import { counter } from './define.ts'

const labels = { kind: ['task', 'delivery'] } as const

export const claimMetrics = {
  expired: counter({
    name: 'matte_claims_expired_total',
    help: 'Expired claims taken over by this process, after the holder died or lost its connection.',
    labels,
    reader: 'alert',
  }),
  failures: counter({
    name: 'matte_claim_failures_total',
    help: 'Failed claim rounds, such as while the database is unavailable. A timer starts the next round.',
    labels,
    reader: 'alert',
  }),
  lost: counter({
    name: 'matte_claims_lost_total',
    help:
      'Results discarded by this process because their claim was lost: another process took it over, or it was ' +
      'canceled.',
    labels,
    reader: 'alert',
  }),
}

export function createClaimMetrics(registry: Registry, kind: (typeof labels.kind)[number]) {
  const used = { kind: [kind] }
  return {
    expired: claimMetrics.expired.register(registry, used),
    failures: claimMetrics.failures.register(registry, used),
    lost: claimMetrics.lost.register(registry, used),
  }
}
