// A task is deleted in parts: no statement deletes more than a bound, and an interrupted deletion continues later.
import { deleteOldTasks } from '@matte/core/retention/delete-tasks'
import { defaultPlans } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { describe, expect, it, vi } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { givenTask, givenWorkspace } from '../support/factories.ts'

const partMax = 2_000
const now = new Date(Date.now() + 31 * 86_400_000)

describe('a task with 20,000 attempts', () => {
  const database = useDatabase()

  const given = async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const task = await givenTask(db, workspace)
    await sql`update task set status = 'canceled', completed_at = now() where id = ${task.id}`.execute(db)
    await sql`
        with target as (
          insert into delivery (workspace_id, task_id, run, event, target_url, target_host, body, status, completed_at)
          select ${workspace.id}, ${task.id}, 1, 'task.failed', 'https://a.example/' || n, 'a.example:443', '{}',
                 'exhausted', now()
            from generate_series(1, 4000) as s (n)
          returning id
        )
        insert into delivery_attempt (delivery_id, attempt, duration_ms, response_body)
        select id, n, 1, repeat('x', 1000) from target, generate_series(1, 5) as s (n)`.execute(db)
    // Rows that each transaction deletes, cascades included.
    await sql`create table if not exists deleted (of text, tx bigint, count int)`.execute(db)
    await sql`truncate deleted`.execute(db)
    await sql`
        create or replace function count_deleted() returns trigger language plpgsql as $$
          begin
            insert into deleted select tg_table_name, txid_current(), count(*) from gone;
            return null;
          end $$`.execute(db)
    for (const table of ['delivery', 'delivery_attempt']) {
      await sql`
          create or replace trigger count_deleted after delete on ${sql.table(table)} referencing old table as gone
            for each statement execute function count_deleted()`.execute(db)
    }
    return task
  }
  const parts = async (table: string) => {
    const { rows } = await sql<{ count: number }>`
        select sum(count)::int as count from deleted where of = ${table}
         group by tx having sum(count) > 0 order by tx`.execute(database.db)
    return rows.map(({ count }) => count)
  }
  const exists = async (id: string) =>
    (await database.db.selectFrom('task').select('id').where('id', '=', id).execute()).length === 1

  it('is deleted in parts of at most 2,000 rows', async () => {
    const task = await given()
    expect(await deleteOldTasks(database.db, defaultPlans, { now })).toBe(1)
    expect(await exists(task.id)).toBe(false)
    expect(await parts('delivery_attempt')).toEqual(Array(10).fill(partMax))
    expect(await parts('delivery')).toEqual(Array(2).fill(partMax))
  })

  it('is deleted further after an interrupted sweep', async () => {
    const task = await given()
    // False at the start of the workspace's turn, true after its first part.
    const { signal } = new AbortController()
    vi.spyOn(signal, 'aborted', 'get').mockReturnValueOnce(false).mockReturnValue(true)
    const deleted = await deleteOldTasks(database.db, defaultPlans, { now, signal })
    const deletedParts = await parts('delivery_attempt')
    expect({ deleted, deletedParts }).toEqual({ deleted: 0, deletedParts: [partMax] })
    expect(await exists(task.id)).toBe(true)
    expect(await deleteOldTasks(database.db, defaultPlans, { now })).toBe(1)
    expect(await parts('delivery_attempt')).toEqual(Array(10).fill(partMax))
    expect(await exists(task.id)).toBe(false)
  })
})
