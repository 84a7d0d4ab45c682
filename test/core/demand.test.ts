// Demand on each pool. Tests read counts of 3 s or 30 s in the transaction that moves the rows' times. `now()` does not
// change there, so no test depends on speed.
import type { Db } from '@matte/core/db/database'
import { type PoolDemand, readDemand } from '@matte/core/scale/demand-queries'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { retryTask } from '@matte/core/task/retry-task'
import type { ClaimedTask } from '@matte/core/task/run/claim-task'
import { failAttempt, finishTask } from '@matte/core/task/run/finish-task'
import { defaultPlans } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import {
  claimNext,
  givenBatch,
  givenClaimed,
  givenTask,
  givenWorkspace,
  lapseClaim,
  makeDue,
  onePixelPng,
  ownModel,
  readTask,
  success,
  type TestWorkspace,
} from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { memoryBucket } from '../support/memory-bucket.ts'
import { processDb } from '../support/roles.ts'

describe('readDemand', () => {
  const database = useDatabase()
  let db: Db
  /** Model versions of two pools. */
  let one: string
  let two: string
  /** Workspaces of three plans: 1,000, 4 and 2 concurrency slots. */
  let internal: TestWorkspace
  let enterprise: TestWorkspace
  let pro: TestWorkspace

  beforeEach(async () => {
    db = database.db
    one = ownModel()
    two = ownModel()
    internal = await givenWorkspace(db)
    enterprise = await givenWorkspace(db, { plan: 'enterprise', credits: 100 })
    pro = await givenWorkspace(db, { plan: 'pro', credits: 100 })
  })
  afterEach(async () => {
    expect(await findBrokenRules(db)).toEqual({})
  })

  /** Demand on both pools, read in the transaction `by` at its `now()`. */
  async function demand(by: Db = db): Promise<{ one: PoolDemand; two: PoolDemand }> {
    const pools = [
      { pool: 'one', modelVersions: [one] },
      { pool: 'two', modelVersions: [two] },
    ]
    const read = await readDemand(processDb('operator', by), { plans: defaultPlans, pools })
    return { one: read.get('one') as PoolDemand, two: read.get('two') as PoolDemand }
  }

  /** Demand when each of these tasks has waited for this many seconds. */
  const demandAtAges = (ages: readonly (readonly [{ readonly id: string }, number])[]) =>
    db.transaction().execute(async (tx) => {
      for (const [{ id }, seconds] of ages) {
        await sql`update task set queued_at = now() - ${seconds} * interval '1 s' where id = ${id}`.execute(tx)
      }
      return demand(tx)
    })

  async function claim(model: string): Promise<ClaimedTask> {
    const task = await claimNext(db, [model])
    if (task === undefined) throw new Error('nothing to claim')
    return task
  }

  async function retry({ id: workspaceId, plan }: TestWorkspace, id: string): Promise<void> {
    const { source_key: key } = await readTask(db, id)
    const bucket = memoryBucket()
    await bucket.put(key, onePixelPng, { contentType: 'image/png' })
    await retryTask(db, bucket, { workspaceId, plan, id, traceparent: null })
  }

  it('is zero without tasks', async () => {
    expect((await demand()).one).toEqual({
      arrivals3s: 0,
      arrivals30s: 0,
      backlog: 0,
      batchSlots: 0,
      processing: 0,
      batchProcessing: 0,
      oldestSeconds: 0,
      serviceSeconds: undefined,
      p95Seconds: undefined,
      latencyBuckets: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
      perRevision: [],
    })
    expect(await readDemand(processDb('operator', db), { plans: defaultPlans, pools: [] })).toEqual(new Map())
  })

  it('counts singles of all workspaces that began to wait within 3 s and 30 s, per pool', async () => {
    const seen = await demandAtAges([
      [await givenTask(db, internal, { model: one }), 0],
      [await givenTask(db, enterprise, { model: one }), 2.9],
      [await givenTask(db, enterprise, { model: one }), 3.1],
      [await givenTask(db, pro, { model: one }), 29],
      [await givenTask(db, pro, { model: one }), 31],
      [await givenTask(db, internal, { model: two }), 10],
    ])
    expect(seen).toMatchObject({
      one: { arrivals3s: 2, arrivals30s: 4 },
      two: { arrivals3s: 0, arrivals30s: 1 },
    })
  })

  it('counts an arrival whatever happened to the task since', async () => {
    const done = await givenClaimed(db, internal, { model: one })
    await finishTask(db, done, success(done))
    const failed = await givenClaimed(db, pro, { model: one })
    await failAttempt(db, failed, 'INPUT_UNREADABLE')
    const claimed = await givenClaimed(db, enterprise, { model: one })
    const old = await givenClaimed(db, internal, { model: one })
    await finishTask(db, old, success(old))
    const seen = await demandAtAges([
      [done, 1],
      [failed, 1],
      [claimed, 1],
      [old, 31],
    ])
    expect(seen.one).toMatchObject({ arrivals3s: 3, arrivals30s: 3, backlog: 0, processing: 1 })
  })

  it('does not count children of a batch as arrivals, but counts a caller’s retry of one', async () => {
    const { tasks } = await givenBatch(db, enterprise, { size: 3, model: one })
    const single = await givenTask(db, enterprise, { model: one })
    expect((await demandAtAges([[single, 60]])).one).toMatchObject({ arrivals30s: 0, backlog: 1, batchSlots: 3 })
    const failed = await claim(one)
    expect(failed.id).toBe(single.id)
    await failAttempt(db, failed, 'INPUT_UNREADABLE')
    const child = await claim(one)
    expect(tasks.map(({ id }) => id)).toContain(child.id)
    await failAttempt(db, child, 'INPUT_UNREADABLE')
    await retry(enterprise, single.id)
    await retry(enterprise, child.id)
    const ages = [single, child, ...tasks.filter(({ id }) => id !== child.id)].map((task) => [task, 1] as const)
    expect((await demandAtAges(ages)).one).toMatchObject({ arrivals3s: 2, arrivals30s: 2, backlog: 2, batchSlots: 2 })
  })

  it('has the claimable singles of all workspaces as backlog', async () => {
    for (let i = 0; i < 3; i++) await givenTask(db, internal, { model: one })
    await givenTask(db, enterprise, { model: one })
    await givenTask(db, pro, { model: two })
    await givenClaimed(db, pro, { model: two })
    // The claim took the older one.
    expect(await demand()).toMatchObject({ one: { backlog: 4, processing: 0 }, two: { backlog: 1, processing: 1 } })
  })

  it('counts a single again once its claim has lapsed or its pause is over, and not before', async () => {
    const lapsed = await givenClaimed(db, pro, { model: one })
    const pausing = await givenClaimed(db, pro, { model: one })
    expect((await demand()).one).toMatchObject({ backlog: 0, processing: 2 })
    await lapseClaim(db, lapsed)
    await sql`update task set due_at = now() + interval '1 h', claim = null, claimed_until = null
                 where id = ${pausing.id}`.execute(db)
    expect((await demand()).one).toMatchObject({ backlog: 1, processing: 0 })
    await makeDue(db, pausing)
    expect((await demand()).one).toMatchObject({ backlog: 2, processing: 0, batchSlots: 0 })
  })

  it('leaves a run without attempts to the sweeper', async () => {
    const dead = await givenClaimed(db, internal, { model: one })
    await lapseClaim(db, dead)
    await sql`update task set attempt = 5 where id = ${dead.id}`.execute(db)
    expect((await demand()).one).toMatchObject({ backlog: 0, processing: 0, oldestSeconds: 0 })
  })

  it('counts no more singles of a workspace than its plan has free slots', async () => {
    await givenBatch(db, pro, { size: 2, model: one })
    const [child] = [await claim(one), await claim(one)]
    for (let i = 0; i < 2; i++) await givenTask(db, pro, { model: one, ageMs: 60_000 })
    expect((await demand()).one).toMatchObject({ backlog: 0, processing: 2, oldestSeconds: 0 })
    await finishTask(db, child, success(child))
    const { one: seen } = await demand()
    expect(seen).toMatchObject({ backlog: 1, processing: 1 })
    expect(seen.oldestSeconds).toBeGreaterThanOrEqual(60)
  })

  it('sums, over workspaces, the children that have a slot below their plan’s limit', async () => {
    await givenBatch(db, enterprise, { size: 6, model: one }) // 4 slots
    await givenBatch(db, pro, { size: 5, model: one }) // 2 slots
    await givenBatch(db, internal, { size: 3, model: two })
    expect(await demand()).toMatchObject({ one: { batchSlots: 6, backlog: 0 }, two: { batchSlots: 3 } })
    await claim(one)
    await claim(one)
    expect((await demand()).one).toMatchObject({ batchSlots: 4, processing: 2, batchProcessing: 2 })
  })

  it('gives a workspace’s slots to its singles first', async () => {
    await givenBatch(db, enterprise, { size: 6, model: one })
    for (let i = 0; i < 3; i++) await givenTask(db, enterprise, { model: one })
    expect((await demand()).one).toMatchObject({ backlog: 3, batchSlots: 1 })
    await claim(one)
    expect((await demand()).one).toMatchObject({ backlog: 2, batchSlots: 1, processing: 1, batchProcessing: 0 })
  })

  it('counts a child between two attempts in its slot', async () => {
    await givenBatch(db, pro, { size: 4, model: one })
    await claim(one)
    await lapseClaim(db, await claim(one))
    expect((await demand()).one).toMatchObject({ batchSlots: 1, backlog: 0, processing: 1, batchProcessing: 1 })
  })

  it('counts each pool as if it had all slots, so a broken one hides nothing', async () => {
    for (let i = 0; i < 2; i++) await givenTask(db, pro, { model: one, ageMs: 60_000 })
    await givenBatch(db, pro, { size: 3, model: two })
    expect(await demand()).toMatchObject({
      one: { backlog: 2, batchSlots: 0 },
      two: { backlog: 0, batchSlots: 2 },
    })
  })

  it('sums the versions of a pool, and ignores versions without a pool', async () => {
    await givenTask(db, internal, { model: one })
    await givenTask(db, pro, { model: two })
    await givenBatch(db, pro, { size: 3, model: two })
    await givenTask(db, pro, { model: ownModel() })
    await givenClaimed(db, internal)
    const pools = [
      { pool: 'both', modelVersions: [one, two] },
      { pool: 'none', modelVersions: [] },
    ]
    const read = await readDemand(processDb('operator', db), { plans: defaultPlans, pools })
    expect(read.get('both')).toMatchObject({ arrivals30s: 2, backlog: 2, batchSlots: 1, processing: 0 })
    expect(read.get('none')).toMatchObject({ arrivals30s: 0, backlog: 0, batchSlots: 0, processing: 0 })
  })

  it('reports how long the oldest single has waited, queued or between two attempts', async () => {
    const young = await givenTask(db, internal, { model: one })
    const old = await givenTask(db, enterprise, { model: one })
    const begun = await givenClaimed(db, pro, { model: two })
    const { tasks } = await givenBatch(db, internal, { size: 1, model: two })
    const ages = [
      [young, 10],
      [old, 100.5],
      [begun, 1_000],
      [tasks[0] ?? young, 2_000],
    ] as const
    expect(await demandAtAges(ages)).toMatchObject({ one: { oldestSeconds: 100.5 }, two: { oldestSeconds: 0 } })
    await lapseClaim(db, begun)
    expect(await demandAtAges(ages)).toMatchObject({ one: { oldestSeconds: 100.5 }, two: { oldestSeconds: 1_000 } })
  })

  it('never reports a negative wait for a task that arrived during the read', async () => {
    const task = await givenTask(db, internal, { model: one })
    expect(await demandAtAges([[task, -0.006]])).toMatchObject({ one: { backlog: 1, oldestSeconds: 0 } })
  })

  it('is zero while dispatch is paused, except for claimed tasks', async () => {
    await givenTask(db, internal, { model: one })
    await givenBatch(db, internal, { size: 2, model: one })
    await givenClaimed(db, pro, { model: two })
    await lapseClaim(db, await givenClaimed(db, pro, { model: two }))
    const nothing = { arrivals3s: 0, arrivals30s: 0, backlog: 0, batchSlots: 0, oldestSeconds: 0 }
    await writeSetting(db, 'dispatchPaused', true)
    expect(await demand()).toMatchObject({ one: nothing, two: { ...nothing, processing: 1 } })
    await writeSetting(db, 'dispatchPaused', false)
    expect(await demand()).toMatchObject({ one: { backlog: 1, batchSlots: 2 }, two: { backlog: 1, processing: 1 } })
  })

  it('reads a handful of rows of a table full of history', async () => {
    const done = await givenClaimed(db, internal, { model: one })
    await finishTask(db, done, success(done))
    await sql`
        insert into task select copy.* from task t cross join generate_series(1, 20000) as i
         cross join lateral jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid(),
                                                         'queued_at', now() - i * interval '1 min')) as copy
         where t.id = ${done.id}`.execute(db)
    await sql`analyze task`.execute(db)
    await givenTask(db, internal, { model: one })
    await givenBatch(db, internal, { size: 3, model: two })
    const rowsRead = await db.transaction().execute(async (tx) => {
      // The connection's own count, which may include reads before this transaction.
      const count = async (): Promise<number> => {
        const { rows } = await sql<{ read: number }>`
            select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::int as read
              from pg_stat_xact_user_tables where relname = 'task'`.execute(tx)
        return rows[0]?.read ?? Number.NaN
      }
      const before = await count()
      expect(await demand(tx)).toMatchObject({ one: { backlog: 1 }, two: { batchSlots: 3 } })
      return (await count()) - before
    })
    await sql`delete from task where queued_at < now() - interval '1 min' and model_version = ${one}`.execute(db)
    // Open tasks of earlier tests from the last 30 s are read as well.
    expect(rowsRead).toBeGreaterThan(0)
    expect(rowsRead).toBeLessThan(500)
  })
})
