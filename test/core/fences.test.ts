// Every write of a worker names task, run and claim (D34): a worker that was stopped past its claim cannot write any
// more.
import type { Db } from '@matte/core/db/database'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { type ClaimedTask, giveBackClaim, renewClaim } from '@matte/core/task/run/claim-task'
import { failAttempt, finishTask } from '@matte/core/task/run/finish-task'
import type { TaskRow } from '@matte/core/task/task-queries'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { connectTo, useDatabase } from '../support/database.ts'
import {
  claimNext,
  givenClaimed,
  givenTask,
  givenWorkspace,
  lapseClaim,
  readHistory,
  readTask,
  success,
  type TestWorkspace,
} from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { until } from '../support/until.ts'

async function isWaiting(db: Db): Promise<boolean> {
  const { rows } = await sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  return rows.length > 0
}

const receiver = 'http://receiver.example/'

describe('a worker whose claim another worker has taken,', () => {
  const database = useDatabase()

  async function givenLateWorker() {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 1 })
    const late = await givenClaimed(db, workspace, { callbackUrl: receiver })
    await lapseClaim(db, late)
    const holder = await claimNext(db, [late.modelVersion])
    if (holder === undefined) throw new Error('the lapsed claim was not taken')
    return { db, late, holder }
  }

  type Act = (late: ClaimedTask) => Promise<unknown>
  const acts: Record<string, Act> = {
    finishes: async (late) => (await finishTask(database.db, late, success(late))) ?? 'lost',
    'fails its attempt': (late) => failAttempt(database.db, late, 'INTERNAL'),
    'fails for good': (late) => failAttempt(database.db, late, 'INPUT_UNREADABLE'),
    'gives back': async (late) => (await giveBackClaim(database.db, late, 0)) ?? 'lost',
    renews: async (late) => (await renewClaim(database.db, late, 60_000)) ?? 'lost',
  }

  it.each(Object.entries(acts))('writes nothing if it %s while the other works', async (_, act) => {
    const { db, late, holder } = await givenLateWorker()
    const before = { row: await readTask(db, late.id), history: await readHistory(db, late.id) }
    expect(await act(late)).toBe('lost')
    expect({ row: await readTask(db, late.id), history: await readHistory(db, late.id) }).toEqual(before)
    expect(await finishTask(db, holder, success(holder))).toMatchObject({ status: 'succeeded' })
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('writes nothing if it finishes later: one result, one event, one delivery, one credit', async () => {
    const { db, late, holder } = await givenLateWorker()
    expect(await finishTask(db, holder, success(holder))).toMatchObject({ status: 'succeeded' })
    expect(await finishTask(db, late, success(late))).toBeUndefined()
    expect(await failAttempt(db, late, 'INPUT_UNREADABLE')).toBe('lost')
    const task = await readTask(db, late.id)
    expect(task.result_key).toContain(holder.claim)
    expect(await readHistory(db, late.id)).toEqual(['queued', 'processing', 'succeeded'])
    expect(await db.selectFrom('delivery').select('event').where('task_id', '=', late.id).execute()).toEqual([
      { event: 'task.succeeded' },
    ])
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('may finish if no worker took the task, even after its claim lapsed', async () => {
    const { db } = database
    const claim = await givenClaimed(db, await givenWorkspace(db))
    await lapseClaim(db, claim)
    expect(await finishTask(db, claim, success(claim))).toMatchObject({ status: 'succeeded' })
    expect(await claimNext(db, [claim.modelVersion])).toBeUndefined()
  })

  it('writes nothing if it waited for the workspace while the other finished', async () => {
    const { db, late, holder } = await givenLateWorker()
    const waited = await whileHeld(
      (tx) => finishTask(tx, holder, success(holder)),
      () => finishTask(db, late, success(late)),
    )
    expect(waited).toBeUndefined()
    expect((await readTask(db, late.id)).result_key).toContain(holder.claim)
    expect(await readHistory(db, late.id)).toEqual(['queued', 'processing', 'succeeded'])
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('is fenced by run and claim', async () => {
    const { db } = database
    const claim = await givenClaimed(db, await givenWorkspace(db))
    await sql`update task set run = 2 where id = ${claim.id}`.execute(db)
    expect(await finishTask(db, claim, success(claim))).toBeUndefined()
    expect(await failAttempt(db, claim, 'INTERNAL')).toBe('lost')
    await sql`update task set run = 1 where id = ${claim.id}`.execute(db)
  })

  // The same workspace, lot and day's counters change under the waiting statement.
  const changes: Record<string, (tx: Db, workspace: TestWorkspace, queued: TaskRow) => Promise<unknown>> = {
    'another task is canceled': (tx, workspace, queued) => cancelTask(tx, workspace.id, queued.id),
    'another task is claimed': (tx, _, queued) => claimNext(tx, [queued.model_version]),
  }
  const endings: Record<string, (task: ClaimedTask) => Promise<unknown>> = {
    succeeded: async (task) => (await finishTask(database.db, task, success(task)))?.status,
    failed: async (task) => {
      const ended = await failAttempt(database.db, task, 'INPUT_UNREADABLE')
      return typeof ended === 'string' ? ended : ended.status
    },
  }
  const cases = Object.keys(changes).flatMap((change) =>
    Object.keys(endings).map((ending) => [ending, change] as const),
  )
  it.each(cases)('%s and, after waiting, continues from the current values: %s', async (ending, change) => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 2 })
    const claimed = await givenClaimed(db, workspace, { callbackUrl: receiver })
    const queued = await givenTask(db, workspace)
    const ended = await whileHeld(
      (tx) => changes[change]?.(tx, workspace, queued),
      () => endings[ending]?.(claimed),
    )
    expect(ended).toBe(ending)
    expect(await readHistory(db, claimed.id)).toEqual(['queued', 'processing', ending])
    expect(await findBrokenRules(db)).toEqual({})
  })

  /** Runs `first` in a transaction that commits once `second` waits for the workspace that `first` has locked. */
  async function whileHeld<T>(first: (tx: Db) => Promise<unknown> | undefined, second: () => T): Promise<Awaited<T>> {
    const other = connectTo(database.url, 1)
    try {
      return await other.db
        .transaction()
        .execute(async (tx) => {
          await first(tx)
          const waiting = second()
          await until('it waits for the workspace', () => isWaiting(database.db))
          return { waiting }
        })
        .then(({ waiting }) => waiting)
    } finally {
      await other.stop()
    }
  }
})
