// A batch follows its children: counts, the single batch.completed event, and effects of cancels, retries and races.
import { cancelBatch } from '@matte/core/batch/cancel-batch'
import type { Db } from '@matte/core/db/database'
import { retryTask } from '@matte/core/task/retry-task'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { endRun } from '@matte/core/task/run/end-run'
import { failAttempt, finishTask } from '@matte/core/task/run/finish-task'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { connectTo, useDatabase } from '../support/database.ts'
import {
  claimNext,
  givenBatch,
  givenWorkspace,
  onePixelPng,
  ownModel,
  readBatchRow,
  readTask,
  success,
  type TestWorkspace,
} from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { memoryBucket } from '../support/memory-bucket.ts'
import { until } from '../support/until.ts'

const callbackUrl = 'http://receiver.example/hook'
const counts = (succeeded: number, failed: number, canceled: number) => ({
  succeeded_count: succeeded,
  failed_count: failed,
  canceled_count: canceled,
})

describe('a batch', () => {
  const database = useDatabase()
  const claim = async (model: string) => {
    const claimed = await claimNext(database.db, [model])
    if (claimed === undefined) throw new Error('nothing to claim')
    return claimed
  }
  const bodiesOf = async (batchId: string): Promise<string[]> => {
    const rows = await database.db
      .selectFrom('delivery as d')
      .leftJoin('task as t', 't.id', 'd.task_id')
      .select('body')
      .where((eb) => eb.or([eb('d.batch_id', '=', batchId), eb('t.batch_id', '=', batchId)]))
      .execute()
    return rows.map((row) => row.body)
  }
  const completedOf = async (batchId: string) =>
    (await bodiesOf(batchId)).map((body) => JSON.parse(body)).filter(({ event }) => event === 'batch.completed')

  /** A batch with one succeeded and one failed child. */
  async function givenEndedBatch(workspace: TestWorkspace) {
    const model = ownModel()
    const { batch, tasks } = await givenBatch(database.db, workspace, { size: 2, model, callbackUrl })
    const first = await claim(model)
    await finishTask(database.db, first, success(first))
    const second = await claim(model)
    await failAttempt(database.db, second, 'INPUT_UNREADABLE')
    return { model, batch, tasks, failedId: second.id }
  }
  const retry = (db: Db, workspace: TestWorkspace, id: string, source: string) => {
    const bucket = memoryBucket()
    const upload = bucket.put(source, onePixelPng, { contentType: 'image/png' })
    return upload.then(() =>
      retryTask(db, bucket, { workspaceId: workspace.id, plan: workspace.plan, id, traceparent: null }),
    )
  }

  it('counts each child as it ends, completes with the last one, and notifies its callback once', async () => {
    const { db } = database
    const model = ownModel()
    const { batch } = await givenBatch(db, await givenWorkspace(db), { size: 3, model, callbackUrl })
    const [first, second, third] = [await claim(model), await claim(model), await claim(model)]
    await finishTask(db, second, success(second))
    expect(await readBatchRow(db, batch.id)).toMatchObject({ status: 'processing', ...counts(1, 0, 0) })
    await failAttempt(db, first, 'INPUT_UNREADABLE')
    expect(await readBatchRow(db, batch.id)).toMatchObject({ status: 'processing', ...counts(1, 1, 0) })
    expect(await completedOf(batch.id)).toEqual([])
    await finishTask(db, third, success(third))
    const ended = await readBatchRow(db, batch.id)
    expect(ended).toMatchObject({ status: 'completed', ...counts(2, 1, 0), completed_at: expect.any(Date) })
    expect(await completedOf(batch.id)).toEqual([
      {
        event: 'batch.completed',
        batch_job_id: batch.id,
        total_count: 3,
        success_count: 2,
        failed_count: 1,
        message: expect.any(String),
      },
    ])
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('also delivers the end of every child to its callback (D62)', async () => {
    const { db } = database
    const { batch, tasks } = await givenEndedBatch(await givenWorkspace(db))
    const delivered = (await bodiesOf(batch.id)).map((body) => JSON.parse(body) as { event: string; task_id?: string })
    const children = delivered.filter(({ task_id }) => task_id !== undefined)
    expect(children.map(({ event }) => event).sort()).toEqual(['task.failed', 'task.succeeded'])
    expect(children.map(({ task_id }) => task_id).sort()).toEqual(tasks.map(({ id }) => id).sort())
  })

  it('completes without a callback as well', async () => {
    const { db } = database
    const model = ownModel()
    const { batch } = await givenBatch(db, await givenWorkspace(db), { size: 1, model })
    const only = await claim(model)
    await finishTask(db, only, success(only))
    expect(await readBatchRow(db, batch.id)).toMatchObject({ status: 'completed' })
    expect(await bodiesOf(batch.id)).toEqual([])
  })

  it('ignores a worker that lost its claim', async () => {
    const { db } = database
    const model = ownModel()
    const { batch } = await givenBatch(db, await givenWorkspace(db), { size: 2, model, callbackUrl })
    const lost = await claim(model)
    await sql`update task set claim = gen_random_uuid() where id = ${lost.id}`.execute(db)
    expect(await finishTask(db, lost, success(lost))).toBeUndefined()
    expect(await readBatchRow(db, batch.id)).toMatchObject({ status: 'processing', ...counts(0, 0, 0) })
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('ignores a second end of its only child while the workspace has other open children', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const model = ownModel()
    const { batch, tasks } = await givenBatch(db, workspace, { size: 1, model, callbackUrl })
    await givenBatch(db, workspace, { size: 1, model })
    const fence = sql<boolean>`run = 1`
    const ref = {
      id: tasks[0]?.id ?? '',
      workspaceId: workspace.id,
      batchId: batch.id,
      run: 1,
      from: 'queued' as const,
      callbackUrl: null,
      traceparent: null,
    }
    expect(await endRun(db, { ...ref, fence }, { status: 'canceled' })).toMatchObject({ status: 'canceled' })
    expect(await endRun(db, { ...ref, fence }, { status: 'canceled' })).toBeUndefined()
    expect(await readBatchRow(db, batch.id)).toMatchObject({ status: 'completed', ...counts(0, 0, 1) })
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('completes once when its last two children end concurrently, in either order', async () => {
    const { db } = database
    const [left, right] = [connectTo(database.url, 1), connectTo(database.url, 1)]
    for (let round = 0; round < 20; round++) {
      const model = ownModel()
      const { batch } = await givenBatch(db, await givenWorkspace(db), { size: 2, model, callbackUrl })
      const [first, second] = [await claim(model), await claim(model)]
      const ended = await Promise.all([
        finishTask(left.db, first, success(first)),
        finishTask(right.db, second, success(second)),
      ])
      expect(ended.filter(Boolean)).toHaveLength(2)
      expect(await completedOf(batch.id)).toMatchObject([{ success_count: 2, failed_count: 0 }])
    }
    await Promise.all([left.db.destroy(), right.db.destroy()])
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('makes the second-last end wait until the previous one is counted', async () => {
    const { db } = database
    const model = ownModel()
    const { batch } = await givenBatch(db, await givenWorkspace(db), { size: 2, model, callbackUrl })
    const [first, second] = [await claim(model), await claim(model)]
    const [left, right] = [connectTo(database.url, 1), connectTo(database.url, 1)]
    let release: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const begun = Promise.withResolvers<void>()
    // The first transaction stays open with everything written, like a slow commit.
    const slow = left.db.transaction().execute(async (tx) => {
      const fence = sql<boolean>`(run = ${first.run} and claim = ${first.claim})`
      const run = { ...first, from: 'processing' as const }
      const inside = { transaction: () => ({ execute: <T>(act: (inner: Db) => Promise<T>) => act(tx) }) }
      await endRun(inside as unknown as Db, { ...run, fence }, success(first))
      begun.resolve()
      await held
    })
    await begun.promise
    const quick = finishTask(right.db, second, success(second))
    await until('the second waits for a lock', async () => {
      const { rows } = await sql`select 1 from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
      return rows.length > 0
    })
    release()
    await Promise.all([slow, quick])
    await Promise.all([left.db.destroy(), right.db.destroy()])
    expect(await completedOf(batch.id)).toHaveLength(1)
    expect(await readBatchRow(db, batch.id)).toMatchObject({ status: 'completed', ...counts(2, 0, 0) })
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('stays completed when a child is retried; counts follow, and no second event is sent', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const { model, batch, tasks, failedId } = await givenEndedBatch(workspace)
    const before = await readBatchRow(db, batch.id)
    await retry(db, workspace, failedId, tasks[0]?.source_key ?? '')
    expect(await readBatchRow(db, batch.id)).toMatchObject({
      status: 'completed',
      completed_at: before.completed_at,
      ...counts(1, 0, 0),
    })
    expect(await findBrokenRules(db)).toEqual({})
    const again = await claim(model)
    expect(again).toMatchObject({ id: failedId, run: 2 })
    await finishTask(db, again, success(again))
    expect(await readBatchRow(db, batch.id)).toEqual({ ...before, ...counts(2, 0, 0) })
    expect(await completedOf(batch.id)).toHaveLength(1)
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('that is still processing completes only when a retried child has ended too', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const model = ownModel()
    const { batch, tasks } = await givenBatch(db, workspace, { size: 2, model, callbackUrl })
    const first = await claim(model)
    await failAttempt(db, first, 'INPUT_UNREADABLE')
    await retry(db, workspace, first.id, tasks[0]?.source_key ?? '')
    const [second, third] = [await claim(model), await claim(model)]
    await finishTask(db, second, success(second))
    expect(await readBatchRow(db, batch.id)).toMatchObject({ status: 'processing', ...counts(1, 0, 0) })
    await finishTask(db, third, success(third))
    expect(await readBatchRow(db, batch.id)).toMatchObject({ status: 'completed', ...counts(2, 0, 0) })
    expect(await completedOf(batch.id)).toHaveLength(1)
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('counts a retried child as a single task against concurrency, and frees that slot afterwards', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const { model, tasks, failedId } = await givenEndedBatch(workspace)
    const row = () =>
      db
        .selectFrom('workspace')
        .select(['open_singles', 'open_children'])
        .where('id', '=', workspace.id)
        .executeTakeFirst()
    await retry(db, workspace, failedId, tasks[0]?.source_key ?? '')
    expect(await row()).toEqual({ open_singles: 1, open_children: 0 })
    const again = await claim(model)
    await failAttempt(db, again, 'INPUT_UNREADABLE')
    expect(await row()).toEqual({ open_singles: 0, open_children: 0 })
  })

  it('when canceled, ends queued children, releases their credits, and lets the others finish', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 5 })
    const model = ownModel()
    const { batch } = await givenBatch(db, workspace, { size: 5, model, callbackUrl })
    const running = await claim(model)
    const canceled = await cancelBatch(db, workspace.id, batch.id)
    expect(canceled.batch).toMatchObject({ status: 'processing', ...counts(0, 0, 4) })
    expect(canceled.tasks.map(({ status }) => status).sort()).toEqual([
      'canceled',
      'canceled',
      'canceled',
      'canceled',
      'processing',
    ])
    const lot = await db
      .selectFrom('credit_lot')
      .select(['available', 'held'])
      .where('workspace_id', '=', workspace.id)
      .executeTakeFirst()
    expect(lot).toEqual({ available: 4, held: 1 })
    expect(await findBrokenRules(db)).toEqual({})
    await expect(cancelBatch(db, workspace.id, batch.id)).rejects.toMatchObject({ code: 'TASK_CANNOT_CANCEL' })
    await finishTask(db, running, success(running))
    expect(await completedOf(batch.id)).toMatchObject([{ total_count: 5, success_count: 1, failed_count: 4 }])
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('completes and sends the event when all children are canceled', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const { batch } = await givenBatch(db, workspace, { size: 3, model: ownModel(), callbackUrl })
    expect((await cancelBatch(db, workspace.id, batch.id)).batch).toMatchObject({
      status: 'completed',
      ...counts(0, 0, 3),
    })
    expect(await completedOf(batch.id)).toMatchObject([{ success_count: 0, failed_count: 3 }])
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('when canceled with a retried child in the queue, frees the child’s slot', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const { batch, tasks, failedId } = await givenEndedBatch(workspace)
    await retry(db, workspace, failedId, tasks[0]?.source_key ?? '')
    expect((await cancelBatch(db, workspace.id, batch.id)).batch).toMatchObject({
      status: 'completed',
      ...counts(1, 0, 1),
    })
    expect(await completedOf(batch.id)).toHaveLength(1)
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('completes once, with one state per child, in a race of its cancel, cancels of children, claims and ends', async () => {
    const { db } = database
    for (let round = 0; round < 8; round++) {
      const model = ownModel()
      const workspace = await givenWorkspace(db, { plan: 'business', credits: 30 })
      const { batch, tasks } = await givenBatch(db, workspace, { size: 30, model, callbackUrl })
      const work = async (): Promise<void> => {
        for (let claimed = await claimNext(db, [model]); claimed; claimed = await claimNext(db, [model])) {
          if (round % 2 === 0) await finishTask(db, claimed, success(claimed))
          else await failAttempt(db, claimed, 'INPUT_UNREADABLE')
        }
      }
      const single = tasks.slice(0, 10).map(({ id }) => cancelTask(db, workspace.id, id))
      const whole = Array.from({ length: 5 }, () => cancelBatch(db, workspace.id, batch.id))
      const outcomes = await Promise.allSettled([work(), work(), work(), ...single, ...whole])
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'TASK_CANNOT_CANCEL' })
      }
      await work()
      const row = await readBatchRow(db, batch.id)
      expect(row.succeeded_count + row.failed_count + row.canceled_count).toBe(30)
      expect(row.status).toBe('completed')
      expect(await completedOf(batch.id)).toHaveLength(1)
    }
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('accepts one of twenty retries of a child, whatever its batch does meanwhile', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'enterprise', credits: 50 })
    const { batch, tasks, failedId } = await givenEndedBatch(workspace)
    const retries = Array.from({ length: 20 }, () => retry(db, workspace, failedId, tasks[0]?.source_key ?? ''))
    const outcomes = await Promise.allSettled(retries)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'TASK_NOT_RETRYABLE' })
    }
    expect(await readTask(db, failedId)).toMatchObject({ status: 'queued', run: 2, retry_count: 1 })
    expect(await readBatchRow(db, batch.id)).toMatchObject({ status: 'completed', ...counts(1, 0, 0) })
    expect(await findBrokenRules(db)).toEqual({})
  })
})
