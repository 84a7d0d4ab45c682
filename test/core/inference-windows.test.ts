// Inference windows that replicas write about their pods, and the demand read from them.
import type { Db } from '@matte/core/db/database'
import { bucketOf, emptyBuckets } from '@matte/core/latency'
import { type PoolDemand, readDemand } from '@matte/core/scale/demand-queries'
import { type InferenceWindow, recordInference, sweepInferenceWindows } from '@matte/core/scale/inference-queries'
import { defaultPlans } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'

type Some = Partial<InferenceWindow> & { readonly latencies?: readonly number[] }

/** Activity of the pods of pool `one`: only the given fields. */
function did({ latencies = [], ...rest }: Some): InferenceWindow {
  const latencyBuckets = emptyBuckets()
  for (const seconds of latencies) latencyBuckets[bucketOf(seconds)] = (latencyBuckets[bucketOf(seconds)] ?? 0) + 1
  const nothing = { done: 0, failed: 0, timedOut: 0, unavailable: 0, busySeconds: 0 }
  return { pool: 'one', revision: 'aaaaaaaa', ...nothing, latencyBuckets, ...rest }
}

describe('inference windows', () => {
  const database = useDatabase()
  let db: Db
  beforeEach(async () => {
    db = database.db
    await sql`truncate inference_window`.execute(db)
  })

  /** Moves all windows back by `seconds`. */
  const pass = (seconds: number, by: Db = db) =>
    sql`update inference_window set at = at - ${seconds} * interval '1 s'`.execute(by)

  async function demand(by: Db = db, revisionSeconds?: number): Promise<{ one: PoolDemand; two: PoolDemand }> {
    const pools = ['one', 'two'].map((pool) => ({
      pool,
      modelVersions: [],
      ...(revisionSeconds !== undefined && { revisionSeconds }),
    }))
    const read = await readDemand(by, { plans: defaultPlans, pools })
    return { one: read.get('one') as PoolDemand, two: read.get('two') as PoolDemand }
  }

  it('begin every five seconds of the database’s clock', async () => {
    await recordInference(db, 'a', [did({ done: 1 })])
    const { rows } = await sql<{ offset: number; ageSeconds: number }>`
        select (extract(epoch from at) % 5)::float8 as offset, extract(epoch from now() - at)::float8 as "ageSeconds"
          from inference_window`.execute(db)
    expect(rows).toEqual([{ offset: 0, ageSeconds: expect.any(Number) }])
    expect(rows[0]?.ageSeconds).toBeGreaterThanOrEqual(0)
  })

  it('are not written without activity', async () => {
    await recordInference(db, 'a', [])
    expect(await db.selectFrom('inference_window').selectAll().execute()).toEqual([])
  })

  it('sum counts within one window, bucket by bucket', async () => {
    await db.transaction().execute(async (tx) => {
      const first = did({
        done: 3,
        failed: 1,
        timedOut: 2,
        unavailable: 4,
        busySeconds: 1.5,
        latencies: [0.1, 4, 90],
      })
      await recordInference(tx, 'a', [first])
      await recordInference(tx, 'a', [did({ done: 1, busySeconds: 0.25, latencies: [0.2, 90] }), did({ pool: 'two' })])
    })
    const rows = await db.selectFrom('inference_window').selectAll().orderBy('pool').execute()
    expect(rows).toEqual([
      {
        pool: 'one',
        revision: 'aaaaaaaa',
        replica: 'a',
        at: expect.any(Date),
        done: 4,
        failed: 1,
        timed_out: 2,
        unavailable: 4,
        busy_seconds: 1.75,
        ended: 5,
        latency_buckets: [2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2],
      },
      expect.objectContaining({ pool: 'two', done: 0, ended: 0 }),
    ])
  })

  it('lose nothing when three replicas write sixty times concurrently, in any order of pools', async () => {
    const both = [did({ done: 2, busySeconds: 1, latencies: [1] }), did({ pool: 'two', failed: 1, latencies: [3] })]
    await Promise.all(
      Array.from({ length: 60 }, (_none, i) =>
        recordInference(db, `replica-${i % 3}`, i % 2 === 0 ? both : both.toReversed()),
      ),
    )
    const replicas = await db.selectFrom('inference_window').select('replica').distinct().execute()
    expect(replicas).toHaveLength(3)
    const { rows } = await sql`
        select pool, sum(done)::int as done, sum(failed)::int as failed, sum(ended)::int as ended,
               sum(latency_buckets[3])::int as one_second, sum(latency_buckets[6])::int as three_seconds
          from inference_window group by pool order by pool`.execute(db)
    expect(rows).toEqual([
      { pool: 'one', done: 120, failed: 0, ended: 60, one_second: 60, three_seconds: 0 },
      { pool: 'two', done: 0, failed: 60, ended: 60, one_second: 0, three_seconds: 60 },
    ])
  })

  it('reject counts with another number of buckets', async () => {
    await expect(recordInference(db, 'a', [{ ...did({}), latencyBuckets: [1, 2] }])).rejects.toThrow(/check/)
  })

  it('give the mean slot time and the p95 of the last 60 s, over replicas and revisions', async () => {
    await recordInference(db, 'a', [did({ done: 100, busySeconds: 900, latencies: [50] })])
    await pass(65)
    await recordInference(db, 'a', [did({ done: 6, busySeconds: 3, latencies: Array(12).fill(0.2) })])
    await pass(20)
    await recordInference(db, 'b', [
      did({ revision: 'bbbbbbbb', done: 2, busySeconds: 5, failed: 3, latencies: Array(8).fill(1.9) }),
      did({ pool: 'two', done: 4, busySeconds: 1 }),
    ])
    const { one, two } = await demand()
    expect(one).toMatchObject({ serviceSeconds: 1, latencyBuckets: [12, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0] })
    expect(one.p95Seconds).toBeCloseTo(1.5 + 0.5 * (7 / 8), 10)
    expect(two).toMatchObject({ serviceSeconds: 0.25, p95Seconds: undefined })
  })

  it('do not make a stalled pod look slow', async () => {
    await recordInference(db, 'a', [did({ done: 10, busySeconds: 5, timedOut: 5, failed: 5 })])
    expect((await demand()).one.serviceSeconds).toBe(0.5)
  })

  it('keep the last known slot time for an hour, by the latest activity', async () => {
    await recordInference(db, 'a', [did({ done: 10, busySeconds: 20 })])
    await pass(300)
    await recordInference(db, 'a', [did({ failed: 3 })])
    expect((await demand()).one).toMatchObject({ serviceSeconds: 2, p95Seconds: undefined })
    await pass(3_400)
    expect((await demand()).one.serviceSeconds).toBeUndefined()
  })

  it('are summed per revision over 60 s or the given time', async () => {
    await recordInference(db, 'a', [did({ done: 5, failed: 1, busySeconds: 5, latencies: [0.1] })])
    await pass(120)
    await recordInference(db, 'a', [
      did({ done: 1, busySeconds: 2, timedOut: 2, unavailable: 1 }),
      did({ revision: 'bbbbbbbb', failed: 1, latencies: Array(20).fill(0.9) }),
    ])
    await recordInference(db, 'b', [did({ revision: 'bbbbbbbb', failed: 1 })])
    const nothing = {
      done: 0,
      failed: 0,
      timedOut: 0,
      unavailable: 0,
      serviceSeconds: undefined,
      p95Seconds: undefined,
    }
    const canary = { ...nothing, revision: 'bbbbbbbb', failed: 2, p95Seconds: 0.975 }
    const stable = { ...nothing, revision: 'aaaaaaaa', done: 1, timedOut: 2, unavailable: 1, serviceSeconds: 2 }
    expect((await demand()).one.perRevision).toEqual([stable, canary])
    const all = { ...stable, done: 6, failed: 1, serviceSeconds: 7 / 6, p95Seconds: 0.2375 }
    expect((await demand(db, 600)).one.perRevision).toEqual([all, canary])
  })

  it('are deleted after an hour', async () => {
    await recordInference(db, 'a', [did({ done: 1 }), did({ pool: 'two', done: 1 })])
    await pass(3_500)
    expect(await sweepInferenceWindows(db)).toBe(0)
    await pass(110)
    await recordInference(db, 'a', [did({ done: 1 })])
    expect(await sweepInferenceWindows(db)).toBe(2)
    expect(await db.selectFrom('inference_window').select('done').execute()).toHaveLength(1)
  })
})
