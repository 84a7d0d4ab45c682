// Sources of the API's gauges: queue, held credits, retention, and invariants. Tests break invariants by hand, because
// no production code can.
import type { Db } from '@matte/core/db/database'
import { boundedRead } from '@matte/core/sample/bounded-read'
import { readHeldCredits } from '@matte/core/sample/held-credits'
import { findViolations, type InvariantName, invariantNames } from '@matte/core/sample/invariants'
import { readRetentionLag, readTaskRetentionLag } from '@matte/core/sample/retention-lag'
import { readWaitingTasks } from '@matte/core/sample/waiting-tasks'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { giveBackClaim } from '@matte/core/task/run/claim-task'
import { failAttempt, finishTask } from '@matte/core/task/run/finish-task'
import { recordAttempt } from '@matte/core/webhook/end-attempt'
import { defaultPlans } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { claimOne, givenDelivery } from '../dispatcher/given.ts'
import { useDatabase } from '../support/database.ts'
import {
  givenBatch,
  givenClaimed,
  givenTask,
  givenUpload,
  givenWorkspace,
  lapseClaim,
  ownModel,
  success,
} from '../support/factories.ts'

const minuteMs = 60_000

describe('the samples', () => {
  const database = useDatabase()
  let db: Db
  let model: string
  beforeEach(async () => {
    db = database.db
    // The ledger rejects deletions, so broken rows of a test are hidden from the next one.
    await sql`alter table credit_entry disable trigger all`.execute(db)
    await sql`truncate workspace, object_deletion cascade`.execute(db)
    await sql`alter table credit_entry enable trigger all`.execute(db)
    model = ownModel()
    await sql`insert into model (name, pool, triton_model) values (${model}, 'p', 'm')`.execute(db)
  })

  async function waiting(of = model): Promise<{ waiting: number; minutes: number }> {
    const found = (await readWaitingTasks(db, defaultPlans)).find(({ modelVersion }) => modelVersion === of)
    if (found === undefined) throw new Error(`${of} is not shown`)
    return { waiting: found.waiting, minutes: Math.floor(found.oldestSeconds / 60) }
  }

  it('a sample ends after seconds and restores the connection', async () => {
    const nap = boundedRead(db, (on) => sql`select pg_sleep(60)`.execute(on))
    await expect(nap).rejects.toThrow('statement timeout')
    const { rows } = await sql<{ statement_timeout: string }>`show statement_timeout`.execute(db)
    expect(rows[0]?.statement_timeout).not.toBe('5s')
  })

  describe('the queue', () => {
    it('shows every installed model, and the default one, also when empty', async () => {
      expect(await waiting()).toEqual({ waiting: 0, minutes: 0 })
      await sql`delete from model where name = 'service-v2'`.execute(db)
      expect(await waiting('service-v2')).toEqual({ waiting: 0, minutes: 0 })
    })

    it('has the age of the oldest single task or child, per model', async () => {
      const workspace = await givenWorkspace(db)
      await givenTask(db, workspace, { model, ageMs: 5 * minuteMs })
      await givenTask(db, workspace, { model, ageMs: minuteMs })
      await givenTask(db, workspace, { model: ownModel(), ageMs: 9 * minuteMs })
      expect(await waiting()).toEqual({ waiting: 2, minutes: 5 })
      await givenTask(db, await givenWorkspace(db), { model, child: true, ageMs: 7 * minuteMs })
      expect(await waiting()).toEqual({ waiting: 3, minutes: 7 })
    })

    it('counts tasks over the limit of their workspace without an age', async () => {
      const { concurrentTasks } = defaultPlans.pro ?? { concurrentTasks: 0 }
      const workspace = await givenWorkspace(db, { plan: 'pro', credits: 100 })
      const { tasks } = await givenBatch(db, workspace, { size: concurrentTasks + 3, model })
      await sql`update task set queued_at = now() - interval '8 min' where model_version = ${model}`.execute(db)
      expect(await waiting()).toEqual({ waiting: tasks.length, minutes: 8 })
      for (let i = 0; i < concurrentTasks; i++) {
        const { rows } = await sql<{ id: string }>`
            select id from task where model_version = ${model} and status = 'queued' limit 1`.execute(db)
        await begin(rows[0]?.id ?? '')
      }
      expect(await waiting()).toEqual({ waiting: 3, minutes: 0 })
    })

    it('includes tasks of dead workers and, once due, those waiting for their next attempt', async () => {
      const task = await givenClaimed(db, await givenWorkspace(db), { model })
      expect(await waiting()).toEqual({ waiting: 0, minutes: 0 })
      await lapseClaim(db, task)
      await sql`update task set due_at = now() - interval '9 min', claimed_until = now() - interval '4 min'
                   where id = ${task.id}`.execute(db)
      expect(await waiting()).toEqual({ waiting: 1, minutes: 4 })
      const other = await givenClaimed(db, await givenWorkspace(db), { model: ownModel() })
      await giveBackClaim(db, other, minuteMs)
      expect(await waiting(other.modelVersion).catch(() => 'not installed')).toBe('not installed')
      await sql`update task set claimed_until = now() + interval '1 min' where id = ${task.id}`.execute(db)
      expect(await waiting()).toEqual({ waiting: 0, minutes: 0 })
    })

    /** As if a worker had claimed it, including the counts of its workspace. */
    const begin = (id: string) =>
      sql`
        with moved as (
          update task set status = 'processing', claim = gen_random_uuid(), claimed_until = now() + interval '1 h',
                 started_at = now() where id = ${id} returning workspace_id)
        update workspace set queued = queued - 1, processing = processing + 1
         where id = (select workspace_id from moved)`.execute(db)
  })

  it('sums the credits of open tasks only', async () => {
    const before = await readHeldCredits(db)
    const workspace = await givenWorkspace(db, { plan: 'enterprise', credits: 10 })
    const claimed = await givenClaimed(db, workspace)
    const task = await givenTask(db, workspace)
    expect((await readHeldCredits(db)) - before).toBe(2)
    await cancelTask(db, workspace.id, task.id)
    await finishTask(db, claimed, success(claimed))
    expect(await readHeldCredits(db)).toBe(before)
  })

  describe('the lag of retention', () => {
    const lag = async (): Promise<Record<string, number>> => {
      const all = [...(await readRetentionLag(db)), ...(await readTaskRetentionLag(db, defaultPlans))]
      return Object.fromEntries(all.map(({ what, seconds }) => [what, Math.round(seconds / 3_600)]))
    }

    it('is how long the oldest of each kind has been due, and 0 before', async () => {
      const workspace = await givenWorkspace(db, { plan: 'pro', credits: 5 })
      await givenUpload(db, workspace.id)
      const claimed = await givenClaimed(db, workspace)
      await finishTask(db, claimed, success(claimed))
      await sql`insert into object_deletion values ('ahead', now() + interval '1 h')`.execute(db)
      expect(await lag()).toEqual({ uploads: 0, objects: 0, credits: 0, tasks: 0 })
      const days = defaultPlans.pro?.retentionDays ?? 0
      await sql`update task set completed_at = now() - ${days} * interval '1 day' - interval '4 h'
                   where id = ${claimed.id}`.execute(db)
      await sql`update upload set created_at = now() - interval '26 h' where used_at is null`.execute(db)
      await sql`insert into object_deletion values ('due', now() - interval '3 h')`.execute(db)
      await sql`
          update credit_lot set expires_at = now() - interval '5 h' where workspace_id = ${workspace.id}`.execute(db)
      expect(await lag()).toEqual({ uploads: 2, objects: 3, credits: 5, tasks: 4 })
    })
  })

  describe('the invariants', () => {
    const broken = async (): Promise<Partial<Record<InvariantName, string[]>>> => {
      const all = await Promise.all(invariantNames.map(async (name) => [name, await findViolations(db, name)] as const))
      return Object.fromEntries(all.filter(([, ids]) => ids.length > 0))
    }

    /** Tasks with every outcome, with credits and a delivered webhook. */
    async function givenHistory() {
      const workspace = await givenWorkspace(db, { plan: 'enterprise', credits: 20 })
      const done = await givenClaimed(db, workspace)
      await finishTask(db, done, success(done))
      const failed = await givenClaimed(db, workspace)
      await failAttempt(db, failed, 'INPUT_UNREADABLE')
      const canceled = await givenTask(db, workspace)
      await cancelTask(db, workspace.id, canceled.id)
      const open = await givenClaimed(db, workspace)
      await givenBatch(db, workspace, { size: 2 })
      await givenDelivery(db, 'http://127.0.0.1:1/', await givenWorkspace(db))
      const delivery = await claimOne(db)
      const policy = { retryUnitMs: 1_000, maxRetries: 3 }
      const answer = { statusCode: 200, durationMs: 1, responseBody: null, endedAgoMs: 0, error: null, policy }
      await recordAttempt(db, delivery, answer)
      return { workspaceId: workspace.id, done, failed, open, delivery }
    }

    it('hold for tasks with every outcome', async () => {
      await givenHistory()
      expect(await broken()).toEqual({})
    })

    it('find a lot that differs from the sum of its entries', async () => {
      const { workspaceId } = await givenHistory()
      const change = (by: number) =>
        sql<{ id: string }>`
          update credit_lot set available = available - ${by}, spent = spent + ${by}
           where workspace_id = ${workspaceId} returning id`.execute(db)
      const { rows } = await change(1)
      expect(await broken()).toEqual({ ledger_balance: rows.map(({ id }) => id) })
      await change(-1)
      expect(await broken()).toEqual({})
    })

    it('find a hold that ended twice, and a task charged for two runs', async () => {
      const { workspaceId, done, failed } = await givenHistory()
      // The lot is correct afterwards, so only this rule is broken.
      const charge = (taskId: string, run: number) =>
        sql`
          with lot as (
            update credit_lot set available = available - 1, spent = spent + 1
             where workspace_id = ${workspaceId} returning id
          ), hold as (
            insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount)
            select ${workspaceId}::uuid, id, 'available', 'held', 1 from lot)
          insert into credit_entry (workspace_id, lot_id, task_id, run, from_account, to_account, amount)
          select ${workspaceId}::uuid, id, ${taskId}::uuid, ${run}::int, 'held', 'spent', 1 from lot`.execute(db)
      await charge(failed.id, 1)
      expect(await broken()).toEqual({ charged_twice: [failed.id] })
      await charge(done.id, 2)
      expect(
        Object.values(await broken())
          .flat()
          .sort(),
      ).toEqual([done.id, failed.id].sort())
    })

    it('find held credits of an ended task, and those that its end released', async () => {
      const { done, failed, open } = await givenHistory()
      const set = (id: string, state: string) =>
        sql`update credit_hold set state = ${state} where task_id = ${id}`.execute(db)
      await set(failed.id, 'open')
      expect(await broken()).toEqual({ ended_unsettled: [failed.id] })
      await set(failed.id, 'released')
      await set(done.id, 'released')
      expect(await broken()).toEqual({ ended_unsettled: [done.id] })
      await set(done.id, 'captured')
      await set(open.id, 'open')
      expect(await broken()).toEqual({})
    })

    it('find a delivery that was created again after its success', async () => {
      const { delivery } = await givenHistory()
      const attempt = (number: number, error: string | null) =>
        sql`
          insert into delivery_attempt (delivery_id, attempt, duration_ms, error)
          values (${delivery.id}, ${number}, 1, ${error})`.execute(db)
      await attempt(2, 'STATUS')
      expect(await broken()).toEqual({})
      await attempt(3, null)
      expect(await broken()).toEqual({ delivered_twice: [delivery.id] })
      await sql`delete from delivery_attempt where attempt > 1`.execute(db)
    })

    it('find a workspace that counts one task too many', async () => {
      const { workspaceId } = await givenHistory()
      const change = (by: number) =>
        sql`
          update workspace set processing = processing + ${by}, open_singles = open_singles + ${by}
           where id = ${workspaceId}`.execute(db)
      await change(1)
      expect(await broken()).toEqual({ task_counts: [workspaceId] })
      await change(-1)
      expect(await broken()).toEqual({})
    })
  })
})
