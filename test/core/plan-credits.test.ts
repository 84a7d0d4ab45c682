// Monthly credits of plans that an operator has set.
import { readBalance } from '@matte/core/credit/balance'
import { grantDuePlans } from '@matte/core/credit/due/grant-plans'
import { setOperatorPlan } from '@matte/core/credit/operator-plan'
import { migrateToLatest } from '@matte/core/db/migrate'
import { migrations } from '@matte/core/db/migrations/index'
import { defaultPlans, planNamed } from '@matte/core/workspace/plan'
import { insertWorkspace } from '@matte/core/workspace/workspace-queries'
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import { connectTo, createEmptyDatabase, useDatabase } from '../support/database.ts'
import { givenWorkspace } from '../support/factories.ts'
import { processDb } from '../support/roles.ts'
import { withEveryCrash } from './every-crash.ts'

const database = useDatabase()
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

describe('credits of a plan set by an operator', () => {
  const plans = { ...defaultPlans, lab: { ...planNamed(defaultPlans, 'pro'), credits: 0 } }
  const pass = () => grantDuePlans(processDb('dispatcher', database.db), plans)
  const set = (workspaceId: string, plan: string) =>
    database.db.transaction().execute((tx) => setOperatorPlan(tx, plans, { workspaceId, plan }))
  const lotsOf = (id: string) =>
    database.db.selectFrom('credit_lot').selectAll().where('workspace_id', '=', id).orderBy('created_at').execute()
  /** As if the plan had been set last month. */
  const turnMonth = async (id: string) => {
    await sql`update workspace set plan_credits_due_at = date_trunc('month', now(), 'UTC') where id = ${id}`.execute(
      database.db,
    )
    await sql`update credit_lot set source = 'past:' || id where workspace_id = ${id}`.execute(database.db)
  }

  it('are granted at once, and end with the month', async () => {
    const { id } = await givenWorkspace(database.db, { plan: 'free' })
    expect(await set(id, 'pro')).toMatchObject({ credits: 1_000 })
    const { rows } = await sql<{ end: Date }>`
      select date_trunc('month', now(), 'UTC') + interval '1 month' as end`.execute(database.db)
    expect(await lotsOf(id)).toMatchObject([{ kind: 'plan', granted: 1_000, expires_at: rows[0]?.end }])
    await set(id, 'pro')
    expect(await lotsOf(id)).toHaveLength(1)
  })

  it('are granted each month, once with several replicas and crashes', async () => {
    const { id } = await givenWorkspace(database.db, { plan: 'free' })
    await set(id, 'pro')
    await pass()
    expect(await lotsOf(id)).toHaveLength(1)
    await turnMonth(id)
    await withEveryCrash(database.db, (db) => grantDuePlans(db, plans))
    await turnMonth(id)
    const replicas = Array.from({ length: 4 }, () => connectTo(database.url, 2))
    ends.push(() => Promise.all(replicas.map((replica) => replica.stop())))
    await Promise.all(replicas.map(({ db }) => grantDuePlans(db, plans)))
    expect(await lotsOf(id)).toMatchObject([{ granted: 1_000 }, { granted: 1_000 }, { granted: 1_000 }])
  })

  it('are not granted on a plan without charges or grants, and on Free ten, once', async () => {
    const { id } = await givenWorkspace(database.db, { plan: 'free' })
    for (const plan of ['internal', 'lab', 'free', 'free']) await set(id, plan)
    expect(await lotsOf(id)).toMatchObject([{ granted: 10, expires_at: null }])
    const row = await database.db.selectFrom('workspace').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    expect(row.plan_credits_due_at).toBeNull()
  })

  it('end with a subscription, which grants its own credits and whose plan no operator sets', async () => {
    const { id } = await givenWorkspace(database.db, { plan: 'free' })
    await set(id, 'pro')
    await turnMonth(id)
    await sql`
      insert into subscription (workspace_id, provider, provider_id, plan, billing_interval, status, period_start,
                                period_end, reading, in_force)
      values (${id}, 'sandbox', ${id}, 'pro', 'month', 'active', now(), now() + interval '1 month', 1, true)`.execute(
      database.db,
    )
    await pass()
    expect(await lotsOf(id)).toHaveLength(1)
    await expect(set(id, 'business')).rejects.toMatchObject({ code: 'CONFLICT' })
    const row = await database.db.selectFrom('workspace').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    expect(row).toMatchObject({ plan: 'pro', plan_credits_due_at: null })
  })

  it('are not granted to an ended team or account', async () => {
    const { id } = await givenWorkspace(database.db, { plan: 'free' })
    await set(id, 'pro')
    await turnMonth(id)
    await database.db.updateTable('workspace').set({ deleted_at: new Date() }).where('id', '=', id).execute()
    await pass()
    expect(await lotsOf(id)).toHaveLength(1)
  })

  it('stay as granted when the plan’s number changes in the same month', async () => {
    const { id } = await givenWorkspace(database.db, { plan: 'free' })
    await set(id, 'pro')
    const other = { ...plans, pro: { ...planNamed(plans, 'pro'), credits: 2_000 } }
    await database.db.transaction().execute((tx) => setOperatorPlan(tx, other, { workspaceId: id, plan: 'pro' }))
    expect(await readBalance(database.db, id)).toMatchObject({ available: 1_000 })
  })
})

describe('an upgrade from a release before plans granted credits', () => {
  it('grants the month at once, unless the operator has granted it already', async () => {
    const { db, drop } = await createEmptyDatabase()
    ends.push(drop)
    const before = Object.fromEntries(Object.entries(migrations).filter(([name]) => name < '0016'))
    await migrateToLatest(db, before)
    const given = async (plan: string, grantedAt: string | null) => {
      const { id } = await insertWorkspace(db, { name: 'old', plan })
      if (grantedAt !== null) {
        await sql`
          insert into credit_lot (workspace_id, kind, granted, available, created_at)
          values (${id}, 'grant', 5000, 5000, ${sql.raw(grantedAt)})`.execute(db)
      }
      return id
    }
    const [without, earlier, lately, free] = [
      await given('pro', null),
      await given('pro', "date_trunc('month', now(), 'UTC') - interval '1 day'"),
      await given('pro', 'now()'),
      await given('free', null),
    ]
    await migrateToLatest(db)
    await grantDuePlans(db, defaultPlans)
    const granted = async (id: string) =>
      (
        await db
          .selectFrom('credit_lot')
          .select('granted')
          .where('workspace_id', '=', id)
          .orderBy('created_at')
          .execute()
      ).map((lot) => lot.granted)
    expect([await granted(without), await granted(earlier), await granted(lately), await granted(free)]).toEqual([
      [1_000],
      [5_000, 1_000],
      [5_000],
      [],
    ])
    const { rows } = await sql<{ due: boolean }>`
      select plan_credits_due_at = date_trunc('month', now(), 'UTC') + interval '1 month' as due
        from workspace where id = ${lately}`.execute(db)
    expect(rows).toEqual([{ due: true }])
  })
})
