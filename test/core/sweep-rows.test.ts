// Unsweepable rows of one workspace do not stop those of others, even when they fill a whole round.

import { expireCredits } from '@matte/core/credit/expire-credits'
import { sweepParts } from '@matte/core/db/sweep'
import { announceCleanups } from '@matte/core/retention/announce-cleanup'
import { deleteOldTasks } from '@matte/core/retention/delete-tasks'
import { handOverDeadLetters } from '@matte/core/task/run/hand-over-dead-letters'
import { sweepTasks } from '@matte/core/task/run/sweep-tasks'
import { defaultPlans } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { givenClaimed, givenTask, givenWorkspace, ownModel, readTask } from '../support/factories.ts'

const dayMs = 86_400_000
const refusal = 'this row is broken'

describe('a sweep', () => {
  const database = useDatabase()

  /** From now on every change of the workspace's rows in this table fails. */
  async function breakRows(table: string, column: string, value: string): Promise<void> {
    const name = sql.raw(`broken_${table}`)
    await sql`
      create or replace function ${name}() returns trigger language plpgsql as
      $$ begin if old.${sql.raw(column)} = ${sql.lit(value)} then raise exception '${sql.raw(refusal)}'; end if;
         return coalesce(new, old); end $$`.execute(database.db)
    await sql`create or replace trigger ${name} before update or delete on ${sql.raw(table)}
              for each row execute function ${name}()`.execute(database.db)
  }

  afterEach(async () => {
    for (const table of ['credit_lot', 'task', 'retention_notice']) {
      await sql`drop function if exists ${sql.raw(`broken_${table}`)}() cascade`.execute(database.db)
    }
  })

  it('expires the credits of other workspaces', async () => {
    const { db } = database
    const [broken, well] = [await givenWorkspace(db, { credits: 5 }), await givenWorkspace(db, { credits: 7 })]
    await sql`update credit_lot set expires_at = now() - interval '2 days' where workspace_id = ${broken.id}`.execute(
      db,
    )
    await sql`update credit_lot set expires_at = now() - interval '1 day' where workspace_id = ${well.id}`.execute(db)
    await breakRows('credit_lot', 'workspace_id', broken.id)
    const { counts, failures } = await sweepParts({ credits: (pass) => expireCredits(db, { ...pass, limit: 1 }) })
    expect(counts).toEqual({ credits: 7 })
    expect(failures).toMatchObject([{ part: 'credits', rows: 1, error: { message: refusal } }])
  })

  it('ends runs of other workspaces', async () => {
    const { db } = database
    const old = async () => givenTask(db, await givenWorkspace(db), { model: ownModel(), ageMs: 2 * dayMs })
    const [broken, well] = [await old(), await old()]
    await breakRows('task', 'id', broken.id)
    const runs = { runs: (pass: object) => sweepTasks(db, { maxQueueAgeMs: dayMs, ...pass, limit: 1 }) }
    const { counts, failures } = await sweepParts(runs)
    expect([counts.runs, failures]).toMatchObject([1, [{ part: 'runs', rows: 1, error: { message: refusal } }]])
    expect(await readTask(db, well.id)).toMatchObject({ status: 'failed' })
    expect(await readTask(db, broken.id)).toMatchObject({ status: 'queued' })
  })

  it('hands over dead letters of other workspaces, and gives up on a stream that takes none', async () => {
    const { db } = database
    const letters = await Promise.all(Array.from({ length: 5 }, async () => givenClaimed(db, await givenWorkspace(db))))
    const ids = letters.map(({ id }) => id)
    await sql`update task set attempt = 5, claimed_until = now() where id = any(${ids}::uuid[])`.execute(db)
    await sweepTasks(db, { maxQueueAgeMs: dayMs })
    const broken = letters[0]?.id ?? ''
    await sql`update task set completed_at = completed_at - interval '1 hour' where id = ${broken}`.execute(db)
    let asked = 0
    const refuse = async (): Promise<void> => {
      asked += 1
      throw new Error('no stream')
    }
    const without = await sweepParts({ letters: (pass) => handOverDeadLetters(db, refuse, pass) })
    expect([asked, without.failures]).toMatchObject([3, [{ part: 'letters', error: { message: 'no stream' } }]])
    await breakRows('task', 'id', broken)
    const { counts } = await sweepParts({ letters: (p) => handOverDeadLetters(db, async () => undefined, p) })
    expect(counts).toEqual({ letters: 4 })
  })

  it('deletes and announces old tasks of other workspaces', async () => {
    const { db } = database
    const ended = async () => {
      const task = await givenTask(db, await givenWorkspace(db), { model: ownModel(), ageMs: 2 * dayMs })
      await sweepTasks(db, { maxQueueAgeMs: dayMs })
      await sql`update task set completed_at = now() - interval '400 days' where id = ${task.id}`.execute(db)
      return task
    }
    const tasks = [await ended(), await ended(), await ended()]
    await breakRows('task', 'id', tasks[0]?.id ?? '')
    const deleted = await sweepParts({ tasks: (pass) => deleteOldTasks(db, defaultPlans, pass) })
    expect(deleted.counts.tasks).toBeGreaterThanOrEqual(2)
    expect(deleted.failures).toMatchObject([{ part: 'tasks', rows: 1 }])
    await breakRows('retention_notice', 'workspace_id', tasks[1]?.workspace_id ?? '')
    const told = await sweepParts({ told: (pass) => announceCleanups(db, defaultPlans, { ...pass, limit: 1 }) })
    expect([told.counts.told, told.failures]).toMatchObject([1, [{ part: 'told', rows: 1 }]])
  })

  it('runs later parts after a failed one, and stops between rounds at its signal', async () => {
    const stop = new AbortController()
    let rounds = 0
    const { counts, failures } = await sweepParts(
      {
        first: () => Promise.reject(new Error('broken')),
        second: async () => {
          rounds += 1
          if (rounds === 3) stop.abort()
          return 2
        },
        third: async () => 1,
      },
      { signal: stop.signal },
    )
    expect(counts).toEqual({ first: 0, second: 6, third: 0 })
    expect(failures).toMatchObject([{ part: 'first', error: { message: 'broken' } }])
  })
})
