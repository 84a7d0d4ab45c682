// Usage statistics (D70) come from the daily counters only. Tests write counters through the service's functions, and
// rows of past weeks directly.

import { cancelTask } from '@matte/core/task/run/cancel-task'
import { failAttempt, finishTask } from '@matte/core/task/run/finish-task'
import { addRequests } from '@matte/core/usage/add-requests'
import { readUsage, type Usage } from '@matte/core/usage/read-usage'
import { defaultPlans, type Plan } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { connectTo, useDatabase } from '../support/database.ts'
import { givenClaimed, givenTask, givenWorkspace, ownModel, success } from '../support/factories.ts'

const pro = defaultPlans.pro as Plan
const internal = defaultPlans.internal as Plan

describe('the usage of a workspace', () => {
  const database = useDatabase()

  /** Counters of a day this many days ago. */
  const givenDay = (
    workspaceId: string,
    daysAgo: number,
    counters: { created: number; succeeded?: number; latencyMs?: number },
  ) =>
    sql`insert into usage_day (workspace_id, day, created, succeeded, latency_ms)
          values (${workspaceId}, (now() at time zone 'utc')::date - ${daysAgo}::int, ${counters.created},
                  ${counters.succeeded ?? 0}, ${counters.latencyMs ?? 0})`.execute(database.db)

  it('is zero everywhere for a workspace without activity', async () => {
    const { id } = await givenWorkspace(database.db)
    const usage = await readUsage(database.db, id, internal)
    const { period, monthlyQuota, daily, credits, models, ...totals } = usage
    expect(models).toEqual([])
    expect(credits).toBeNull()
    expect(totals).toEqual({
      totalTasks: 0,
      succeededTasks: 0,
      failedTasks: 0,
      canceledTasks: 0,
      creditsConsumed: 0,
      apiRequests: 0,
      averageLatencyMs: 0,
      errorRate: 0,
    })
    expect(monthlyQuota).toEqual({ limit: null, used: 0, remaining: null, resetsAt: period.end })
    expect(period.start.toISOString()).toMatch(/^\d{4}-\d{2}-01T00:00:00\.000Z$/)
    const next = new Date(period.start)
    next.setUTCMonth(next.getUTCMonth() + 1)
    expect(period.end).toEqual(next)
    expectThirtyDays(usage)
  })

  it('counts runs by outcome, and captured credits only', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 10 })
    const plan = { ...pro, concurrentTasks: 10 }
    const done = await givenClaimed(db, { ...workspace, plan })
    await sql`update task set created_at = created_at - interval '4 s' where id = ${done.id}`.execute(db)
    await finishTask(db, done, success(done))
    await failAttempt(db, await givenClaimed(db, { ...workspace, plan }), 'INPUT_UNREADABLE')
    const canceled = await givenTask(db, { ...workspace, plan }, { model: ownModel() })
    await cancelTask(db, workspace.id, canceled.id)
    await givenTask(db, { ...workspace, plan }, { model: ownModel() })
    const usage = await readUsage(db, workspace.id, pro)
    const counts = { totalTasks: 4, succeededTasks: 1, failedTasks: 1, creditsConsumed: 1, apiRequests: 0 }
    expect(usage).toMatchObject({ ...counts, canceledTasks: 1, errorRate: 0.5 })
    expect(usage.averageLatencyMs).toBeGreaterThanOrEqual(4_000)
    expect(usage.monthlyQuota).toMatchObject({ limit: 1_000, used: 4, remaining: 996 })
    expect(usage.daily.at(-1)).toEqual({ ...counts, date: today(), averageLatencyMs: usage.averageLatencyMs })
  })

  it('has 30 days, and totals of the calendar month', async () => {
    const { db } = database
    const { id } = await givenWorkspace(db)
    for (const daysAgo of [0, 29, 30, 31, 40]) await givenDay(id, daysAgo, { created: 1 })
    await givenDay(id, 3, { created: 4, succeeded: 2, latencyMs: 3_001 })
    const usage = await readUsage(db, id, internal)
    expectThirtyDays(usage)
    expect(usage.daily.map(({ totalTasks }) => totalTasks)).toEqual([1, ...Array(25).fill(0), 4, 0, 0, 1])
    expect(usage.daily[26]).toMatchObject({ succeededTasks: 2, averageLatencyMs: 1_501 })
    const dayOfMonth = Number(today().slice(8))
    const inMonth = [0, 3, 29, 30].filter((daysAgo) => daysAgo < dayOfMonth)
    expect(usage.totalTasks).toBe(inMonth.reduce((sum, daysAgo) => sum + (daysAgo === 3 ? 4 : 1), 0))
  })

  it('ignores the quota of another month, and never reports a negative rest of a lowered quota', async () => {
    const { db } = database
    const { id } = await givenWorkspace(db)
    await sql`update workspace set quota_used = 7 where id = ${id}`.execute(db)
    const lowered = { ...pro, monthlyQuota: 5 }
    expect((await readUsage(db, id, lowered)).monthlyQuota).toMatchObject({ limit: 5, used: 7, remaining: 0 })
    await sql`update workspace set quota_month = quota_month - interval '1 month' where id = ${id}`.execute(db)
    expect((await readUsage(db, id, lowered)).monthlyQuota).toMatchObject({ limit: 5, used: 0, remaining: 5 })
  })

  it('reads no task, however many there are', async () => {
    const { db } = database
    const { id } = await givenWorkspace(db)
    const statements: string[] = []
    const listening = db.withPlugin({
      transformQuery: ({ node }) => {
        statements.push(JSON.stringify(node))
        return node
      },
      transformResult: async ({ result }) => result,
    })
    await readUsage(listening, id, pro)
    // The month, the days, the models, and the balance.
    expect(statements).toHaveLength(4)
    for (const statement of statements) expect(statement).not.toMatch(/\btask\b|credit_(ledger|hold)/)
  })

  it('adds requests of many workspaces from several concurrent processes without losing any', async () => {
    const { db } = database
    const ids: string[] = []
    for (let index = 0; index < 20; index++) ids.push((await givenWorkspace(db)).id)
    const replicas = Array.from({ length: 4 }, () => connectTo(database.url, 2))
    await Promise.all(
      replicas.map(async (replica, index) => {
        const own = index % 2 === 0 ? ids : [...ids].reverse()
        for (let round = 0; round < 10; round++) await addRequests(replica.db, new Map(own.map((id) => [id, 3])))
      }),
    )
    await Promise.all(replicas.map((replica) => replica.stop()))
    for (const id of ids) expect((await readUsage(db, id, pro)).apiRequests).toBe(4 * 10 * 3)
  })

  it('ignores requests of a deleted workspace', async () => {
    const { db } = database
    const { id } = await givenWorkspace(db)
    const gone = '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1'
    await addRequests(
      db,
      new Map([
        [id, 2],
        [gone, 5],
      ]),
    )
    expect((await readUsage(db, id, pro)).apiRequests).toBe(2)
  })

  const today = (): string => new Date().toISOString().slice(0, 10)

  function expectThirtyDays({ daily }: Usage): void {
    const days = Array.from({ length: 30 }, (_, index) => Date.parse(today()) - (29 - index) * 86_400_000)
    expect(daily.map(({ date }) => date)).toEqual(days.map((day) => new Date(day).toISOString().slice(0, 10)))
  }
})
