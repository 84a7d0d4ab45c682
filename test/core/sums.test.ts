// Sums and counts are bigint: beyond 2^31 each of these failed with `integer out of range`.
import { readBalance } from '@matte/core/credit/balance'
import { grantCredits } from '@matte/core/credit/lot-queries'
import { readDemand } from '@matte/core/scale/demand-queries'
import { addRequests } from '@matte/core/usage/add-requests'
import { readUsage } from '@matte/core/usage/read-usage'
import { takeSingleSlot } from '@matte/core/workspace/limit/single-slot'
import { defaultPlans, type Plan } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { claimNext, givenTask, givenWorkspace, ownModel } from '../support/factories.ts'

const internal = defaultPlans.internal as Plan
const intMax = 2 ** 31 - 1
const dayMs = 24 * 60 * 60 * 1_000

describe('beyond 2^31', () => {
  const database = useDatabase()

  it('a task that waited for 26 days is claimed', async () => {
    const { db } = database
    const model = ownModel()
    await givenTask(db, await givenWorkspace(db), { model, ageMs: 26 * dayMs })
    expect((await claimNext(db, [model]))?.waitedMs).toBeGreaterThanOrEqual(26 * dayMs)
  })

  it('credits of several lots are summed', async () => {
    const { db } = database
    const { id: workspaceId } = await givenWorkspace(db)
    for (let lot = 0; lot < 3; lot++) await grantCredits(db, { workspaceId, kind: 'test', amount: intMax })
    await sql`update credit_lot set available = 1, held = granted - 1 where workspace_id = ${workspaceId}
                   and id in (select id from credit_lot where workspace_id = ${workspaceId} limit 2)`.execute(db)
    expect(await readBalance(db, workspaceId)).toMatchObject({
      available: intMax + 2,
      held: 2 * (intMax - 1),
      total: 3 * intMax,
      expiringSoon: 0,
    })
  })

  it('a day’s requests and a month’s tasks are counted', async () => {
    const { db } = database
    const { id } = await givenWorkspace(db)
    await addRequests(db, new Map([[id, intMax]]))
    await addRequests(db, new Map([[id, intMax]]))
    await sql`update workspace set quota_used = ${intMax}::bigint where id = ${id}`.execute(db)
    expect(await takeSingleSlot(db, id, internal)).toEqual({ kind: 'taken' })
    const usage = await readUsage(db, id, internal)
    expect(usage).toMatchObject({ apiRequests: 2 * intMax, monthlyQuota: { used: intMax + 1 } })
  })

  it('inference counts of a pool are summed', async () => {
    const { db } = database
    await sql`
        insert into inference_window (pool, revision, replica, at, done, failed, timed_out, unavailable, busy_seconds,
                                      ended, latency_buckets)
        select 'many', 'aaaaaaaa', 'replica-' || n, now(), ${intMax}, 0, 0, 0, 1, ${intMax},
               array_fill(${intMax}::int, array[11])
          from generate_series(1, 2) n`.execute(db)
    const demand = await readDemand(db, { plans: defaultPlans, pools: [{ pool: 'many', modelVersions: ['many'] }] })
    expect(demand.get('many')?.latencyBuckets).toEqual(Array(11).fill(2 * intMax))
    expect(demand.get('many')?.perRevision).toMatchObject([{ done: 2 * intMax }])
  })
})
