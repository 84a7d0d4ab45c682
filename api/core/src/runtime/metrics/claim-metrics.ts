// What becomes of claims, the same for tasks and for deliveries.
import type { Registry } from 'prom-client'
import { counter } from './define.ts'

type Kind = 'task' | 'delivery'

/** All of this file, for the process that claims this; docs/metrics.md lists them. */
export function claimMetrics(kind: Kind) {
  const labels = { kind: [kind] }
  return {
    expired: counter({
      name: 'matte_claims_expired_total',
      help: 'Claims taken over by this process because they had expired: whoever held them died or was cut off.',
      labels,
    }),
    failures: counter({
      name: 'matte_claim_failures_total',
      help: 'Rounds of claiming that failed, such as while the database is away. The next round comes by a timer.',
      labels,
    }),
    lost: counter({
      name: 'matte_claims_lost_total',
      help:
        'Work of this process whose claim was gone when its end was to be written, so that nothing was written: ' +
        'another has taken it over, or it was canceled meanwhile.',
      labels,
    }),
  }
}

export function createClaimMetrics(registry: Registry, kind: Kind) {
  const { expired, failures, lost } = claimMetrics(kind)
  return {
    expired: expired.register(registry),
    failures: failures.register(registry),
    lost: lost.register(registry),
  }
}
