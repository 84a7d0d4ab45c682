// The end of a run is atomic and happens once: slot, status, history, usage, credit and delivery together.
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { failAttempt, finishTask } from '@matte/core/task/run/finish-task'
import { sweepTasks } from '@matte/core/task/run/sweep-tasks'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import {
  claimNext,
  givenClaimed,
  givenTask,
  givenWorkspace,
  ownModel,
  readHistory,
  readTask,
  success,
} from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'

const callbackUrl = 'http://receiver.example/hook'

describe('the end of a run', () => {
  const database = useDatabase()
  const lotOf = (workspaceId: string) =>
    database.db
      .selectFrom('credit_lot')
      .select(['available', 'held', 'spent'])
      .where('workspace_id', '=', workspaceId)
      .executeTakeFirstOrThrow()
  const workspaceRow = (id: string) =>
    database.db
      .selectFrom('workspace')
      .select(['open_singles', 'open_children', 'queued', 'processing'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
  const idle = { open_singles: 0, open_children: 0, queued: 0, processing: 0 }

  it('success captures the held credit and frees the slot', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 3 })
    const claim = await givenClaimed(db, workspace, { callbackUrl })
    expect(await lotOf(workspace.id)).toEqual({ available: 2, held: 1, spent: 0 })
    const ended = await finishTask(db, claim, success(claim))
    expect(ended).toMatchObject({ status: 'succeeded', width: 1, height: 1, claim: null })
    expect(ended?.completed_at).toBeInstanceOf(Date)
    expect(await lotOf(workspace.id)).toEqual({ available: 2, held: 0, spent: 1 })
    expect(await workspaceRow(workspace.id)).toEqual(idle)
    const [delivery] = await db.selectFrom('delivery').selectAll().where('task_id', '=', claim.id).execute()
    expect(delivery).toMatchObject({ target_url: callbackUrl, target_host: 'receiver.example:80', status: 'pending' })
    expect(JSON.parse(delivery?.body ?? '')).toMatchObject({ event: 'task.succeeded', task_id: claim.id })
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('failure releases the credit, and the event has the reason', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 3 })
    const claim = await givenClaimed(db, workspace, { callbackUrl })
    await failAttempt(db, claim, 'INPUT_UNREADABLE')
    expect(await lotOf(workspace.id)).toEqual({ available: 3, held: 0, spent: 0 })
    expect(await workspaceRow(workspace.id)).toEqual(idle)
    const [delivery] = await db.selectFrom('delivery').select('body').where('task_id', '=', claim.id).execute()
    expect(JSON.parse(delivery?.body ?? '')).toMatchObject({ event: 'task.failed', reason: 'INPUT_UNREADABLE' })
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('cancel releases the credit and sends no webhook', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 3 })
    const task = await givenTask(db, workspace, { callbackUrl, model: ownModel() })
    expect(await cancelTask(db, workspace.id, task.id)).toMatchObject({ status: 'canceled' })
    expect(await lotOf(workspace.id)).toEqual({ available: 3, held: 0, spent: 0 })
    expect(await workspaceRow(workspace.id)).toEqual(idle)
    expect(await db.selectFrom('delivery').select('id').where('task_id', '=', task.id).execute()).toEqual([])
    expect(await readHistory(db, task.id)).toEqual(['queued', 'canceled'])
  })

  it('without a callback there is no delivery', async () => {
    const { db } = database
    const claim = await givenClaimed(db, await givenWorkspace(db))
    await finishTask(db, claim, success(claim))
    expect(await db.selectFrom('delivery').select('id').where('task_id', '=', claim.id).execute()).toEqual([])
  })

  it('happens once with twenty concurrent attempts', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 3 })
    const claim = await givenClaimed(db, workspace, { callbackUrl })
    const endings = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0 ? finishTask(db, claim, success(claim)) : failAttempt(db, claim, 'INPUT_UNREADABLE'),
      ),
    )
    expect(endings.filter((ending) => ending !== undefined && ending !== 'lost')).toHaveLength(1)
    expect(await workspaceRow(workspace.id)).toEqual(idle)
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('has one winner in a race of cancel, claim and sweeper', async () => {
    const { db } = database
    for (let round = 0; round < 10; round++) {
      const workspace = await givenWorkspace(db, { plan: 'pro', credits: 1 })
      const model = ownModel()
      const task = await givenTask(db, workspace, { model, callbackUrl, ageMs: 3_600_000 })
      await Promise.all([
        cancelTask(db, workspace.id, task.id).catch((error: unknown) =>
          expect(error).toMatchObject({ code: 'TASK_CANNOT_CANCEL' }),
        ),
        claimNext(db, [model]).then((claim) => claim && finishTask(db, claim, success(claim))),
        sweepTasks(db, { maxQueueAgeMs: 1_800_000 }),
      ])
      const { status } = await readTask(db, task.id)
      expect(['canceled', 'succeeded', 'failed']).toContain(status)
      expect(await workspaceRow(workspace.id)).toEqual(idle)
    }
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('leaves nothing behind when the transaction fails', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 1 })
    const claim = await givenClaimed(db, workspace, { callbackUrl })
    const before = await readTask(db, claim.id)
    // The last statement fails: a delivery with a rejected body.
    await sql`alter table delivery add constraint broken check (false) not valid`.execute(db)
    await expect(finishTask(db, claim, success(claim))).rejects.toThrow(/broken/)
    await sql`alter table delivery drop constraint broken`.execute(db)
    expect(await readTask(db, claim.id)).toEqual(before)
    expect(await lotOf(workspace.id)).toEqual({ available: 0, held: 1, spent: 0 })
    expect(await finishTask(db, claim, success(claim))).toMatchObject({ status: 'succeeded' })
    expect(await findBrokenRules(db)).toEqual({})
  })
})
