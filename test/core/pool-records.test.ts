// Records of the operator's leader, under the roles of the processes.
import type { PoolReport } from '@matte/core/db/tables/operator'
import { listDecisions, listReports, listRolloutSteps, listSamples } from '@matte/core/pool/pool-queries'
import { forgetPool, type PoolRecord, recordPool } from '@matte/core/pool/record-pool'
import { sweepRetention } from '@matte/core/retention/sweep-retention'
import { defaultPlans } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { poolRecordOf } from '../support/pool-records.ts'
import { processDb } from '../support/roles.ts'

const database = useDatabase()
const operator = () => processDb('operator', database.db)
const api = () => processDb('api', database.db)
const firstPage = { limit: 50, offset: 0 }

const record = (more: Partial<PoolRecord> = {}, report: Partial<PoolReport> = {}, ageSeconds = 0) =>
  recordPool(operator(), poolRecordOf(more, report), ageSeconds)

const counts = async (pool: string) => {
  const { rows } = await sql<{ samples: number; decisions: number; steps: number; reports: number }>`
    select (select count(*) from pool_sample where pool = ${pool})::int as samples,
           (select count(*) from scaling_decision where pool = ${pool})::int as decisions,
           (select count(*) from rollout_step where pool = ${pool})::int as steps,
           (select count(*) from pool_report where pool = ${pool})::int as reports`.execute(database.db)
  return rows[0]
}

describe('a record about a pool', () => {
  it('is the last report, a sample, a decision and a step at once', async () => {
    const gates = [{ gate: 'requests', verdict: 'passed', observed: 60, limit: 50, sentence: '60 of 50.' }] as const
    const step = { revision: 'new', stable: 'old', event: 'RolloutStep', step: 1, weight: 50, sentence: 's', gates }
    await record({ pool: 'whole', decidedFrom: 1, step }, { wanted: 3, queue: 7, sentence: '3 pods: because.' })
    expect(await counts('whole')).toEqual({ samples: 1, decisions: 1, steps: 1, reports: 1 })
    const [decision] = await listDecisions(api(), { namespace: 'matte', pool: 'whole' }, firstPage)
    expect(decision).toMatchObject({
      ...{ from_replicas: 1, to_replicas: 3, rule: 'rate', sentence: '3 pods: because.' },
      numbers: { rate: 4.2, wantedPods: 2 },
    })
    const [sample] = await listSamples(api(), { namespace: 'matte', pool: 'whole' }, { minutes: 5, stepSeconds: 15 })
    expect(sample).toMatchObject({ wanted: 3, ready: 2, queue: 7, inFlight: 4, p95Seconds: 1.1 })
    expect((await listRolloutSteps(api())).find(({ pool }) => pool === 'whole')).toMatchObject({ ...step, gates })
  })

  it('has the time of the pass, by the clock of the database', async () => {
    await record({ pool: 'late', decidedFrom: 1 }, {}, 3_600)
    const [decision] = await listDecisions(api(), { namespace: 'matte', pool: 'late' }, firstPage)
    const ageSeconds = (Date.now() - (decision?.at.getTime() ?? 0)) / 1_000
    expect(Math.round(ageSeconds / 60)).toBe(60)
  })

  it('of a former leader writes nothing', async () => {
    expect(await record({ pool: 'fenced', term: 5 })).toBe(true)
    expect(await record({ pool: 'fenced', term: 4, decidedFrom: 1 }, { sentence: 'former' })).toBe(false)
    expect(await counts('fenced')).toEqual({ samples: 1, decisions: 0, steps: 0, reports: 1 })
    const gone = { namespace: 'matte', pool: 'fenced', lease: 'lease-uid', term: 4 }
    await forgetPool(operator(), gone)
    expect(await counts('fenced')).toMatchObject({ reports: 1 })
    expect(await record({ pool: 'fenced', term: 6, decidedFrom: 1 })).toBe(true)
    // A recreated Lease begins again.
    expect(await record({ pool: 'fenced', term: 1, lease: 'another' })).toBe(true)
    await forgetPool(operator(), { ...gone, term: 1, lease: 'another' })
    expect(await counts('fenced')).toEqual({ samples: 3, decisions: 1, steps: 0, reports: 0 })
  })

  it('of two pools of one name in two namespaces stay apart', async () => {
    await record({ pool: 'twin', namespace: 'one' }, { wanted: 1 })
    await record({ pool: 'twin', namespace: 'two' }, { wanted: 2 })
    const found = (await listReports(api())).filter(({ pool }) => pool === 'twin')
    expect(found.map(({ namespace, report }) => [namespace, report.wanted])).toEqual([
      ['one', 1],
      ['two', 2],
    ])
  })
})

describe('the retention', () => {
  it('deletes samples after a day, and decisions, steps and reports after 7 days', async () => {
    const hour = 3_600
    const step = { revision: 'n', stable: null, event: 'RolloutStarted', step: -1, weight: 0, sentence: '', gates: [] }
    for (const [pool, ageHours] of [
      ['young', 23],
      ['aged', 25],
      ['week', 7 * 24 - 1],
      ['old', 7 * 24 + 1],
    ] as const)
      await record({ pool, decidedFrom: 1, step }, {}, ageHours * hour)
    await sweepRetention({
      db: processDb('worker', database.db),
      plans: defaultPlans,
      auditRetentionDays: 90,
      bucket: undefined,
    })
    const kept = { samples: 0, decisions: 1, steps: 1, reports: 1 }
    expect(await counts('young')).toEqual({ ...kept, samples: 1 })
    expect(await counts('aged')).toEqual(kept)
    expect(await counts('week')).toEqual(kept)
    expect(await counts('old')).toEqual({ samples: 0, decisions: 0, steps: 0, reports: 0 })
  })
})
