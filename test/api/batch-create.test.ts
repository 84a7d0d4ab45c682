import { createBatch } from '@matte/core/batch/create-batch'
import { grantCredits } from '@matte/core/credit/lot-queries'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { StorageError } from '@matte/core/storage/storage-error'
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import type { Client, Task } from '../support/client.ts'
import { claimNext, gateOf, givenUpload, givenWorkspace, ownModel } from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { memoryBucket } from '../support/memory-bucket.ts'
import { until } from '../support/until.ts'
import { hugePng, smallImage, useApi } from './given.ts'

const world = useApi({ WEBHOOK_DENIED_NETWORKS: '203.0.113.0/24' })

type Batch = { id: string; status: string; totalCount: number; tasks: Task[] }

const createBatchBy = async (client: Client, body: Record<string, unknown>): Promise<Batch> =>
  (await client.call<Batch>('POST', '/batch-tasks', { body })).data

async function upload(client: Client, count: number): Promise<string[]> {
  const bytes = await smallImage()
  return Promise.all(Array.from({ length: count }, () => client.upload(bytes)))
}

const workspaceRow = (id: string) =>
  world.db
    .selectFrom('workspace')
    .select(['open_singles', 'open_children', 'queued', 'quota_used'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
const nothingTaken = { open_singles: 0, open_children: 0, queued: 0, quota_used: 0 }
const lotOf = (workspaceId: string) =>
  world.db
    .selectFrom('credit_lot')
    .select(['available', 'held'])
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow()

describe('POST /open/developer/batch-tasks', () => {
  it('returns 201 with the batch and its tasks in request order, each with its cost', async () => {
    const { client, workspaceId } = await world.caller({ plan: 'business' })
    const imageUrls = await upload(client, 12)
    const callbackUrl = 'https://1.1.1.1/hook'
    const { status, data } = await client.call<Batch>('POST', '/batch-tasks', { body: { imageUrls, callbackUrl } })
    expect(status).toBe(201)
    const { tasks, ...batch } = data
    expect(batch).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: 'processing',
      totalCount: 12,
      succeededCount: 0,
      failedCount: 0,
      canceledCount: 0,
      modelVersion: 'service-v2',
      callbackUrl,
      createdAt: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
      completedAt: null,
    })
    expect(tasks.map(({ sourceUrl }) => sourceUrl)).toEqual(imageUrls)
    for (const task of tasks) {
      expect(task).toMatchObject({ status: 'queued', batchId: data.id, callbackUrl, creditCost: 1, retryCount: 0 })
    }
    expect(await workspaceRow(workspaceId)).toEqual({ open_singles: 0, open_children: 12, queued: 12, quota_used: 12 })
    expect(await lotOf(workspaceId)).toEqual({ available: 88, held: 12 })
    expect(await findBrokenRules(world.db)).toEqual({})
  })

  it('begins its tasks in request order', async () => {
    const workspace = await givenWorkspace(world.db)
    const bucket = memoryBucket()
    const uploads = await Promise.all(Array.from({ length: 8 }, () => givenUpload(world.db, workspace.id, bucket)))
    const model = ownModel()
    const { tasks } = await createBatch(world.db, bucket, {
      workspaceId: workspace.id,
      plan: workspace.plan,
      imageUrls: uploads.map(({ objectKey }) => objectKey),
      modelVersion: model,
      callbackUrl: null,
      traceparent: null,
      gate: gateOf(2),
    })
    const begun: (string | undefined)[] = []
    for (const _ of tasks) begun.push((await claimNext(world.db, [model]))?.sourceKey)
    expect(begun).toEqual(uploads.map(({ objectKey }) => objectKey))
  })

  it('takes one object several times, and no slots of single tasks', async () => {
    const { client } = await world.caller({ plan: 'pro' })
    const [imageUrl = ''] = await upload(client, 1)
    const { tasks } = await createBatchBy(client, { imageUrls: [imageUrl, imageUrl, imageUrl], modelVersion: null })
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(3)
    expect((await client.createTask({ imageUrl })).status).toBe('queued')
    expect((await client.createTask({ imageUrl })).status).toBe('queued')
    await expect(client.createTask({ imageUrl })).rejects.toMatchObject({ code: 'TASK_CONCURRENT_LIMIT' })
  })

  it('holds nothing on the internal plan, and accepts as many as its limit', async () => {
    const { client, workspaceId } = await world.caller({ plan: 'internal', credits: 5 })
    const [imageUrl = ''] = await upload(client, 1)
    const { totalCount } = await createBatchBy(client, { imageUrls: Array.from({ length: 1_000 }, () => imageUrl) })
    expect(totalCount).toBe(1_000)
    expect(await lotOf(workspaceId)).toEqual({ available: 5, held: 0 })
  })

  it('spends several lots in order, one hold per child', async () => {
    const { client, workspaceId } = await world.caller({ plan: 'business', credits: 2 })
    await grantCredits(world.db, { workspaceId, kind: 'test', amount: 3, priority: 10 })
    await grantCredits(world.db, { workspaceId, kind: 'test', amount: 4, priority: 90 })
    await createBatchBy(client, { imageUrls: await upload(client, 7) })
    const lots = await world.db
      .selectFrom('credit_lot')
      .select(['priority', 'available', 'held'])
      .where('workspace_id', '=', workspaceId)
      .orderBy('priority')
      .execute()
    expect(lots.map(({ available, held }) => [available, held])).toEqual([
      [0, 3],
      [0, 2],
      [2, 2],
    ])
    const { rows } = await sql<{ holds: number; tasks: number }>`
      select count(*)::int as holds, count(distinct task_id)::int as tasks from credit_hold h
        join task t on t.id = h.task_id where t.workspace_id = ${workspaceId}`.execute(world.db)
    expect(rows).toEqual([{ holds: 7, tasks: 7 }])
  })

  it('makes one batch of two requests with one Idempotency-Key', async () => {
    const { client } = await world.caller()
    const body = { imageUrls: await upload(client, 2) }
    const headers = { 'idempotency-key': 'batch-1' }
    const first = await client.call<Batch>('POST', '/batch-tasks', { body, headers })
    const second = await client.call<Batch>('POST', '/batch-tasks', { body, headers })
    expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
    expect(second.data).toEqual(first.data)
    expect((await client.listTasks()).total).toBe(2)
  })

  it('gives every child the requested output', async () => {
    const { client } = await world.caller()
    const { tasks } = await createBatchBy(client, { imageUrls: await upload(client, 2), output: { format: 'webp' } })
    const rows = await world.db
      .selectFrom('task')
      .select('output')
      .where(
        'id',
        'in',
        tasks.map(({ id }) => id),
      )
      .execute()
    expect(rows.map(({ output }) => output?.format)).toEqual(['webp', 'webp'])
    const refused = createBatchBy(client, { imageUrls: await upload(client, 1), output: { format: 'tiff' } })
    await expect(refused).rejects.toMatchObject({ status: 400, code: 'TASK_OUTPUT_FORMAT_NOT_SUPPORTED' })
  })
})

describe('an invalid batch body', () => {
  it.each([
    [undefined, '/body/imageUrls'],
    [[], '/body/imageUrls'],
    ['one.png', '/body/imageUrls'],
    [[5], '/body/imageUrls/0'],
    [['a.png', null], '/body/imageUrls/1'],
  ])('imageUrls %j is INVALID_PARAMS', async (imageUrls, path) => {
    const { client } = await world.caller()
    const refused = { status: 400, code: 'INVALID_PARAMS', details: { issues: [{ path }] } }
    await expect(createBatchBy(client, { imageUrls })).rejects.toMatchObject(refused)
  })

  it('reports an invalid model and callback together with malformed images', async () => {
    const { client } = await world.caller()
    const wrong = { imageUrls: ['a.png', ''], modelVersion: 'v99', callbackUrl: 'http://203.0.113.7/hook' }
    const error = (await createBatchBy(client, wrong).catch((error: unknown) => error)) as {
      code: string
      details: { issues: { path: string }[]; items: unknown[] }
    }
    expect(error.code).toBe('INVALID_PARAMS')
    expect(error.details.issues.map(({ path }) => path)).toEqual([
      '/body/modelVersion',
      '/body/callbackUrl',
      '/body/imageUrls/1',
    ])
    expect(error.details.items).toEqual([{ index: 1, imageUrl: '', code: 'INVALID_PARAMS' }])
  })
})

describe('invalid images', () => {
  it('reject the whole batch with the code of the first, and are all listed', async () => {
    const { client, workspaceId } = await world.caller({ plan: 'business' })
    const other = await world.caller()
    const [good = ''] = await upload(client, 1)
    const [foreign = ''] = await upload(other.client, 1)
    const text = await client.upload(Buffer.from('<html></html>'))
    const huge = await client.upload(hugePng(30_000))
    const { objectKey: unused } = await client.presign({ fileName: 'a.png', contentType: 'image/png' })
    const imageUrls = [good, huge, foreign, good, text, 'https://example.com/a.png', unused, 'nul\0byte', '']
    await expect(createBatchBy(client, { imageUrls })).rejects.toMatchObject({
      status: 400,
      code: 'TASK_FILE_SIZE_EXCEEDED',
      details: {
        limit: 'pixels',
        issues: [{ path: '/body/imageUrls/5' }, { path: '/body/imageUrls/8' }],
        items: [
          { index: 1, imageUrl: huge, code: 'TASK_FILE_SIZE_EXCEEDED' },
          { index: 2, imageUrl: foreign, code: 'TASK_INPUT_FORBIDDEN' },
          { index: 4, imageUrl: text, code: 'TASK_FORMAT_NOT_SUPPORTED' },
          { index: 5, imageUrl: 'https://example.com/a.png', code: 'INVALID_PARAMS' },
          { index: 6, imageUrl: unused, code: 'TASK_INPUT_FORBIDDEN' },
          { index: 7, imageUrl: 'nul\0byte', code: 'TASK_INPUT_FORBIDDEN' },
          { index: 8, imageUrl: '', code: 'INVALID_PARAMS' },
        ],
      },
    })
    expect((await client.listTasks()).total).toBe(0)
    expect(await workspaceRow(workspaceId)).toEqual(nothingTaken)
    expect(await lotOf(workspaceId)).toEqual({ available: 100, held: 0 })
  })

  it.each([
    ['unknown.png', 403, 'TASK_INPUT_FORBIDDEN'],
    ['https://example.com/a.png', 400, 'INVALID_PARAMS'],
  ])('%j alone returns %i %s', async (imageUrl, status, code) => {
    const { client } = await world.caller()
    const items = [{ index: 0, imageUrl, code }]
    const refused = createBatchBy(client, { imageUrls: [imageUrl] })
    await expect(refused).rejects.toMatchObject({ status, code, details: { items } })
  })

  it('that expire during inspection are listed too, and nothing is created', async () => {
    const workspace = await givenWorkspace(world.db)
    const bucket = memoryBucket()
    const uploads = [
      await givenUpload(world.db, workspace.id, bucket),
      await givenUpload(world.db, workspace.id, bucket),
    ]
    const imageUrls = uploads.map(({ objectKey }) => objectKey)
    const swept = {
      ...bucket,
      head: async (key: string, firstBytes: number) => {
        await sql`update upload set deleted_at = now() where object_key = ${key} and object_key = ${imageUrls[1]}`.execute(
          world.db,
        )
        return bucket.head(key, firstBytes)
      },
    }
    const made = createBatch(world.db, swept, {
      workspaceId: workspace.id,
      plan: workspace.plan,
      imageUrls,
      modelVersion: 'service-v2',
      callbackUrl: null,
      traceparent: null,
      gate: gateOf(2),
    })
    const items = [{ index: 1, imageUrl: imageUrls[1], code: 'TASK_INPUT_FORBIDDEN' }]
    await expect(made).rejects.toMatchObject({ code: 'TASK_INPUT_FORBIDDEN', details: { items } })
    expect(await workspaceRow(workspace.id)).toEqual(nothingTaken)
  })

  it('are inspected a few at a time, each object once', async () => {
    const workspace = await givenWorkspace(world.db)
    const bucket = memoryBucket()
    const uploads = await Promise.all(Array.from({ length: 20 }, () => givenUpload(world.db, workspace.id, bucket)))
    const keys = uploads.map(({ objectKey }) => objectKey)
    const seen: string[] = []
    let [now, most] = [0, 0]
    const watched = {
      ...bucket,
      head: async (key: string, firstBytes: number) => {
        now += 1
        most = Math.max(most, now)
        seen.push(key)
        await new Promise((resolve) => setImmediate(resolve))
        now -= 1
        return bucket.head(key, firstBytes)
      },
    }
    const gate = gateOf(5)
    const make = () =>
      createBatch(world.db, watched, {
        workspaceId: workspace.id,
        plan: workspace.plan,
        imageUrls: [...keys, ...keys],
        modelVersion: ownModel(),
        callbackUrl: null,
        traceparent: null,
        gate,
      })
    await make()
    expect(seen.toSorted()).toEqual(keys.toSorted())
    await Promise.all([make(), make(), make()])
    expect(most).toBe(5)
  })

  it('stop with TASK_STORAGE_UNAVAILABLE at the first one without a response of the store', async () => {
    const workspace = await givenWorkspace(world.db)
    const bucket = memoryBucket()
    const uploads = await Promise.all(Array.from({ length: 50 }, () => givenUpload(world.db, workspace.id, bucket)))
    let looks = 0
    const down = {
      ...bucket,
      head: async (key: string, firstBytes: number) => {
        looks += 1
        if (looks === 1) throw new StorageError('unavailable', 'no answer')
        await new Promise((resolve) => setImmediate(resolve))
        return bucket.head(key, firstBytes)
      },
    }
    const gate = gateOf(1)
    const made = createBatch(world.db, down, {
      workspaceId: workspace.id,
      plan: workspace.plan,
      imageUrls: ['', ...uploads.map(({ objectKey }) => objectKey)],
      modelVersion: 'service-v2',
      callbackUrl: null,
      traceparent: null,
      gate,
    })
    await expect(made).rejects.toMatchObject({ code: 'TASK_STORAGE_UNAVAILABLE' })
    // The gate admits one at a time, in order, so every remaining one has had its turn.
    for (let turn = 0; turn < 60; turn++) await gate.run(async () => undefined)
    expect(looks).toBeLessThanOrEqual(8)
  })
})

describe('batch limits', () => {
  it('reject more images than the plan allows before any inspection', async () => {
    const { client } = await world.caller({ plan: 'pro' })
    const imageUrls = Array.from({ length: 6 }, (_, index) => `unknown-${index}.png`)
    await expect(createBatchBy(client, { imageUrls })).rejects.toMatchObject({
      status: 400,
      code: 'TASK_BATCH_SIZE_EXCEEDED',
      details: { limit: 5, size: 6 },
    })
  })

  it('check validation before size', async () => {
    const { client } = await world.caller({ plan: 'pro' })
    const imageUrls = ['a', 'b', 'c', 'd', 'e', 'https://example.com/']
    await expect(createBatchBy(client, { imageUrls })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      details: { items: [{ index: 5, imageUrl: 'https://example.com/', code: 'INVALID_PARAMS' }] },
    })
  })

  it('allow four full batches open at once, and the next when children have ended', async () => {
    const { client, workspaceId } = await world.caller({ plan: 'pro' })
    const [imageUrl = ''] = await upload(client, 1)
    const imageUrls = Array.from({ length: 5 }, () => imageUrl)
    for (let index = 0; index < 3; index++) await createBatchBy(client, { imageUrls })
    const last = await createBatchBy(client, { imageUrls })
    await expect(createBatchBy(client, { imageUrls: [imageUrl] })).rejects.toMatchObject({
      status: 400,
      code: 'TASK_CONCURRENT_LIMIT',
      details: { limit: 20, open: 20, size: 1 },
    })
    await client.cancelTask(last.tasks[0]?.id ?? '')
    await createBatchBy(client, { imageUrls: [imageUrl] })
    expect(await workspaceRow(workspaceId)).toMatchObject({ open_children: 20 })
  })

  it('hold exactly with fifty concurrent creators, in children, quota and credits', async () => {
    const { client, workspaceId } = await world.caller({ plan: 'pro', credits: 17 })
    const [imageUrl = ''] = await upload(client, 1)
    await world.db.updateTable('workspace').set({ quota_used: 983 }).where('id', '=', workspaceId).execute()
    const imageUrls = [imageUrl, imageUrl, imageUrl]
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => createBatchBy(client, { imageUrls })))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') continue
      // Five batches are 15 children: a sixth exceeds 20 children, the quota of 1,000 or 17 credits.
      expect(outcome.reason).toMatchObject({ status: 429, code: 'DEVELOPER_API_QUOTA_EXCEEDED', details: { size: 3 } })
    }
    expect(await workspaceRow(workspaceId)).toMatchObject({ open_children: 15, queued: 15, quota_used: 998 })
    expect(await lotOf(workspaceId)).toEqual({ available: 2, held: 15 })
    expect(await findBrokenRules(world.db)).toEqual({})
  })

  it('let fifty creators fill the open children exactly', async () => {
    const { client, workspaceId } = await world.caller({ plan: 'pro', credits: 1_000 })
    const [imageUrl = ''] = await upload(client, 1)
    const imageUrls = [imageUrl, imageUrl]
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => createBatchBy(client, { imageUrls })))
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
    expect(refused).toHaveLength(40)
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'TASK_CONCURRENT_LIMIT' })
    expect(await workspaceRow(workspaceId)).toMatchObject({ open_children: 20, quota_used: 20 })
    expect(await findBrokenRules(world.db)).toEqual({})
  })

  it('reject a whole batch that the credits do not cover, and take nothing', async () => {
    const { client, workspaceId } = await world.caller({ plan: 'pro', credits: 4 })
    const imageUrls = await upload(client, 5)
    await expect(createBatchBy(client, { imageUrls })).rejects.toMatchObject({
      status: 400,
      code: 'CREDITS_INSUFFICIENT',
      details: { required: 5, available: 4 },
    })
    expect(await workspaceRow(workspaceId)).toEqual(nothingTaken)
    expect(await lotOf(workspaceId)).toEqual({ available: 4, held: 0 })
    expect((await client.call<{ total: number }>('GET', '/batch-tasks')).data.total).toBe(0)
  })

  it('reject a whole batch that the quota does not cover, with the end of the month', async () => {
    const { client, workspaceId } = await world.caller({ plan: 'pro' })
    await world.db.updateTable('workspace').set({ quota_used: 998 }).where('id', '=', workspaceId).execute()
    const imageUrls = await upload(client, 3)
    await expect(createBatchBy(client, { imageUrls })).rejects.toMatchObject({
      status: 429,
      code: 'DEVELOPER_API_QUOTA_EXCEEDED',
      details: { limit: 1_000, used: 998, size: 3, resetsAt: expect.stringMatching(/-01T00:00:00\.000Z$/) },
    })
    await createBatchBy(client, { imageUrls: imageUrls.slice(0, 2) })
    expect(await workspaceRow(workspaceId)).toMatchObject({ quota_used: 1_000 })
  })

  it('count the quota again in a new month', async () => {
    const { client, workspaceId } = await world.caller({ plan: 'pro' })
    await sql`update workspace set quota_used = 1000, quota_month = quota_month - interval '1 month'
               where id = ${workspaceId}`.execute(world.db)
    await createBatchBy(client, { imageUrls: await upload(client, 3) })
    expect(await workspaceRow(workspaceId)).toMatchObject({ quota_used: 3 })
  })
})

describe('access to batch creation', () => {
  it.each([
    ['free', 403, 'DEVELOPER_API_ACCESS_DENIED'],
    ['pro', 403, 'API_KEY_INSUFFICIENT_SCOPE'],
  ])('on plan %s without the scope: %i %s', async (plan, status, code) => {
    const { client } = await world.caller({ plan, scopes: ['tasks:write', 'batches:read'] })
    await expect(createBatchBy(client, { imageUrls: ['a.png'] })).rejects.toMatchObject({ status, code })
  })
})

describe('switches', () => {
  afterEach(async () => {
    await writeSetting(world.db, 'maintenance', false)
    await writeSetting(world.db, 'batchEnabled', true)
  })
  const codeOf = (client: Client, imageUrls: string[]) =>
    createBatchBy(client, { imageUrls }).then(
      () => 'taken',
      (error: { code: string }) => error.code,
    )

  it('reject in the order of D4: maintenance, batches off, plan without batches, size', async () => {
    const { client } = await world.caller({ plan: 'pro' })
    const many = Array.from({ length: 6 }, () => 'unknown.png')
    await writeSetting(world.db, 'maintenance', true)
    await writeSetting(world.db, 'batchEnabled', false)
    await until('maintenance is in force', async () => (await codeOf(client, many)) === 'TASK_MAINTENANCE')
    await expect(createBatchBy(client, { imageUrls: many })).rejects.toMatchObject({ status: 503 })
    expect(await codeOf(client, ['https://example.com/'])).toBe('INVALID_PARAMS')
    await writeSetting(world.db, 'maintenance', false)
    await until('batches are off', async () => (await codeOf(client, many)) === 'TASK_BATCH_DISABLED')
    await expect(createBatchBy(client, { imageUrls: many })).rejects.toMatchObject({ status: 400 })
    await writeSetting(world.db, 'batchEnabled', true)
    await until('batches are on', async () => (await codeOf(client, many)) === 'TASK_BATCH_SIZE_EXCEEDED')
  })
})

describe('a plan without batches', () => {
  const single = useApi({ PLANS: JSON.stringify({ pro: { batchLimit: 0 } }) })

  it('returns TASK_BATCH_NOT_SUPPORTED', async () => {
    const { client } = await single.caller({ plan: 'pro' })
    const refused = { status: 400, code: 'TASK_BATCH_NOT_SUPPORTED', details: {} }
    await expect(createBatchBy(client, { imageUrls: ['unknown.png'] })).rejects.toMatchObject(refused)
  })
})
