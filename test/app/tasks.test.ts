// Tasks, batches and uploads of the App API, which shares its code with the Developer API (test/api). These tests cover
// the differences: paths, callers, codes, and member features.
import { randomUUID } from 'node:crypto'
import { openBucket } from '@matte/core/storage/bucket'
import { failAttempt, finishTask } from '@matte/core/task/run/finish-task'
import type { Role } from '@matte/core/workspace/role'
import { beforeAll, describe, expect, it } from 'vitest'
import { claim, smallImage, succeed, useApi } from '../api/given.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { type Grant, put, type Task, type TaskPage } from '../support/client.ts'
import { readTask } from '../support/factories.ts'
import { until } from '../support/until.ts'

const world = useApi()

const person = (options: Parameters<typeof givenPerson>[2] = { plan: 'internal' }) =>
  givenPerson(world.db, world.api, options)

async function upload({ client }: Pick<Person, 'client'>): Promise<string> {
  const body = { fileName: 'photo.png', contentType: 'image/png' }
  const { data } = await client.call<Grant>('POST', '/tasks/uploads/presign', { body })
  await put(data, await smallImage())
  return data.objectKey
}

async function create(someone: Pick<Person, 'client'>, headers: Record<string, string> = {}): Promise<Task> {
  const body = { imageUrl: await upload(someone) }
  const { status, data } = await someone.client.call<Task>('POST', '/tasks/images', { body, headers })
  expect(status).toBe(201)
  return data
}

const read = async <T>({ client }: Pick<Person, 'client'>, path: string): Promise<T> =>
  (await client.call<T>('GET', `/tasks${path}`)).data

async function failForGood(taskId: string): Promise<void> {
  await failAttempt(world.db, await claim(world.db, taskId), 'INPUT_UNREADABLE')
}

describe('a member', () => {
  it('uploads, creates, reads, lists and cancels, with the schemas of the Developer API', async () => {
    const someone = await person()
    const task = await create(someone)
    expect(task).toMatchObject({ status: 'queued', creditCost: 1, modelVersion: 'service-v2', batchId: null })
    const { creditCost: _cost, ...shown } = task
    expect(await read(someone, `/images/${task.id}`)).toEqual(shown)
    const page = await read<TaskPage>(someone, '/images?status=queued')
    expect(page).toMatchObject({ items: [shown], page: 1, pageSize: 20, total: 1, totalPages: 1, nextCursor: null })
    const canceled = await someone.client.call<Task>('DELETE', `/tasks/images/${task.id}`)
    expect([canceled.status, canceled.data.status]).toEqual([200, 'canceled'])
    await expect(someone.client.call('DELETE', `/tasks/images/${task.id}`)).rejects.toMatchObject({
      status: 409,
      code: 'TASK_CANNOT_CANCEL',
    })
  })

  it('retries a failed task, whose creator stays the same', async () => {
    const maker = await person()
    const colleague = await person({ member: { workspaceId: maker.workspaceId, role: 'admin' } })
    const { id } = await create(maker)
    await failForGood(id)
    const { status, data } = await colleague.client.call<Task>('POST', `/tasks/images/${id}/retry`)
    expect([status, data.status, data.retryCount]).toEqual([200, 'queued', 1])
    expect(await readTask(world.db, id)).toMatchObject({ run: 2, created_by: maker.userId })
  })

  it('creates, reads, lists and cancels batches', async () => {
    const someone = await person()
    const imageUrls = [await upload(someone), await upload(someone)]
    const made = await someone.client.call<{ id: string; tasks: Task[] }>('POST', '/tasks/batch', {
      body: { imageUrls },
    })
    expect([made.status, made.data.tasks.map(({ sourceUrl }) => sourceUrl)]).toEqual([201, imageUrls])
    const { id } = made.data
    expect(await read(someone, `/batch/${id}`)).toMatchObject({ id, status: 'processing', totalCount: 2 })
    expect(await read(someone, '/batch')).toMatchObject({ items: [{ id }], total: 1, pageSize: 20 })
    expect((await someone.client.call('DELETE', `/tasks/batch/${id}`)).data).toMatchObject({ canceledCount: 2 })
    const rows = await world.db.selectFrom('task').select('created_by').where('batch_id', '=', id).execute()
    const batch = await world.db.selectFrom('batch').select('created_by').where('id', '=', id).executeTakeFirst()
    expect([...rows, batch].map((row) => row?.created_by)).toEqual(Array(3).fill(someone.userId))
  })

  it('creates one task per Idempotency-Key, and waits if preferred', async () => {
    const someone = await person()
    const imageUrl = await upload(someone)
    const headers = { 'idempotency-key': randomUUID(), prefer: 'wait=0' }
    const send = () => someone.client.call<Task>('POST', '/tasks/images', { body: { imageUrl }, headers })
    const [first, second] = [await send(), await send()]
    expect(second.data.id).toBe(first.data.id)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(first.headers.get('preference-applied')).toBe('wait=0')
  })

  it('shares tasks with the workspace’s keys, whose creators are known as well', async () => {
    const { client, workspaceId, apiKeyId } = await world.caller({ plan: 'internal' })
    const colleague = await person({ member: { workspaceId, role: 'member' } })
    const set = { created_by: colleague.userId }
    await world.db.updateTable('api_key').set(set).where('id', '=', apiKeyId).execute()
    const { id } = await client.createTask({ imageUrl: await client.upload(await smallImage()) })
    expect(await read(colleague, `/images/${id}`)).toMatchObject({ id })
    expect(await readTask(world.db, id)).toMatchObject({ created_by: colleague.userId })
  })
})

describe('the history of a task', () => {
  it('is an array of the current run, oldest first, and of all runs on request', async () => {
    const someone = await person()
    const { id } = await create(someone)
    await failForGood(id)
    await someone.client.call('POST', `/tasks/images/${id}/retry`)
    await succeed(world.db, id)
    const { durationMs } = await read<Task>(someone, `/images/${id}`)
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/)
    const [first, second] = [1, 2].map((run) => ({ run, at }))
    const current = [
      { event_type: 'retried', event_payload: second },
      { event_type: 'processing', event_payload: { ...second, attempt: 1 } },
      { event_type: 'succeeded', event_payload: { ...second, attempt: 1, duration_ms: durationMs } },
    ]
    const failure = { reason: 'INPUT_UNREADABLE', message: expect.any(String) }
    const before = [
      { event_type: 'queued', event_payload: first },
      { event_type: 'processing', event_payload: { ...first, attempt: 1 } },
      { event_type: 'failed', event_payload: { ...first, attempt: 1, ...failure } },
    ]
    const id_ = { id: expect.stringMatching(/^\d+$/) }
    const withIds = (events: object[]) => events.map((event) => ({ ...event, ...id_ }))
    expect(await read(someone, `/images/${id}/events`)).toEqual(withIds(current))
    expect(await read(someone, `/images/${id}/events?runs=current`)).toEqual(withIds(current))
    expect(await read(someone, `/images/${id}/events?runs=all`)).toEqual(withIds([...before, ...current]))
    await expect(read(someone, `/images/${id}/events?runs=some`)).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
  })
})

describe('an attempt in the history', () => {
  const served = { pod: 'general-7d9c5b6f4-x2x7q', revision: '7d9c5b6f4', pool: 'general', model: 'u2netp' }

  it('names pod, model and milliseconds of each stage, once', async () => {
    const someone = await person()
    const { id } = await create(someone)
    const claimed = { ...(await claim(world.db, id)), attempt: 5 }
    const work = { ...served, stagesMs: { fetch: 21, wait: 0, decode: 38, infer: 402 } }
    await failAttempt(world.db, claimed, 'INFERENCE_ERROR', work)
    const events = await read<{ event_type: string; event_payload: object }[]>(someone, `/images/${id}/events`)
    const reported = { ...served, stages_ms: work.stagesMs }
    expect(events.map((event) => event.event_type)).toEqual(['queued', 'processing', 'failed', 'dead_letter'])
    expect(events[2]?.event_payload).toMatchObject({ reason: 'INFERENCE_ERROR', ...reported })
    expect(events[3]?.event_payload).toEqual({
      ...{ run: 1, attempt: 1, reason: 'INFERENCE_ERROR' },
      ...{ message: expect.any(String), at: expect.any(String) },
    })
  })

  it('that the worker retries has its own pod', async () => {
    const someone = await person()
    const { id } = await create(someone)
    await failAttempt(world.db, await claim(world.db, id), 'STORAGE_ERROR', { ...served, stagesMs: { fetch: 7 } })
    const events = await read<{ event_type: string; event_payload: object }[]>(someone, `/images/${id}/events`)
    expect(events.at(-1)).toMatchObject({
      event_type: 'attempt_failed',
      event_payload: { attempt: 1, ...served, stages_ms: { fetch: 7 } },
    })
  })
})

describe('the confidence of a result', () => {
  const result = { resultKey: 'results/a.png', resultFormat: 'png', resultSizeBytes: 1, width: 1, height: 1 } as const
  const lastEvent = async (someone: Person, id: string) =>
    (await read<{ event_payload: object }[]>(someone, `/images/${id}/events`)).at(-1)?.event_payload

  it('is in the task, in lists by its bounds and in the history, which says if nothing was charged', async () => {
    const someone = await person()
    const [sure, unsure] = [await create(someone), await create(someone)]
    await finishTask(world.db, await claim(world.db, sure.id), {
      ...{ status: 'succeeded', foreground: { top: 0, left: 0, width: 1, height: 1 }, confidence: 0.97, ...result },
    })
    await finishTask(world.db, await claim(world.db, unsure.id), {
      ...{ status: 'succeeded', foreground: null, confidence: 0, isFree: true, ...result },
    })
    expect(await read(someone, `/images/${sure.id}`)).toMatchObject({ confidence: 0.97 })
    expect(await read(someone, '/images?maxConfidence=0.89')).toMatchObject({ items: [{ id: unsure.id }], total: 1 })
    expect(await read(someone, '/images?minConfidence=0.9')).toMatchObject({ items: [{ id: sure.id }], total: 1 })
    expect(await lastEvent(someone, sure.id)).toMatchObject({ confidence: 0.97 })
    expect(await lastEvent(someone, sure.id)).not.toHaveProperty('charged')
    expect(await lastEvent(someone, unsure.id)).toMatchObject({ confidence: 0, charged: false })
  })
})

describe('the photo of a task', () => {
  it('has a link for fifteen minutes, for its workspace alone', async () => {
    const someone = await person()
    const { id } = await create(someone)
    const { url, expiresAt } = await read<Record<string, string>>(someone, `/images/${id}/input`)
    expect(new URL(url ?? '').searchParams.get('X-Amz-Expires')).toBe('900')
    expect(Date.parse(expiresAt ?? '')).toBeGreaterThan(Date.now())
    const answer = await fetch(url ?? '')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toMatch(/^image\//)
  })
})

describe('a download', () => {
  it('is a link for a limited time, and its content', async () => {
    const someone = await person()
    const { id } = await create(someone)
    const before = Date.now()
    await succeed(world.db, id)
    const data = await read<Record<string, string>>(someone, `/images/${id}/download`)
    expect(data).toEqual({
      url: expect.stringContaining(world.api.url),
      expiresAt: expect.any(String),
      fileName: `${id}.png`,
      contentType: 'image/png',
      size: 100,
    })
    const signed = new URL(data.url ?? '').searchParams
    const seconds = Number(signed.get('X-Amz-Expires'))
    const date = signed.get('X-Amz-Date')?.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z') ?? ''
    expect(seconds).toBe(7 * 24 * 60 * 60)
    // The store uses the signed time, so the stated expiry is never later.
    expect(Date.parse(data.expiresAt ?? '')).toBeLessThanOrEqual(Date.parse(date) + seconds * 1_000)
    expect(Date.parse(data.expiresAt ?? '')).toBeGreaterThan(before + (seconds - 60) * 1_000)
  })

  it('works until it ends', async () => {
    const someone = await person()
    const { id } = await create(someone)
    const bytes = await smallImage()
    const { config } = world.api
    const bucket = openBucket({
      internalEndpoint: config.s3Endpoint,
      publicEndpoint: config.publicUrl,
      bucket: config.s3Bucket,
      region: config.s3Region,
      accessKeyId: config.s3AccessKeyId,
      secretAccessKey: config.s3SecretAccessKey,
    })
    const key = await succeed(world.db, id)
    await bucket.put(key, bytes, { contentType: 'image/png' })
    const { url = '' } = await read<Record<string, string>>(someone, `/images/${id}/download`)
    const answer = await fetch(url)
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(bytes)
    expect(answer.headers.get('content-disposition')).toContain(`${id}.png`)
    const longer = new URL(url)
    longer.searchParams.set('X-Amz-Expires', '604799')
    expect((await fetch(longer)).status).toBe(403)
    const brief = bucket.presignGet(key, { contentType: 'image/png', fileName: 'a.png', expiresInSeconds: 1 })
    await until('a link has ended', async () => (await fetch(brief)).status === 403)
    await bucket.close()
  })

  it('of an unsuccessful task is 409 CONFLICT', async () => {
    const someone = await person()
    const [queued, failed] = [await create(someone), await create(someone)]
    const conflict = (status: string) => ({ status: 409, code: 'CONFLICT', details: { status } })
    await expect(read(someone, `/images/${queued.id}/download`)).rejects.toMatchObject(conflict('queued'))
    await failForGood(failed.id)
    await expect(read(someone, `/images/${failed.id}/download`)).rejects.toMatchObject(conflict('failed'))
  })
})

const reads = ['/images', '/images/{task}', '/images/{task}/events', '/batch', '/batch/{batch}'] as const
const writes = [
  ['POST', '/images'],
  ['DELETE', '/images/{task}'],
  ['POST', '/images/{task}/retry'],
  ['POST', '/batch'],
  ['DELETE', '/batch/{batch}'],
] as const

describe('access to tasks', () => {
  let owner: Person
  let ids: { task: string; batch: string }
  const fill = (path: string) => path.replace(/\{(\w+)\}/, (_, name: 'task' | 'batch') => ids[name])
  const codeOf = (someone: Person, method: string, path: string) =>
    someone.client.call(method, `/tasks${fill(path)}`, method === 'POST' ? { body: {} } : {}).then(
      () => 'OK',
      (error: { code: string }) => error.code,
    )
  beforeAll(async () => {
    owner = await person()
    const { id: task } = await create(owner)
    await failForGood(task)
    const body = { imageUrls: [await upload(owner)] }
    const { data } = await owner.client.call<{ id: string }>('POST', '/tasks/batch', { body })
    ids = { task, batch: data.id }
  })

  it('to read: every role', async () => {
    for (const role of ['owner', 'admin', 'billing', 'member'] as const satisfies Role[]) {
      const someone = await person({ member: { workspaceId: owner.workspaceId, role } })
      for (const path of reads) expect([role, path, await codeOf(someone, 'GET', path)]).toEqual([role, path, 'OK'])
      await upload(someone)
    }
  })

  it('to write: not the role billing', async () => {
    const billing = await person({ member: { workspaceId: owner.workspaceId, role: 'billing' } })
    for (const [method, path] of writes)
      expect([path, await codeOf(billing, method, path)]).toEqual([path, 'AUTH_FORBIDDEN'])
    for (const role of ['owner', 'admin', 'member'] as const satisfies Role[]) {
      const someone = await person({ member: { workspaceId: owner.workspaceId, role } })
      // The bodies are invalid, and no worker processes the batch's task: only the absence of AUTH_FORBIDDEN matters.
      for (const [method, path] of writes)
        expect([role, path, await codeOf(someone, method, path)]).not.toEqual([role, path, 'AUTH_FORBIDDEN'])
    }
  })

  it('to see: no other workspace, with an unknown id, another’s, or none', async () => {
    const stranger = await person()
    const paths = [...reads.filter((path) => path.includes('{')), '/images/{task}/download']
    const all = [...paths.map((path) => ['GET', path] as const), ...writes.filter(([, path]) => path.includes('{'))]
    for (const [method, path] of all) {
      expect([path, await codeOf(stranger, method, path)]).toEqual([path, 'NOT_FOUND'])
      for (const id of [randomUUID(), 'none']) {
        const other = path.replace(/\{\w+\}/, id)
        expect([other, await codeOf(owner, method, other)]).toEqual([other, 'NOT_FOUND'])
      }
    }
    expect(await read<TaskPage>(stranger, '/images')).toMatchObject({ items: [], total: 0 })
  })
})

describe('the plan Free', () => {
  it('has the App API, with 600 requests a minute', async () => {
    const someone = await person({ plan: 'free', credits: 10 })
    expect((await create(someone)).creditCost).toBe(1)
    const { headers } = await someone.client.call('GET', '/tasks/images')
    expect(headers.get('x-ratelimit-limit')).toBe('600')
    // These requests span two windows at most, and exceed the limit in one of them.
    let refused: unknown
    for (let round = 0; round < 65 && refused === undefined; round++) {
      const twenty = Array.from({ length: 20 }, () => someone.client.call('GET', '/tasks/images?pageSize=1'))
      await Promise.all(twenty).catch((error: unknown) => {
        refused = error
      })
    }
    expect(refused).toMatchObject({
      status: 429,
      code: 'RATE_LIMIT_EXCEEDED',
      details: { limit: 'requests', perMinute: 600 },
    })
  })
})
