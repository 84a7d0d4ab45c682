// What becomes of claims, the same for tasks and for deliveries.
import type { Registry } from 'prom-client'
import { counter } from './define.ts'

const labels = { kind: ['task', 'delivery'] } as const

/** All of this file; docs/metrics.md lists them. */
export const claimMetrics = {
  expired: counter({
    name: 'matte_claims_expired_total',
    help: 'Claims taken over by this process because they had expired: whoever held them died or was cut off.',
    labels,
    reader: 'alert',
  }),
  failures: counter({
    name: 'matte_claim_failures_total',
    help: 'Rounds of claiming that failed, such as while the database is away. The next round comes by a timer.',
    labels,
    reader: 'alert',
  }),
  lost: counter({
    name: 'matte_claims_lost_total',
    help:
      'Work of this process whose claim was gone when its end was to be written, so that nothing was written: ' +
      'another has taken it over, or it was canceled meanwhile.',
    labels,
    reader: 'alert',
  }),
}

/** Of a process that claims one kind; the other is not there. */
export function createClaimMetrics(registry: Registry, kind: (typeof labels.kind)[number]) {
  const used = { kind: [kind] }
  return {
    expired: claimMetrics.expired.register(registry, used),
    failures: claimMetrics.failures.register(registry, used),
    lost: claimMetrics.lost.register(registry, used),
  }
}
