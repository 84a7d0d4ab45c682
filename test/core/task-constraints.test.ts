// State machine constraints of the database: it rejects impossible rows whatever the code does.
import { type RawBuilder, sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { givenClaimed, givenTask, givenWorkspace } from '../support/factories.ts'

describe('the database', () => {
  const database = useDatabase()

  it.each([
    ['an unknown status', sql`status = 'done'`],
    ['succeeded without a result', sql`status = 'succeeded', completed_at = now(), claim = null, claimed_until = null`],
    ['succeeded without a time', sql`status = 'succeeded', result_key = 'k', claim = null, claimed_until = null`],
    ['failed without a reason', sql`status = 'failed', completed_at = now(), claim = null, claimed_until = null`],
    [
      'failed for a reason off the list',
      sql`status = 'failed', completed_at = now(), failure_reason = 'BAD_LUCK', claim = null, claimed_until = null`,
    ],
    ['canceled without a time', sql`status = 'canceled', claim = null, claimed_until = null`],
    ['ended with a live claim', sql`status = 'canceled', completed_at = now()`],
    ['open with a time of completion', sql`completed_at = now()`],
    ['processing with a result', sql`result_key = 'k'`],
    ['a claim without an end', sql`claimed_until = null`],
    ['queued with a claim', sql`status = 'queued', started_at = null`],
    ['queued with a start', sql`status = 'queued', claim = null, claimed_until = null`],
    ['processing without a start', sql`started_at = null`],
    ['a fourth retry', sql`retry_count = 4`],
    ['a fifth run', sql`run = 5`],
    ['an image without width', sql`width = 0`],
    ['a confidence before the success', sql`confidence = 0.5`],
    ['an unknown rule of the charge', sql`charge = 'never'`],
    ['a run in progress that is not charged', sql`charge = 'none'`],
  ] satisfies [string, RawBuilder<unknown>][])('%s is refused', async (_, change) => {
    const { db } = database
    const task = await givenClaimed(db, await givenWorkspace(db))
    await expect(sql`update task set ${change} where id = ${task.id}`.execute(db)).rejects.toMatchObject({
      code: '23514',
    })
  })

  it.each(['open_singles = -1', 'queued = -1', 'processing = processing + 1', 'open_singles = 5', 'quota_used = -1'])(
    'rejects a workspace with %s',
    async (change) => {
      const { db } = database
      const { id } = await givenWorkspace(db)
      await expect(sql`update workspace set ${sql.raw(change)} where id = ${id}`.execute(db)).rejects.toMatchObject({
        code: '23514',
      })
    },
  )

  it.each(['available = -1', 'available = available + 1', 'held = held - 1'])(
    'rejects a lot with %s',
    async (change) => {
      const { db } = database
      const { id } = await givenWorkspace(db, { credits: 5 })
      const update = sql`update credit_lot set ${sql.raw(change)} where workspace_id = ${id}`
      await expect(update.execute(db)).rejects.toMatchObject({ code: '23514' })
    },
  )

  it('rejects updates, deletions and truncation of the ledger, also through another table', async () => {
    const { db } = database
    await givenWorkspace(db, { credits: 5 })
    await expect(sql`update credit_entry set amount = 1`.execute(db)).rejects.toThrow(/append-only/)
    await expect(sql`delete from credit_entry`.execute(db)).rejects.toThrow(/append-only/)
    await expect(sql`truncate credit_entry`.execute(db)).rejects.toThrow(/append-only/)
    await expect(sql`truncate workspace cascade`.execute(db)).rejects.toThrow(/append-only/)
  })

  it.each(['succeeded', 'failed', 'canceled'])('rejects a second %s in the history of a run', async (type) => {
    const { db } = database
    const { id } = await givenTask(db, await givenWorkspace(db))
    const insert = sql`insert into task_event (task_id, run, type) values (${id}, 1, ${type})`
    await insert.execute(db)
    await expect(insert.execute(db)).rejects.toMatchObject({ code: '23505' })
  })

  it('rejects a second delivery of one event to one target', async () => {
    const { db } = database
    const task = await givenTask(db, await givenWorkspace(db))
    const insert = sql`
        insert into delivery (workspace_id, task_id, run, event, target_url, target_host, body)
        values (${task.workspace_id}, ${task.id}, 1, 'task.failed', 'http://a/', 'a:80', '{}')`
    await insert.execute(db)
    await expect(insert.execute(db)).rejects.toMatchObject({ code: '23505' })
  })

  it('has a primary key in each logged table, which logical replication needs', async () => {
    const { rows } = await sql`
      select relname from pg_class c
       where relkind = 'r' and relpersistence = 'p' and relnamespace = 'public'::regnamespace
         and not exists (select from pg_index where indrelid = c.oid and indisprimary)`.execute(database.db)
    expect(rows).toEqual([])
  })
})
