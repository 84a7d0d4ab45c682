import type { PoolReport } from '@matte/core/db/tables/operator'
import type { PoolRecord } from '@matte/core/pool/record-pool'

const ready: PoolReport = {
  ...{ state: 'ready', models: ['service-v2'], wanted: 2, ready: 2, starting: 0, draining: 0 },
  ...{ minReplicas: 1, maxReplicas: 6, slotsPerPod: 2, queue: 3, processing: 4, oldestSeconds: 0.4, p95Seconds: 1.1 },
  ...{ inFlight: 4, rule: 'rate', sentence: '2 pods: 4.2 requests/s need 1.86.' },
  ...{ numbers: { rate: 4.2, wantedPods: 2 }, conditions: [], rollout: null },
}

export const poolReportOf = (more: Partial<PoolReport> = {}): PoolReport => ({ ...ready, ...more })

/** A sample of a pool in the namespace `matte`, as the leader of term 1 writes it. */
export const poolRecordOf = (more: Partial<PoolRecord> = {}, report: Partial<PoolReport> = {}): PoolRecord => ({
  ...{ namespace: 'matte', pool: 'default', lease: 'lease-uid', term: 1, report: poolReportOf(report) },
  ...{ isSample: true, decidedFrom: undefined, step: undefined, ...more },
})
