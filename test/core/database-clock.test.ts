// Row times use the database clock (D82), also after a lock wait, after a clock correction, and decades from now.
import { countRequests } from '@matte/core/rate-windows'
import { renewClaim } from '@matte/core/task/run/claim-task'
import { readUsage } from '@matte/core/usage/read-usage'
import { takeChildSlots } from '@matte/core/workspace/limit/child-slots'
import { takeSingleSlot } from '@matte/core/workspace/limit/single-slot'
import { defaultPlans, type Plan } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { connectTo, createTestDatabase, useDatabase } from '../support/database.ts'
import {
  claimNext,
  givenClaimed,
  givenTask,
  givenWorkspace,
  ownModel,
  readTask,
  type TestWorkspace,
} from '../support/factories.ts'
import { until } from '../support/until.ts'

const pro = defaultPlans.pro as Plan
const claimMs = 600

describe(`the database clock`, () => {
  const database = useDatabase()

  /** Holds a row lock in a separate transaction until `act` waits for it; returns the time of release. */
  async function whileLocked<T>(table: 'workspace' | 'task', id: string, act: () => Promise<T>) {
    const { db } = database
    let acting: Promise<T> | undefined
    const released = await db.transaction().execute(async (tx) => {
      await sql`select from ${sql.table(table)} where id = ${id} for update`.execute(tx)
      acting = act()
      await until('it waits for the lock', async () => {
        const { rows } = await sql`
            select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
        return rows.length > 0
      })
      const { rows } = await sql<{ at: Date }>`select clock_timestamp() as at`.execute(tx)
      return rows[0]?.at ?? new Date(0)
    })
    return { released, result: (await acting) as T }
  }

  it('gives a claim its full duration, however long it waited for the workspace', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const model = ownModel()
    await givenTask(db, workspace, { model })
    const { released, result } = await whileLocked('workspace', workspace.id, () => claimNext(db, [model], claimMs))
    const { claimed_until: until, queued_at: queuedAt } = await readTask(db, result?.id ?? '')
    expect((until?.getTime() ?? 0) - claimMs).toBeGreaterThanOrEqual(released.getTime())
    expect(result?.waitedMs).toBeGreaterThanOrEqual(released.getTime() - queuedAt.getTime())
  })

  it('gives a renewed claim its full duration, however long it waited for the task', async () => {
    const { db } = database
    const claim = await givenClaimed(db, await givenWorkspace(db))
    const { released, result } = await whileLocked('task', claim.id, () => renewClaim(db, claim, claimMs))
    expect((result?.claimed_until?.getTime() ?? 0) - claimMs).toBeGreaterThanOrEqual(released.getTime())
  })

  /** A workspace with an exhausted quota in a month written by a clock far ahead. */
  async function givenFutureMonth(ahead: string): Promise<TestWorkspace> {
    const workspace = await givenWorkspace(database.db, { plan: 'pro' })
    await sql`
        update workspace set quota_used = ${pro.monthlyQuota},
               quota_month = (date_trunc('month', now() at time zone 'utc') + ${ahead}::interval)::date
         where id = ${workspace.id}`.execute(database.db)
    return workspace
  }
  const readMonth = async ({ id }: TestWorkspace) => {
    const { rows } = await sql`
        select quota_used, quota_month = date_trunc('month', now() at time zone 'utc')::date as current
          from workspace where id = ${id}`.execute(database.db)
    return rows[0]
  }

  it.each(['1 month', '2 months', '10 years'])('corrects a quota month %s in the future', async (ahead) => {
    const { db } = database
    const workspace = await givenFutureMonth(ahead)
    expect((await readUsage(db, workspace.id, pro)).monthlyQuota).toMatchObject({ used: 0 })
    expect(await takeSingleSlot(db, workspace.id, pro)).toEqual({ kind: 'taken' })
    expect(await readMonth(workspace)).toEqual({ quota_used: 1, current: true })
    const other = await givenFutureMonth(ahead)
    expect(await takeChildSlots(db, { workspaceId: other.id, plan: pro, size: 3 })).toEqual({ kind: 'taken' })
    expect(await readMonth(other)).toEqual({ quota_used: 3, current: true })
  })

  it('counts requests after 2038', async () => {
    const other = await createTestDatabase()
    try {
      await other.setClock('2039-01-01T00:00:00Z')
      const { db, stop } = connectTo(other.url, 1)
      const [window] = await countRequests(db, [{ subject: 'one', count: 1, limit: 10 }])
      expect(window).toMatchObject({ used: 1, resetsAt: Date.UTC(2039, 0, 1, 0, 1) / 1_000 })
      await stop()
    } finally {
      await other.drop()
    }
  })
})
