import { writeSetting } from '@matte/core/setting/setting-queries'
import { openBucket } from '@matte/core/storage/bucket'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { afterEach, describe, expect, it } from 'vitest'
import { sharedStore } from '../support/store.ts'
import { until } from '../support/until.ts'
import { hugePng, smallImage, useApi } from './given.ts'

const world = useApi({ WEBHOOK_DENIED_NETWORKS: '203.0.113.0/24' })

async function putAsOperator(key: string, bytes: Buffer): Promise<void> {
  const { endpoint, ...keys } = sharedStore()
  const { s3Bucket: bucket, s3Region: region } = world.api.config
  const store = openBucket({ internalEndpoint: endpoint, publicEndpoint: endpoint, bucket, region, ...keys })
  await store.put(key, bytes, { contentType: 'image/png' }).finally(() => store.close())
}

describe('POST /open/developer/tasks', () => {
  it('returns 201 with the task queued and its cost', async () => {
    const { client } = await world.caller()
    const imageUrl = await client.upload(await smallImage())
    const { status, data } = await client.call('POST', '/tasks', { body: { imageUrl } })
    expect(status).toBe(201)
    expect(data).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: 'queued',
      modelVersion: 'service-v2',
      sourceUrl: imageUrl,
      resultUrl: null,
      creditCost: 1,
      createdAt: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/),
      completedAt: null,
      batchId: null,
      callbackUrl: null,
      failure: null,
      width: null,
      height: null,
      resultFormat: null,
      retryCount: 0,
      foreground: null,
      retention: null,
      erasedAt: null,
    })
  })

  it.each(['png', 'jpeg', 'webp'] as const)('accepts a %s, whatever Content-Type its upload had', async (format) => {
    const { client } = await world.caller()
    const imageUrl = await client.upload(await smallImage(format), { contentType: 'image/webp' })
    expect((await client.createTask({ imageUrl })).status).toBe('queued')
  })

  it('accepts several tasks for one object', async () => {
    const { client } = await world.caller({ plan: 'internal' })
    const imageUrl = await client.upload(await smallImage())
    const ids = [await client.createTask({ imageUrl }), await client.createTask({ imageUrl })].map(({ id }) => id)
    expect(new Set(ids).size).toBe(2)
  })

  it('holds a credit on a plan with charges, and none on the internal one', async () => {
    const [pro, internal] = [await world.caller({ credits: 5 }), await world.caller({ plan: 'internal', credits: 5 })]
    for (const { client } of [pro, internal]) {
      await client.createTask({ imageUrl: await client.upload(await smallImage()), modelVersion: null })
    }
    const lots = await world.db
      .selectFrom('credit_lot')
      .select(['workspace_id', 'available', 'held'])
      .where('workspace_id', 'in', [pro.workspaceId, internal.workspaceId])
      .execute()
    expect(lots.find((lot) => lot.workspace_id === pro.workspaceId)).toMatchObject({ available: 4, held: 1 })
    expect(lots.find((lot) => lot.workspace_id === internal.workspaceId)).toMatchObject({ available: 5, held: 0 })
  })
})

describe('imageUrl', () => {
  it.each(['', 'https://example.com/cat.png', 's3://bucket/key', null, 5, undefined])(
    '%j is INVALID_PARAMS',
    async (imageUrl) => {
      const { client } = await world.caller()
      const refused = { status: 400, code: 'INVALID_PARAMS', details: { issues: [{ path: '/body/imageUrl' }] } }
      await expect(client.createTask({ imageUrl })).rejects.toMatchObject(refused)
    },
  )

  it.each(['private-uploads/2026/11/none.png', '../../etc/passwd', 'nul\0byte', '%00', ' ', 'é'.repeat(5_000)])(
    '%j without an upload is TASK_INPUT_FORBIDDEN',
    async (imageUrl) => {
      const { client } = await world.caller()
      await expect(client.createTask({ imageUrl })).rejects.toMatchObject({ status: 403, code: 'TASK_INPUT_FORBIDDEN' })
    },
  )

  it('of another workspace is TASK_INPUT_FORBIDDEN, like an unused grant', async () => {
    const [owner, other] = [await world.caller(), await world.caller()]
    const refused = { status: 403, code: 'TASK_INPUT_FORBIDDEN' }
    const theirs = await owner.client.upload(await smallImage())
    await expect(other.client.createTask({ imageUrl: theirs })).rejects.toMatchObject(refused)
    const { objectKey } = await owner.client.presign({ fileName: 'a.png', contentType: 'image/png' })
    await expect(owner.client.createTask({ imageUrl: objectKey })).rejects.toMatchObject(refused)
  })
})

describe('the object', () => {
  it.each([
    ['empty', Buffer.alloc(0)],
    ['a page', Buffer.from('<html><body>no image</body></html>')],
    ['a GIF', Buffer.from('GIF89a\x01\x00\x01\x00\x00\x00\x00;', 'latin1')],
    ['half a signature', Buffer.from('\x89PN', 'latin1')],
  ])('%s is TASK_FORMAT_NOT_SUPPORTED', async (_what, bytes) => {
    const { client } = await world.caller()
    const imageUrl = await client.upload(bytes)
    const refused = { status: 400, code: 'TASK_FORMAT_NOT_SUPPORTED', details: { allowed: expect.any(Array) } }
    await expect(client.createTask({ imageUrl })).rejects.toMatchObject(refused)
  })

  it('truncated after its signature is accepted: only decoding can detect it', async () => {
    const { client } = await world.caller()
    const imageUrl = await client.upload((await smallImage()).subarray(0, 12))
    expect((await client.createTask({ imageUrl })).status).toBe('queued')
  })

  it('of 30,000 × 30,000 pixels is TASK_FILE_SIZE_EXCEEDED by pixels', async () => {
    const { client } = await world.caller()
    const bytes = hugePng(30_000)
    expect(bytes.length).toBeLessThan(1_000_000)
    const imageUrl = await client.upload(bytes)
    await expect(client.createTask({ imageUrl })).rejects.toMatchObject({
      status: 400,
      code: 'TASK_FILE_SIZE_EXCEEDED',
      details: { limit: 'pixels', pixels: 900_000_000, maxPixels: 50_000_000 },
    })
  })

  it('with more bytes than the plan allows is TASK_FILE_SIZE_EXCEEDED by bytes', async () => {
    const { client } = await world.caller()
    const { objectKey } = await client.presign({ fileName: 'a.png', contentType: 'image/png' })
    const body = Buffer.concat([await smallImage(), Buffer.alloc(20 * 1_048_576)])
    // No upload URL accepts it; the plan may have shrunk since the upload.
    await putAsOperator(objectKey, body)
    await expect(client.createTask({ imageUrl: objectKey })).rejects.toMatchObject({
      code: 'TASK_FILE_SIZE_EXCEEDED',
      details: { limit: 'bytes', fileSize: body.length },
    })
  })
})

describe('modelVersion', () => {
  it('that is not installed is INVALID_PARAMS with the valid ones', async () => {
    const { client } = await world.caller()
    await expect(client.createTask({ imageUrl: 'x', modelVersion: 'v99' })).rejects.toMatchObject({
      status: 400,
      code: 'INVALID_PARAMS',
      details: { issues: [{ path: '/body/modelVersion', message: expect.stringContaining('service-v2') }] },
    })
  })

  it('is valid within 5 s of its installation', async () => {
    const { client } = await world.caller({ plan: 'internal' })
    const imageUrl = await client.upload(await smallImage())
    const row = { pool: 'default', triton_model: 'u2netp', is_default: false }
    await world.db
      .insertInto('model')
      .values([
        { name: 'fresh-v1', available: true, ...row },
        { name: 'gone-v1', available: false, ...row },
      ])
      .execute()
    const task = await until('the new model is taken', () =>
      client.createTask({ imageUrl, modelVersion: 'fresh-v1' }).catch(() => undefined),
    )
    expect(task.modelVersion).toBe('fresh-v1')
    await expect(client.createTask({ imageUrl, modelVersion: 'gone-v1' })).rejects.toMatchObject({ status: 400 })
  })
})

describe('callbackUrl', () => {
  it.each([
    'ftp://example.com/',
    'not a url',
    'https://user:password@example.com/',
    'http://127.0.0.1:9000/hook',
    'http://localhost/hook',
    'http://[::1]/hook',
    'http://169.254.169.254/latest/meta-data',
    'http://0x7f000001/',
    'http://203.0.113.7/hook',
    'https://1.1.1.1:22/',
    `https://1.1.1.1/${'x'.repeat(2_100)}`,
    'https://1.1.1.1/\u0000',
    5,
  ])('%j is INVALID_PARAMS', async (callbackUrl) => {
    const { client } = await world.caller()
    const imageUrl = await client.upload(await smallImage())
    const refused = { status: 400, code: 'INVALID_PARAMS', details: { issues: [{ path: '/body/callbackUrl' }] } }
    await expect(client.createTask({ imageUrl, callbackUrl })).rejects.toMatchObject(refused)
  })

  it('that is public is returned as given', async () => {
    const { client } = await world.caller()
    const imageUrl = await client.upload(await smallImage())
    const callbackUrl = 'https://1.1.1.1'
    expect((await client.createTask({ imageUrl, callbackUrl })).callbackUrl).toBe(callbackUrl)
  })

  it('that an operator allows is accepted within 5 s', async () => {
    const { client } = await world.caller({ plan: 'internal' })
    const imageUrl = await client.upload(await smallImage())
    await writeSetting(world.db, 'webhooks.allowedTargets', ['127.0.0.1:9000'])
    const callbackUrl = 'http://127.0.0.1:9000/hook'
    const task = await until('the allowed target is taken', () =>
      client.createTask({ imageUrl, callbackUrl }).catch(() => undefined),
    )
    expect(task.callbackUrl).toBe(callbackUrl)
    await expect(client.createTask({ imageUrl, callbackUrl: 'http://127.0.0.1:9001/' })).rejects.toMatchObject({
      status: 400,
    })
  })
})

describe('limits', () => {
  it('admit exactly three of fifty concurrent creations on a plan of three', async () => {
    const { client, workspaceId } = await world.caller({ plan: 'business' })
    const imageUrl = await client.upload(await smallImage())
    const answers = await Promise.allSettled(Array.from({ length: 50 }, () => client.createTask({ imageUrl })))
    const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as object] : []))
    expect(refused).toHaveLength(47)
    for (const error of refused) {
      expect(error).toMatchObject({ status: 400, code: 'TASK_CONCURRENT_LIMIT', details: { limit: 3 } })
    }
    const counters = await world.db
      .selectFrom('workspace')
      .select(['open_singles', 'queued', 'quota_used'])
      .where('id', '=', workspaceId)
      .executeTakeFirstOrThrow()
    expect(counters).toEqual({ open_singles: 3, queued: 3, quota_used: 3 })
  })

  it('return CREDITS_INSUFFICIENT without credits, and take nothing', async () => {
    const { client, workspaceId } = await world.caller({ credits: 0 })
    const imageUrl = await client.upload(await smallImage())
    await expect(client.createTask({ imageUrl })).rejects.toMatchObject({
      status: 400,
      code: 'CREDITS_INSUFFICIENT',
      details: { required: 1, available: 0 },
    })
    expect((await client.listTasks()).total).toBe(0)
    const { quota_used } = await world.db
      .selectFrom('workspace')
      .select('quota_used')
      .where('id', '=', workspaceId)
      .executeTakeFirstOrThrow()
    expect(quota_used).toBe(0)
  })

  it('return DEVELOPER_API_QUOTA_EXCEEDED with the start of the new month', async () => {
    const { client, workspaceId } = await world.caller({ plan: 'business' })
    const imageUrl = await client.upload(await smallImage())
    await world.db.updateTable('workspace').set({ quota_used: 9_999 }).where('id', '=', workspaceId).execute()
    await client.createTask({ imageUrl })
    const error = await client.createTask({ imageUrl }).catch((fault: { details: object; headers: Headers }) => fault)
    expect(error).toMatchObject({ status: 429, code: 'DEVELOPER_API_QUOTA_EXCEEDED', details: { limit: 10_000 } })
    const { details, headers } = error as unknown as { details: { resetsAt: string }; headers: Headers }
    expect(details.resetsAt).toMatch(/^\d{4}-\d{2}-01T00:00:00\.000Z$/)
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(3_600)
  })

  it('free a slot when a task is canceled', async () => {
    const { client, workspaceId } = await world.caller({ plan: 'pro' })
    const imageUrl = await client.upload(await smallImage())
    const first = await client.createTask({ imageUrl })
    await client.createTask({ imageUrl })
    await expect(client.createTask({ imageUrl })).rejects.toMatchObject({ code: 'TASK_CONCURRENT_LIMIT' })
    await cancelTask(world.db, workspaceId, first.id)
    expect((await client.createTask({ imageUrl })).status).toBe('queued')
  })
})

describe('maintenance', () => {
  afterEach(() => writeSetting(world.db, 'maintenance', false))

  it('rejects new tasks with TASK_MAINTENANCE after validation, and all other requests work', async () => {
    const { client } = await world.caller({ plan: 'internal' })
    const imageUrl = await client.upload(await smallImage())
    const { id } = await client.createTask({ imageUrl })
    await writeSetting(world.db, 'maintenance', true)
    const error = await until('maintenance is in force', () =>
      client.createTask({ imageUrl }).then(
        () => undefined,
        (fault: { headers: Headers }) => fault,
      ),
    )
    expect(error).toMatchObject({ status: 503, code: 'TASK_MAINTENANCE' })
    expect(error.headers.get('retry-after')).toBe('60')
    await expect(client.createTask({ imageUrl: '' })).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    await expect(client.createTask({ imageUrl: 'unknown' })).rejects.toMatchObject({ code: 'TASK_MAINTENANCE' })
    expect((await client.presign({ fileName: 'a.png', contentType: 'image/png' })).method).toBe('PUT')
    expect((await client.cancelTask(id)).status).toBe('canceled')
    await writeSetting(world.db, 'maintenance', false)
    await until('maintenance is over', () => client.createTask({ imageUrl }).catch(() => undefined))
  })
})
