// A thousand instant tasks of one workspace: creations, claims and ends of runs constantly lock its row.
import type { Db } from '@matte/core/db/database'
import { finishTask } from '@matte/core/task/run/finish-task'
import { lockWorkspace } from '@matte/core/workspace/workspace-queries'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { connectTo, useDatabase } from '../support/database.ts'
import {
  claimNext,
  givenBatch,
  givenClaimed,
  givenTask,
  givenWorkspace,
  ownModel,
  success,
} from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { until } from '../support/until.ts'

const [singles, batches, batchSize, slots] = [600, 4, 100, 24]

describe('a thousand short tasks of one workspace', () => {
  const database = useDatabase()

  it('end at the first attempt, without a deadlock', async () => {
    const { db } = database
    const model = ownModel()
    const workspace = await givenWorkspace(db)
    const options = { model, callbackUrl: 'http://receiver.example/' }
    const total = singles + batches * batchSize
    const failed: unknown[] = []
    let [created, ended] = [0, 0]
    const create = async (): Promise<void> => {
      while (created < singles) {
        created += 1
        await givenTask(db, workspace, options)
      }
    }
    const work = async (): Promise<void> => {
      while (ended < total && failed.length === 0) {
        try {
          const task = await claimNext(db, [model])
          if (task && (await finishTask(db, task, success(task)))) ended += 1
        } catch (error) {
          failed.push(error)
        }
      }
    }
    const createBatches = async (): Promise<void> => {
      for (let batch = 0; batch < batches; batch++) await givenBatch(db, workspace, { ...options, size: batchSize })
    }
    await Promise.all([create(), create(), create(), create(), createBatches(), ...Array.from({ length: slots }, work)])
    expect(failed).toEqual([])
    const { rows } = await sql<{ attempt: number; count: number }>`
      select attempt, count(*)::int as count from task group by attempt`.execute(db)
    expect(rows).toEqual([{ attempt: 1, count: total }])
    expect(await findBrokenRules(db)).toEqual({})
  })
})

describe('the end of a run and a claim that wait for the same workspace', () => {
  const database = useDatabase()

  const countWaiting = async (): Promise<number> => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`.execute(database.db)
    return rows[0]?.count ?? 0
  }
  const untilWaiting = (count: number) =>
    until(`${count} statements wait for locks`, async () => (await countWaiting()) === count)

  /** A transaction that stays open until `commit`. */
  async function open(act: (tx: Db) => Promise<unknown>) {
    const pool = connectTo(database.url, 1)
    const [begun, ending] = [Promise.withResolvers<Db>(), Promise.withResolvers<void>()]
    const ended = pool.db.transaction().execute(async (tx) => {
      await act(tx)
      begun.resolve(tx)
      await ending.promise
    })
    const commit = async (): Promise<void> => {
      ending.resolve()
      await ended
      await pool.stop()
    }
    const tx = await begun.promise
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)
    return { tx, pid: rows[0]?.pid ?? 0, commit }
  }

  // PostgreSQL locks the row version that a statement has seen, although the statement holds a newer one.
  it('never wait for each other, with a concurrent creation that references the workspace', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const task = await givenClaimed(db, workspace)
    await givenTask(db, workspace, { model: task.modelVersion })
    const lock = sql`select from workspace where id = ${workspace.id}`
    const creation = await open((tx) => sql`${lock} for key share`.execute(tx))
    const update = await open((tx) => sql`update workspace set name = 'changed' where id = ${workspace.id}`.execute(tx))
    const row = await open((tx) => sql`select from task where id = ${task.id} for update`.execute(tx))
    const ending = finishTask(db, task, success(task))
    await untilWaiting(1)
    const claiming = claimNext(db, [task.modelVersion])
    await untilWaiting(2)
    await update.commit()
    await until('the end has the workspace and waits for the task', async () => {
      const { rows } = await sql`select from pg_stat_activity where ${row.pid} = any(pg_blocking_pids(pid))`.execute(db)
      return rows.length > 0
    })
    await untilWaiting(2)
    const creating = lockWorkspace(creation.tx, workspace.id)
    await untilWaiting(3)
    await row.commit()
    const ended = await Promise.allSettled([ending, creating.then(() => creation.commit()), claiming])
    expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
    expect(await findBrokenRules(db)).toEqual({})
  })

  // In transactions, because the pool repeats single statements after a deadlock.
  it('never deadlock while a creation references the version that both saw', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const task = await givenClaimed(db, workspace)
    await givenTask(db, workspace, { model: task.modelVersion })
    const reference = sql`select from workspace where id = ${workspace.id} for key share`
    const creation = await open((tx) => reference.execute(tx))
    const update = await open((tx) => sql`update workspace set name = 'changed' where id = ${workspace.id}`.execute(tx))
    const row = await open((tx) => sql`select from task where id = ${task.id} for update`.execute(tx))
    const ending = db.transaction().execute((tx) => finishTask(tx, task, success(task)))
    await untilWaiting(1)
    const claiming = db.transaction().execute((tx) => claimNext(tx, [task.modelVersion]))
    await untilWaiting(2)
    await update.commit()
    await until('the end has the workspace and waits for the task', async () => {
      const { rows } = await sql`select from pg_stat_activity where ${row.pid} = any(pg_blocking_pids(pid))`.execute(db)
      return rows.length > 0
    })
    await untilWaiting(2)
    await row.commit()
    const ended = await Promise.allSettled([ending, claiming])
    await creation.commit()
    expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    expect(await findBrokenRules(db)).toEqual({})
  })
})
