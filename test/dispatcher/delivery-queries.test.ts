// Life of a delivery in the database: created once, claimed fairly, recorded once, retried on schedule.
import type { Db } from '@matte/core/db/database'
import type { AttemptOutcome } from '@matte/core/webhook/attempt-outcome'
import { createEventDeliveries, type TaskDeliveries, toDeliveries } from '@matte/core/webhook/create-deliveries'
import { cancelTaskDeliveries, readDueState } from '@matte/core/webhook/delivery-queries'
import { giveBackDelivery, recordAttempt } from '@matte/core/webhook/end-attempt'
import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { givenTask, givenWorkspace } from '../support/factories.ts'
import { claimDue, claimOne, givenDelivery, lapseClaims, makeDue, readAttempts, readDelivery } from './given.ts'

const url = 'https://receiver.example/hook'
const policy = { maxRetries: 12, retryUnitMs: 60_000 }
const delivered: AttemptOutcome = { error: null, statusCode: 200, durationMs: 12.4, responseBody: 'ok' }
const failed: AttemptOutcome = { error: 'STATUS', statusCode: 503, durationMs: 12.4, responseBody: null }
const now = { endedAgoMs: 0 }

const createTaskDeliveries = (db: Db, task: TaskDeliveries) => createEventDeliveries(db, toDeliveries(task))

describe('deliveries', () => {
  const database = useDatabase()
  let db: Db

  beforeAll(() => {
    db = database.db
  })
  beforeEach(async () => {
    await sql`truncate delivery cascade`.execute(db)
  })

  describe('deliveries of a task', () => {
    const task = {
      event: 'task.failed',
      run: 1,
      reason: 'INPUT_UNREADABLE',
      message: 'No.',
      traceparent: null,
    } as const

    it('store the bytes to send and the target host', async () => {
      const { taskId } = await givenDelivery(db, 'https://Receiver.example/hook?a=1')
      expect(await readDelivery(db, taskId)).toMatchObject({
        event: 'task.succeeded',
        run: 1,
        target_url: 'https://Receiver.example/hook?a=1',
        target_host: 'receiver.example:443',
        body: `{"event":"task.succeeded","task_id":"${taskId}","message":"The cut-out is ready."}`,
        status: 'pending',
        attempt: 0,
      })
    })

    it('are not created without a callback URL', async () => {
      const workspace = await givenWorkspace(db)
      const { id: taskId } = await givenTask(db, workspace)
      await createTaskDeliveries(db, { ...task, taskId, workspaceId: workspace.id, callbackUrl: null })
      expect(await db.selectFrom('delivery').select('id').execute()).toEqual([])
    })

    it('are created once per run', async () => {
      const workspace = await givenWorkspace(db)
      const { id: taskId } = await givenTask(db, workspace)
      const common = { ...task, taskId, workspaceId: workspace.id, callbackUrl: url }
      for (const run of [1, 1, 2]) await createTaskDeliveries(db, { ...common, run })
      expect(await db.selectFrom('delivery').select('run').orderBy('run').execute()).toEqual([{ run: 1 }, { run: 2 }])
    })

    it('are created without an error when the URL cannot be parsed', async () => {
      const { taskId } = await givenDelivery(db, 'nonsense')
      expect(await readDelivery(db, taskId)).toMatchObject({ target_host: 'unusable' })
    })
  })

  describe('claimDueDeliveries', () => {
    it('claims due deliveries, counts the attempt and returns the database time', async () => {
      const { workspaceId, taskId } = await givenDelivery(db, url)
      const [claimed, ...others] = await claimDue(db)
      const { rows } = await sql<{ ms: number }>`select extract(epoch from now())::float8 * 1000 as ms`.execute(db)
      expect(others).toEqual([])
      expect(claimed).toMatchObject({ workspaceId, taskId, attempt: 1, targetUrl: url, event: 'task.succeeded' })
      expect(claimed?.claimedAtMs).toBeGreaterThan((rows[0]?.ms ?? 0) - 60_000)
      expect(claimed?.claimedAtMs).toBeLessThanOrEqual(rows[0]?.ms ?? 0)
      expect(await claimDue(db)).toEqual([])
    })

    it('skips deliveries that are not due', async () => {
      await givenDelivery(db, url)
      await sql`update delivery set due_at = now() + interval '1 hour'`.execute(db)
      expect(await claimDue(db)).toEqual([])
    })

    it('takes over a lapsed claim as the same attempt', async () => {
      await givenDelivery(db, url)
      const first = await claimOne(db)
      await lapseClaims(db)
      const second = await claimOne(db)
      expect(second).toMatchObject({ id: first.id, attempt: 1 })
      expect(second.claim).not.toBe(first.claim)
    })

    it('keeps at most four deliveries of a workspace in flight to one host with concurrent claims', async () => {
      const workspace = await givenWorkspace(db)
      for (let i = 0; i < 12; i++) await givenDelivery(db, `${url}/${i}`, workspace)
      for (let i = 0; i < 3; i++) await givenDelivery(db, 'https://other.example/', workspace)
      await givenDelivery(db, url)
      const claims = await Promise.all(Array.from({ length: 8 }, () => claimDue(db, { limit: 2 })))
      const hosts = claims.flat().map((each) => `${each.targetHost} ${each.workspaceId === workspace.id}`)
      expect(hosts.sort()).toEqual([
        ...Array(3).fill('other.example:443 true'),
        'receiver.example:443 false',
        ...Array(4).fill('receiver.example:443 true'),
      ])
    })

    it('serves workspaces in turn, those with the fewest in flight first', async () => {
      const busy = await givenWorkspace(db)
      for (let i = 0; i < 30; i++) await givenDelivery(db, `https://h${i}.example/`, busy)
      const quiet = [await givenDelivery(db, url), await givenDelivery(db, url)].map((each) => each.workspaceId)
      const first = await claimDue(db, { limit: 4 })
      expect(first.map((each) => each.workspaceId).sort()).toEqual([busy.id, busy.id, ...quiet].sort())
      const late = await givenDelivery(db, url)
      const second = await claimDue(db, { limit: 1 })
      expect(second.map((each) => each.taskId)).toEqual([late.taskId])
    })

    it('limits deliveries in flight of a workspace over all hosts', async () => {
      const workspace = await givenWorkspace(db)
      for (let i = 0; i < 10; i++) await givenDelivery(db, `https://h${i}.example/`, workspace)
      const options = { perWorkspaceInFlight: 6 }
      expect(await claimDue(db, options)).toHaveLength(6)
      expect(await claimDue(db, options)).toHaveLength(0)
    })

    it('never gives one delivery to two claimers', async () => {
      for (let i = 0; i < 40; i++) await givenDelivery(db, `https://h${i}.example/`)
      const claims = await Promise.all(Array.from({ length: 10 }, () => claimDue(db, { limit: 7 })))
      const ids = claims.flat().map((each) => each.id)
      expect(ids).toHaveLength(40)
      expect(new Set(ids).size).toBe(40)
    })
  })

  describe('recordAttempt', () => {
    it('ends the delivery at the first success', async () => {
      const { taskId } = await givenDelivery(db, url)
      expect(await recordAttempt(db, await claimOne(db), { ...delivered, ...now, policy })).toBe('delivered')
      expect(await readDelivery(db, taskId)).toMatchObject({ status: 'delivered', attempt: 1, claim: null })
      expect(await readAttempts(db, taskId)).toMatchObject([
        { attempt: 1, status_code: 200, error: null, duration_ms: 12, response_body: 'ok' },
      ])
    })

    it('schedules twelve retries exactly 2, 4, 8, 16, 32 and then 60 minutes after the previous attempt', async () => {
      const { taskId } = await givenDelivery(db, url)
      const minutes: number[] = []
      for (let attempt = 1; attempt <= 13; attempt++) {
        const claimed = await claimOne(db)
        expect(claimed.attempt).toBe(attempt)
        const status = await recordAttempt(db, claimed, { ...failed, ...now, policy })
        expect(status).toBe(attempt === 13 ? 'exhausted' : 'pending')
        const { rows } = await sql<{ seconds: number }>`
        select extract(epoch from d.due_at - a.at)::float8 as seconds
          from delivery d join delivery_attempt a on a.delivery_id = d.id and a.attempt = d.attempt`.execute(db)
        if (attempt < 13) minutes.push((rows[0]?.seconds ?? 0) / 60)
        await makeDue(db)
      }
      expect(minutes).toEqual([2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60])
      expect(await claimDue(db)).toEqual([])
      expect(await readAttempts(db, taskId)).toHaveLength(13)
      expect((await readDelivery(db, taskId)).completed_at).not.toBeNull()
    })

    it('counts the delay from the end of the attempt, not from a late record', async () => {
      const { taskId } = await givenDelivery(db, url)
      await recordAttempt(db, await claimOne(db), { ...failed, endedAgoMs: 90_000, policy })
      const { due_at } = await readDelivery(db, taskId)
      const { rows } = await sql<{
        s: number
      }>`select extract(epoch from ${due_at}::timestamptz - now())::float8 as s`.execute(db)
      expect(rows[0]?.s).toBeLessThanOrEqual(30)
      expect(await readDueState(db, 10)).toMatchObject({ waiting: 0 })
    })

    it('writes nothing for a claim that another dispatcher has taken over', async () => {
      const { taskId } = await givenDelivery(db, url)
      const stopped = await claimOne(db)
      await lapseClaims(db)
      const other = await claimOne(db)
      expect(await recordAttempt(db, stopped, { ...failed, ...now, policy })).toBeUndefined()
      expect(await recordAttempt(db, other, { ...delivered, ...now, policy })).toBe('delivered')
      expect(await recordAttempt(db, stopped, { ...failed, ...now, policy })).toBeUndefined()
      expect(await recordAttempt(db, other, { ...delivered, ...now, policy })).toBeUndefined()
      expect(await readAttempts(db, taskId)).toMatchObject([{ attempt: 1, error: null }])
    })

    it('accepts the record of a lapsed claim that no dispatcher has taken over', async () => {
      await givenDelivery(db, url)
      const claimed = await claimOne(db)
      await lapseClaims(db)
      expect(await recordAttempt(db, claimed, { ...delivered, ...now, policy })).toBe('delivered')
      expect(await claimDue(db)).toEqual([])
    })
  })

  it('keeps only the response to the latest attempt', async () => {
    const { taskId } = await givenDelivery(db, url)
    const { taskId: other } = await givenDelivery(db, url)
    for (const responseBody of ['one', 'two', 'three']) {
      await makeDue(db)
      const claimed = await claimDue(db)
      for (const each of claimed) await recordAttempt(db, each, { ...failed, responseBody, ...now, policy })
    }
    for (const each of [taskId, other]) {
      const bodies = (await readAttempts(db, each)).map(({ response_body }) => response_body)
      expect(bodies).toEqual([null, null, 'three'])
    }
  })

  it('releases a claim: due again, attempt not counted', async () => {
    const { taskId } = await givenDelivery(db, url)
    const claimed = await claimOne(db)
    await giveBackDelivery(db, claimed)
    expect(await readDelivery(db, taskId)).toMatchObject({ attempt: 0, claim: null, status: 'pending' })
    expect(await claimOne(db)).toMatchObject({ id: claimed.id, attempt: 1 })
    await giveBackDelivery(db, claimed)
    expect(await readDelivery(db, taskId)).toMatchObject({ attempt: 1 })
  })

  it('cancels undelivered deliveries of earlier runs, in flight or not, and nothing else', async () => {
    const workspace = await givenWorkspace(db)
    const { id: taskId } = await givenTask(db, workspace)
    const common = {
      taskId,
      workspaceId: workspace.id,
      callbackUrl: url,
      reason: 'INTERNAL',
      message: 'No.',
      traceparent: null,
    }
    for (const run of [1, 2, 3]) await createTaskDeliveries(db, { ...common, event: 'task.failed', run })
    const [first] = await claimDue(db, { limit: 1 })
    await cancelTaskDeliveries(db, { taskId, event: 'task.failed', beforeRun: 3 })
    const rows = await db.selectFrom('delivery').select(['run', 'status', 'claim']).orderBy('run').execute()
    expect(rows.map(({ run, status }) => [run, status])).toEqual([
      [1, 'canceled'],
      [2, 'canceled'],
      [3, 'pending'],
    ])
    if (first) expect(await recordAttempt(db, first, { ...failed, ...now, policy })).toBeUndefined()
  })

  it('reports pending deliveries, the age of the oldest, and the next due time', async () => {
    expect(await readDueState(db, 10)).toEqual({ waiting: 0, oldestDueAgeMs: 0, nextDueInMs: null })
    const workspace = await givenWorkspace(db)
    for (let i = 0; i < 5; i++) await givenDelivery(db, `${url}/${i}`, workspace)
    await sql`update delivery set due_at = now() + interval '1 hour' where target_url = ${`${url}/0`}`.execute(db)
    await sql`update delivery set due_at = now() - interval '1 hour' where target_url = ${`${url}/1`}`.execute(db)
    const state = await readDueState(db, 3)
    expect(state.waiting).toBe(3)
    expect(state.oldestDueAgeMs).toBeGreaterThanOrEqual(3_600_000)
    expect(state.nextDueInMs).toBeGreaterThan(3_500_000)
    expect(state.nextDueInMs).toBeLessThanOrEqual(3_600_000)
  })
})
