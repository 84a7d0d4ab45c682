// Creating a task: rejections, and atomic acquisition of slot, quota and credit.

import { createTask } from '@matte/core/task/create-task'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import type { TaskRow } from '@matte/core/task/task-queries'
import type { Plan } from '@matte/core/workspace/plan'
import { lockWorkspace } from '@matte/core/workspace/workspace-queries'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import {
  givenTask,
  givenUpload,
  givenWorkspace,
  ownModel,
  readHistory,
  type TestWorkspace,
} from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { memoryBucket } from '../support/memory-bucket.ts'
import { bigJpeg, hugePng, mislabelledPng } from '../support/photos.ts'
import { until } from '../support/until.ts'

describe('createTask', () => {
  const database = useDatabase()

  const create = (
    workspace: TestWorkspace,
    { objectKey, bucket }: Awaited<ReturnType<typeof givenUpload>>,
    plan: Partial<Plan> = {},
  ): Promise<TaskRow> =>
    createTask(database.db, bucket, {
      workspaceId: workspace.id,
      plan: { ...workspace.plan, ...plan },
      imageUrl: objectKey,
      modelVersion: ownModel(),
      callbackUrl: null,
      traceparent: null,
    })
  const countTasks = async ({ id }: TestWorkspace): Promise<number> =>
    (await database.db.selectFrom('task').select('id').where('workspace_id', '=', id).execute()).length

  it('writes a queued row with the current ETag, and its first event', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 1 })
    const upload = await givenUpload(db, workspace.id)
    const task = await create(workspace, upload)
    const { etag, sizeBytes } = await upload.bucket.head(upload.objectKey, 1)
    expect(task).toMatchObject({
      status: 'queued',
      run: 1,
      attempt: 0,
      credit_cost: 1,
      source_key: upload.objectKey,
      source_etag: etag,
      source_size_bytes: sizeBytes,
    })
    expect(await readHistory(db, task.id)).toEqual(['queued'])
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('reports exhausted slots, and never an exhausted quota, while slots come and go', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'internal' })
    const upload = await givenUpload(db, workspace.id)
    const codes = new Set<string>()
    const comeAndGo = async (): Promise<void> => {
      for (let round = 0; round < 40; round++) {
        try {
          const { id } = await create(workspace, upload, { concurrentTasks: 2, monthlyQuota: 1_000_000 })
          await cancelTask(db, workspace.id, id)
        } catch (error) {
          codes.add((error as { code: string }).code)
        }
      }
    }
    await Promise.all(Array.from({ length: 10 }, comeAndGo))
    expect([...codes]).toEqual(['TASK_CONCURRENT_LIMIT'])
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('admits three of fifty concurrent tasks on a plan of three, and the next when one has ended', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'business', credits: 100 })
    const uploads = await Promise.all(Array.from({ length: 50 }, () => givenUpload(db, workspace.id)))
    const outcomes = await Promise.allSettled(uploads.map((upload) => create(workspace, upload)))
    const accepted = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    expect(accepted).toHaveLength(3)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'TASK_CONCURRENT_LIMIT' })
    }
    expect(await countTasks(workspace)).toBe(3)
    const [first] = accepted
    if (first) await cancelTask(db, workspace.id, first.id)
    await create(workspace, await givenUpload(db, workspace.id))
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('holds one credit per task and rejects a task without one', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'enterprise', credits: 2 })
    const uploads = await Promise.all(Array.from({ length: 4 }, () => givenUpload(db, workspace.id)))
    const outcomes = await Promise.allSettled(uploads.map((upload) => create(workspace, upload)))
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
    expect(refused).toHaveLength(2)
    for (const reason of refused) {
      expect(reason).toMatchObject({ code: 'CREDITS_INSUFFICIENT', details: { required: 1, available: 0 } })
    }
    expect(await countTasks(workspace)).toBe(2)
    expect(await findBrokenRules(db)).toEqual({})
  })

  it('holds nothing on a plan without charges', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const task = await create(workspace, await givenUpload(db, workspace.id))
    expect(task.credit_cost).toBe(1)
    expect(await db.selectFrom('credit_hold').select('state').where('task_id', '=', task.id).execute()).toEqual([])
  })

  it('rejects tasks beyond the month’s quota with its end, and counts again in the next month', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    await create(workspace, await givenUpload(db, workspace.id), { monthlyQuota: 1 })
    const second = create(workspace, await givenUpload(db, workspace.id), { monthlyQuota: 1 })
    await expect(second).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
      details: { limit: 1, resetsAt: expect.stringMatching(/^\d{4}-\d\d-01T00:00:00\.000Z$/) },
    })
    await sql`update workspace set quota_month = quota_month - interval '1 month' where id = ${workspace.id}`.execute(
      db,
    )
    await create(workspace, await givenUpload(db, workspace.id), { monthlyQuota: 1 })
    const row = await db.selectFrom('workspace').select('quota_used').where('id', '=', workspace.id).execute()
    expect(row).toEqual([{ quota_used: 1 }])
  })

  it('reports concurrency before quota when both are exhausted', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    await givenTask(db, workspace)
    const limits = { monthlyQuota: 1, concurrentTasks: 1 }
    await expect(create(workspace, await givenUpload(db, workspace.id), limits)).rejects.toMatchObject({
      code: 'TASK_CONCURRENT_LIMIT',
    })
  })

  it('rejects an object that is no upload of this workspace, with the same message for every reason', async () => {
    const { db } = database
    const [workspace, other] = [await givenWorkspace(db), await givenWorkspace(db)]
    const foreign = await givenUpload(db, other.id)
    const unused = { ...(await givenUpload(db, workspace.id)), bucket: memoryBucket() }
    const unknown = { ...foreign, objectKey: 'private-uploads/2026/01/unknown.png' }
    const deleted = await givenUpload(db, workspace.id)
    await sql`update upload set deleted_at = now() where object_key = ${deleted.objectKey}`.execute(db)
    const messages = new Set<string>()
    for (const upload of [foreign, unused, unknown, deleted]) {
      const error = await create(workspace, upload).catch((reason: Error) => reason)
      expect(error).toMatchObject({ code: 'TASK_INPUT_FORBIDDEN', details: {} })
      if (error instanceof Error) messages.add(error.message)
    }
    expect(messages.size).toBe(1)
  })

  // Without and with credits.
  it.each(['internal', 'free'])(
    'rejects an upload that expires during inspection, and takes no slot: plan %s',
    async (plan) => {
      const { db } = database
      const workspace = await givenWorkspace(db, { plan, credits: 1 })
      const { objectKey, bucket } = await givenUpload(db, workspace.id)
      const sweptMeanwhile = {
        ...bucket,
        head: async (key: string, firstBytes: number) => {
          await sql`update upload set deleted_at = now() where object_key = ${key}`.execute(db)
          return bucket.head(key, firstBytes)
        },
      }
      await expect(create(workspace, { objectKey, bucket: sweptMeanwhile })).rejects.toMatchObject({
        code: 'TASK_INPUT_FORBIDDEN',
      })
      const counters = db.selectFrom('workspace').select(['open_singles', 'queued', 'quota_used'])
      const left = await counters.where('id', '=', workspace.id).executeTakeFirst()
      expect(left).toEqual({ open_singles: 0, queued: 0, quota_used: 0 })
      expect(await findBrokenRules(db)).toEqual({})
    },
  )

  it.each([
    ['an empty object', Buffer.alloc(0), 'TASK_FORMAT_NOT_SUPPORTED', {}],
    ['text that calls itself a PNG', mislabelledPng, 'TASK_FORMAT_NOT_SUPPORTED', {}],
    ['thirty thousand pixels square', hugePng(), 'TASK_FILE_SIZE_EXCEEDED', { limit: 'pixels' }],
  ])('rejects %s', async (_, body, code, details) => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const upload = await givenUpload(db, workspace.id, memoryBucket(), body)
    await expect(create(workspace, upload)).rejects.toMatchObject({ code, details })
    expect(await countTasks(workspace)).toBe(0)
  })

  it('reads a JPEG whose size follows 60,000 bytes of metadata', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const body = bigJpeg(60_000)
    const upload = await givenUpload(db, workspace.id, memoryBucket(), body)
    await expect(create(workspace, upload)).rejects.toMatchObject({
      code: 'TASK_FILE_SIZE_EXCEEDED',
      details: { limit: 'pixels', pixels: 900_000_000 },
    })
  })

  it('holds the credits that are left when it gets the lock of the workspace', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 1 })
    const upload = await givenUpload(db, workspace.id)
    const spend = await db.startTransaction().execute()
    await lockWorkspace(spend, workspace.id)
    const creating = create(workspace, upload)
    await until('the creation waits', async () => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
      return rows.length > 0
    })
    // It sees this after it has begun, with a credit.
    const moved = sql`update credit_lot set available = 0, spent = 1 where workspace_id = ${workspace.id}`
    await moved.execute(spend)
    await spend.commit().execute()
    await expect(creating).rejects.toMatchObject({
      code: 'CREDITS_INSUFFICIENT',
      details: { required: 1, available: 0 },
    })
    expect(await countTasks(workspace)).toBe(0)
  })

  it('accepts a file of exactly the maximum size, and rejects one byte more', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const upload = await givenUpload(db, workspace.id)
    const { sizeBytes } = await upload.bucket.head(upload.objectKey, 1)
    await expect(create(workspace, upload, { maxFileSizeBytes: sizeBytes - 1 })).rejects.toMatchObject({
      code: 'TASK_FILE_SIZE_EXCEEDED',
      details: { limit: 'bytes' },
    })
    await create(workspace, upload, { maxFileSizeBytes: sizeBytes })
  })
})
