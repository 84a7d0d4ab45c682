import { createHash, randomUUID } from 'node:crypto'
import { grantCredits } from '@matte/core/credit/lot-queries'
import { deleteExpiredRequests, takeKey } from '@matte/core/idempotency/idempotency-queries'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { failAttempt } from '@matte/core/task/run/finish-task'
import { buildDocument } from '@matte/generate/build-document'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { ApiError, Task } from '../support/client.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { until } from '../support/until.ts'
import { type Caller, claim, smallImage, succeed, useApi } from './given.ts'

const world = useApi()

async function givenRequest(options: Parameters<typeof world.caller>[0] = { plan: 'enterprise' }) {
  const caller = await world.caller(options)
  return { ...caller, key: randomUUID(), body: { imageUrl: await caller.client.upload(await smallImage()) } }
}

const create = ({ client }: Pick<Caller, 'client'>, body: unknown, key: string, headers: Record<string, string> = {}) =>
  client.call<Task>('POST', '/tasks', { body, headers: { 'idempotency-key': key, ...headers } })

async function expectTasks({ client, workspaceId }: Caller, count: number, held = count) {
  expect((await client.listTasks()).total).toBe(count)
  const lots = await world.db.selectFrom('credit_lot').select('held').where('workspace_id', '=', workspaceId).execute()
  expect(lots.reduce((sum, lot) => sum + lot.held, 0)).toBe(held)
  const { quota_used } = await world.db
    .selectFrom('workspace')
    .select('quota_used')
    .where('id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  expect(quota_used).toBe(count)
}

describe('the same request under one Idempotency-Key', () => {
  it('creates one task and charges once; responses differ in a header only', async () => {
    const request = await givenRequest()
    const first = await create(request, request.body, request.key)
    expect(first.headers.get('idempotent-replayed')).toBeNull()
    const again = await create(request, request.body, request.key)
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
    expect(again.data).toEqual(first.data)
    await expectTasks(request, 1)
  })

  it('returns the current state of the task', async () => {
    const request = await givenRequest()
    const { data } = await create(request, request.body, request.key)
    await succeed(world.db, data.id)
    const again = await create(request, request.body, request.key)
    expect(again.data).toMatchObject({ id: data.id, status: 'succeeded', creditCost: 1, resultUrl: expect.any(String) })
  })

  it('ignores the order of fields, and null and absent ones', async () => {
    const request = await givenRequest()
    const { imageUrl } = request.body
    const body = { imageUrl, output: { format: 'png', crop: true } }
    const { data } = await create(request, body, request.key)
    const same = { output: { crop: true, maxSide: null, format: 'png' }, callbackUrl: null, imageUrl }
    expect((await create(request, same, request.key)).data.id).toBe(data.id)
    await expectTasks(request, 1)
  })

  it('with another body is INVALID_PARAMS', async () => {
    const request = await givenRequest()
    await create(request, request.body, request.key)
    await expect(create(request, { ...request.body, output: { format: 'webp' } }, request.key)).rejects.toMatchObject({
      status: 400,
      code: 'INVALID_PARAMS',
      details: { issues: [{ path: '/headers/idempotency-key' }] },
    })
    await expectTasks(request, 1)
  })

  it('is a separate request in another workspace', async () => {
    const [one, other] = [await givenRequest(), await givenRequest()]
    const { data } = await create(one, one.body, one.key)
    expect((await create(other, other.body, one.key)).data.id).not.toBe(data.id)
  })

  it('is a separate request under another path', async () => {
    const request = await givenRequest()
    const { data } = await create(request, request.body, request.key)
    const response = await fetch(`${world.api.url}/v1/tasks`, {
      method: 'POST',
      headers: { 'x-api-key': request.apiKey, 'content-type': 'application/json', 'idempotency-key': request.key },
      body: JSON.stringify(request.body),
    })
    expect(response.status).toBe(201)
    expect(response.headers.get('idempotent-replayed')).toBeNull()
    expect(((await response.json()) as { data: Task }).data.id).not.toBe(data.id)
  })

  it('is replayed despite everything that would reject a new one', async () => {
    const request = await givenRequest({ plan: 'pro', credits: 1 })
    const { data } = await create(request, request.body, request.key)
    await world.db
      .updateTable('upload')
      .set({ deleted_at: sql<Date>`now()` })
      .where('workspace_id', '=', request.workspaceId)
      .execute()
    await writeSetting(world.db, 'maintenance', true)
    const other = { imageUrl: 'unknown' }
    await until('maintenance is in force', () =>
      request.client.createTask(other).then(
        () => false,
        (error: ApiError) => error.code === 'TASK_MAINTENANCE',
      ),
    )
    expect((await create(request, request.body, request.key)).data.id).toBe(data.id)
    await writeSetting(world.db, 'maintenance', false)
    await until('maintenance is over', () =>
      request.client.createTask(other).catch((error: ApiError) => error.code === 'TASK_INPUT_FORBIDDEN'),
    )
    await expectTasks(request, 1)
  })

  it('after an error is tried again: only a success is stored', async () => {
    const request = await givenRequest({ plan: 'pro', credits: 0 })
    await expect(create(request, request.body, request.key)).rejects.toMatchObject({ code: 'CREDITS_INSUFFICIENT' })
    expect(
      (await world.db.selectFrom('idempotency_record').selectAll().where('key', '=', request.key).execute()).length,
    ).toBe(0)
    await expect(create(request, { imageUrl: 'unknown' }, request.key)).rejects.toMatchObject({
      code: 'TASK_INPUT_FORBIDDEN',
    })
    await grantCredits(world.db, { workspaceId: request.workspaceId, kind: 'test', amount: 1 })
    expect((await create(request, request.body, request.key)).headers.get('idempotent-replayed')).toBeNull()
    await expectTasks(request, 1)
  })

  it('is deleted after 24 hours', async () => {
    const request = await givenRequest()
    const { data } = await create(request, request.body, request.key)
    const age = (hours: number) =>
      sql`update idempotency_record set created_at = now() - ${hours} * interval '1 hour' where key = ${request.key}`.execute(
        world.db,
      )
    await age(23.9)
    expect((await create(request, request.body, request.key)).data.id).toBe(data.id)
    await age(24)
    const { data: next, headers } = await create(request, request.body, request.key)
    expect(headers.get('idempotent-replayed')).toBeNull()
    expect(next.id).not.toBe(data.id)
    expect((await create(request, request.body, request.key)).data.id).toBe(next.id)
    expect(await deleteExpiredRequests(world.db)).toBe(0)
    await age(25)
    expect(await deleteExpiredRequests(world.db)).toBe(1)
    expect(await deleteExpiredRequests(world.db)).toBe(0)
  })

  it('sent twenty times concurrently creates exactly one task and one charge', async () => {
    // A plan without limits, so only the key prevents a second task.
    const request = await givenRequest({ plan: 'internal' })
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        create(request, request.body, request.key).then(
          ({ status, data, headers }) => ({
            status,
            id: data.id,
            replayed: headers.get('idempotent-replayed') === 'true',
            retryAfter: null,
          }),
          (error: ApiError) => ({
            status: error.status,
            id: null,
            replayed: false,
            retryAfter: error.headers.get('retry-after'),
          }),
        ),
      ),
    )
    expect(answers.filter(({ status, replayed }) => status === 201 && !replayed)).toHaveLength(1)
    expect(new Set(answers.flatMap(({ id }) => id ?? [])).size).toBe(1)
    for (const { status, retryAfter } of answers) {
      if (status !== 201) expect([status, retryAfter]).toEqual([409, '1'])
    }
    await expectTasks(request, 1, 0)
    expect(await findBrokenRules(world.db)).toEqual({})
  })

  it('never hits a limit because of its twin', async () => {
    const request = await givenRequest({ plan: 'pro', credits: 1 })
    const answers = await Promise.allSettled(
      Array.from({ length: 20 }, () => create(request, request.body, request.key)),
    )
    for (const answer of answers) {
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'CONFLICT' })
    }
    await expectTasks(request, 1)
  })

  it('is CONFLICT while the transaction of the first is open, immediately and not after it', async () => {
    const request = await givenRequest()
    const bodyHash = createHash('sha256').update(JSON.stringify(request.body)).digest()
    const identity = {
      owner: { workspaceId: request.workspaceId },
      method: 'POST',
      path: '/api/v1/open/developer/tasks',
      key: request.key,
      bodyHash,
    }
    await world.db
      .transaction()
      .execute(async (tx) => {
        expect(await takeKey(tx, identity)).toBe('taken')
        const error = await create(request, request.body, request.key).catch((fault: ApiError) => fault)
        expect(error).toMatchObject({ status: 409, code: 'CONFLICT' })
        expect((error as ApiError).headers.get('retry-after')).toBe('1')
        throw new Error('rolled back')
      })
      .catch((error: Error) => expect(error.message).toBe('rolled back'))
    expect((await create(request, request.body, request.key)).status).toBe(201)
    await expectTasks(request, 1)
  })
})

describe('one key', () => {
  const send = <T>({ client }: Caller, path: string, body: unknown, key = randomUUID()) =>
    client.call<T>('POST', path, { ...(body !== undefined && { body }), headers: { 'idempotency-key': key } })

  it('makes one retry, however often sent', async () => {
    const caller = await givenRequest({ plan: 'enterprise', credits: 3 })
    const { id } = await caller.client.createTask(caller.body)
    await failAttempt(world.db, await claim(world.db, id), 'INPUT_UNREADABLE')
    const { key } = caller
    const path = `/tasks/${id}/retry`
    const answers = await Promise.allSettled(Array.from({ length: 20 }, () => send<Task>(caller, path, undefined, key)))
    for (const answer of answers) {
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ status: 409, code: 'CONFLICT' })
      else expect(answer.value.data).toMatchObject({ id, status: 'queued', retryCount: 1, creditCost: 1 })
    }
    await failAttempt(world.db, await claim(world.db, id), 'INPUT_UNREADABLE')
    const again = await send<Task>(caller, `/tasks/${id.toUpperCase()}/retry`, undefined, key)
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
    expect(again.data).toMatchObject({ id, status: 'failed', retryCount: 1 })
    expect((await send<Task>(caller, path, undefined)).data).toMatchObject({ status: 'queued', retryCount: 2 })
    expect(await findBrokenRules(world.db)).toEqual({})
  })

  it('makes one batch', async () => {
    const caller = await givenRequest()
    const body = { imageUrls: [caller.body.imageUrl, caller.body.imageUrl] }
    const first = await send<{ id: string }>(caller, '/batch-tasks', body, caller.key)
    const again = await send<{ id: string }>(caller, '/batch-tasks', body, caller.key)
    expect([again.status, again.headers.get('idempotent-replayed'), again.data]).toEqual([201, 'true', first.data])
    const other = { imageUrls: [caller.body.imageUrl] }
    await expect(send(caller, '/batch-tasks', other, caller.key)).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    await expectTasks(caller, 2)
  })

  it('makes one webhook endpoint, whose secret is shown once', async () => {
    const caller = await givenRequest()
    const body = { targetUrl: 'https://203.0.114.9/hook', eventTypes: ['task.failed'] }
    const { data } = await send<{ id: string; signingSecret?: string }>(caller, '/webhooks', body, caller.key)
    expect(data.signingSecret).toMatch(/^whsec_/)
    const again = await send<{ id: string; signingSecret?: string }>(caller, '/webhooks', body, caller.key)
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
    expect(again.data.id).toBe(data.id)
    expect(again.data).not.toHaveProperty('signingSecret')
    await caller.client.call('DELETE', `/webhooks/${data.id}`)
    await expect(send(caller, '/webhooks', body, caller.key)).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
  })
})

describe('Idempotency-Key', () => {
  it.each(['', 'x'.repeat(256)])('%j is INVALID_PARAMS', async (key) => {
    const request = await givenRequest()
    await expect(create(request, request.body, key)).rejects.toMatchObject({
      status: 400,
      code: 'INVALID_PARAMS',
      details: { issues: [{ path: '/headers/idempotency-key' }] },
    })
    await expectTasks(request, 0)
  })

  it.each(['a', 'x'.repeat(255), '"8e03978e-40d5-43e8-bc93-6894a57f9324"', "' or 1=1 --", 'k\u00e9y'])(
    '%j is accepted',
    async (key) => {
      const request = await givenRequest()
      const { data } = await create(request, request.body, key)
      expect((await create(request, request.body, key)).data.id).toBe(data.id)
    },
  )

  it('is ignored by requests that create nothing', async () => {
    const { client } = await world.caller()
    const headers = { 'idempotency-key': 'x'.repeat(300) }
    expect((await client.call('GET', '/tasks', { headers })).status).toBe(200)
    const body = { fileName: 'a.png', contentType: 'image/png' }
    expect((await client.call('POST', '/uploads/presign', { headers, body })).status).toBe(200)
  })

  it('is documented by every POST that creates a resource', async () => {
    type Operation = { responses: Record<string, unknown>; parameters?: { name: string; in: string }[] }
    const { paths } = (await buildDocument()) as { paths: Record<string, { post?: Operation }> }
    const making = Object.entries(paths).filter(
      ([path, { post }]) => post !== undefined && ('201' in post.responses || path.endsWith('/retry')),
    )
    expect(making.length).toBeGreaterThanOrEqual(2)
    for (const [path, { post }] of making) {
      expect(post?.parameters, path).toContainEqual(expect.objectContaining({ name: 'Idempotency-Key', in: 'header' }))
    }
  })
})
