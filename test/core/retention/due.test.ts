// Which workspaces the regular sweep looks at: those whose time has come, and not all of them.
import { deleteOldTasks } from '@matte/core/retention/delete-tasks'
import { defaultPlans } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.ts'
import { givenTask, givenWorkspace, type TestWorkspace } from '../../support/factories.ts'
import { processDb } from '../../support/roles.ts'

const database = useDatabase()
const sweep = (plans = defaultPlans): Promise<number> => deleteOldTasks(processDb('worker', database.db), plans)

/** A canceled task that ended this many days ago. */
async function givenEnded(workspace: TestWorkspace, days: number): Promise<string> {
  const { id } = await givenTask(database.db, workspace)
  await sql`
    with ended as (
      update task set status = 'canceled', completed_at = now() - ${days}::float8 * interval '1 day' where id = ${id}
      returning workspace_id
    )
    update workspace set open_singles = open_singles - 1, queued = queued - 1
     where id = (select workspace_id from ended)`.execute(database.db)
  return id
}

const exists = async (id: string): Promise<boolean> =>
  (await database.db.selectFrom('task').select('id').where('id', '=', id).executeTakeFirst()) !== undefined

/** Hours until the next look; negative: it is due. */
async function hoursUntilLook({ id }: TestWorkspace): Promise<number> {
  const { rows } = await sql<{ hours: number }>`
    select (extract(epoch from retention_at - now()) / 3600)::float8 as hours from workspace where id = ${id}`.execute(
    database.db,
  )
  return rows[0]?.hours ?? Number.NaN
}

describe('the regular sweep', () => {
  it('deletes what is older than the plan allows, and looks again within a day', async () => {
    const workspace = await givenWorkspace(database.db)
    const [old, young] = [await givenEnded(workspace, 31), await givenEnded(workspace, 3)]
    expect(await sweep()).toBe(1)
    expect(await sweep()).toBe(0)
    expect([await exists(old), await exists(young)]).toEqual([false, true])
    const hours = await hoursUntilLook(workspace)
    expect(hours).toBeGreaterThan(11)
    expect(hours).toBeLessThanOrEqual(24)
  })

  it('looks when the oldest task will be old', async () => {
    const workspace = await givenWorkspace(database.db)
    await givenEnded(workspace, 30 - 2 / 24)
    expect(await sweep()).toBe(0)
    const hours = await hoursUntilLook(workspace)
    expect(hours).toBeGreaterThan(1.9)
    expect(hours).toBeLessThanOrEqual(2)
  })

  it('does not look at a workspace before its time', async () => {
    const workspace = await givenWorkspace(database.db)
    await sweep()
    const id = await givenEnded(workspace, 31)
    expect(await sweep()).toBe(0)
    expect(await exists(id)).toBe(true)
    await sql`update workspace set retention_at = now() where id = ${workspace.id}`.execute(database.db)
    expect(await sweep()).toBe(1)
  })

  it('finds an old task behind any number of workspaces without one', async () => {
    const first = await sql`
      insert into workspace (name, plan, retention_at)
      select 'idle', 'internal', now() - interval '1 day' from generate_series(1, 250)`.execute(database.db)
    expect(first.numAffectedRows).toBe(250n)
    const id = await givenEnded(await givenWorkspace(database.db), 31)
    expect(await sweep()).toBe(1)
    expect(await exists(id)).toBe(false)
  })

  it('looks at once after a change of the plan', async () => {
    const workspace = await givenWorkspace(database.db)
    const id = await givenEnded(workspace, 10)
    const plans = { ...defaultPlans, brief: { ...workspace.plan, retentionDays: 7 } }
    expect(await sweep(plans)).toBe(0)
    await sql`update workspace set plan = 'brief' where id = ${workspace.id}`.execute(database.db)
    expect(await sweep(plans)).toBe(1)
    expect(await exists(id)).toBe(false)
  })

  it('deletes the last tasks of a deleted workspace as they end', async () => {
    const workspace = await givenWorkspace(database.db)
    const open = await givenTask(database.db, workspace)
    await sweep()
    await sql`update workspace set deleted_at = now() where id = ${workspace.id}`.execute(database.db)
    expect(await sweep()).toBe(0)
    expect(await hoursUntilLook(workspace)).toBeLessThanOrEqual(1 / 60)
    await sql`update task set status = 'canceled', completed_at = now() where id = ${open.id}`.execute(database.db)
    await sql`update workspace set retention_at = now() where id = ${workspace.id}`.execute(database.db)
    expect(await sweep()).toBe(1)
  })

  it('takes workspaces in turn when one has more than a batch', async () => {
    const [large, small] = [await givenWorkspace(database.db), await givenWorkspace(database.db)]
    for (let i = 0; i < 3; i++) await givenEnded(large, 31)
    await sql`update workspace set retention_at = now() - interval '1 hour' where id = ${large.id}`.execute(database.db)
    const id = await givenEnded(small, 31)
    const db = processDb('worker', database.db)
    await deleteOldTasks(db, defaultPlans, { limit: 1 })
    expect(await exists(id)).toBe(false)
    const { rows } = await sql<{ count: number }>`
      select count(*)::int from task where workspace_id = ${large.id}`.execute(database.db)
    expect(rows[0]?.count).toBe(2)
    expect(await sweep()).toBe(2)
  })
})
