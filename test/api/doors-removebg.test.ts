import { readBalance } from '@matte/core/credit/balance'
import { grantCredits } from '@matte/core/credit/lot-queries'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { describe, expect, it } from 'vitest'
import { startApi } from '../support/api.ts'
import { until } from '../support/until.ts'
import { codeOf, countTasks, countUnusedUploads, formOf, type RemovebgErrors, untilTask } from './doors.ts'
import { type Caller, type CallerOptions, claim, givenCaller, smallImage, useApi } from './given.ts'

// Without a worker, tasks stay queued.
const world = useApi({ TASKS_MAX_WAIT: '1' })
const mb = 1_048_576

type Sent = {
  readonly body?: NonNullable<RequestInit['body']>
  readonly headers?: Record<string, string>
  readonly url?: string
}

const send = (
  { apiKey }: Pick<Caller, 'apiKey'>,
  { body, headers = {}, url = world.api.url }: Sent,
  signal?: AbortSignal,
) =>
  fetch(`${url}/v1.0/removebg`, {
    method: 'POST',
    headers: { 'X-Api-Key': apiKey, ...headers },
    ...(body !== undefined && { body }),
    ...(signal && { signal }),
  })

const imageForm = async (fields: Record<string, string> = {}) =>
  formOf({ size: 'full', ...fields }, { name: 'image_file', bytes: await smallImage() })

const json = (body: unknown): Sent => ({ body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })

const rates = (requestsPerMinute: number) => JSON.stringify({ pro: { requestsPerMinute } })

const balanceOf = async ({ workspaceId }: Pick<Caller, 'workspaceId'>) => {
  const { available, held } = await readBalance(world.db, workspaceId)
  return { available, held }
}

describe('POST /v1.0/removebg', () => {
  it('is unknown if the setting turns it off', async () => {
    const api = await startApi({ DATABASE_URL: world.databaseUrl, DOORS_REMOVEBG: 'false' })
    try {
      const caller = await givenCaller(world.db, api)
      const response = await send(caller, { body: await imageForm(), url: api.url })
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject({ error: { code: 'NOT_FOUND' } })
      expect((await fetch(`${api.url}/v1.0/account`)).status).toBe(404)
    } finally {
      await api.stop()
    }
  })

  it('takes the key as a bearer token too, unlike the Developer API', async () => {
    const { apiKey } = await world.caller()
    const headers = { 'X-Api-Key': '', authorization: `Bearer ${apiKey}` }
    const response = await send({ apiKey }, { body: await imageForm(), headers })
    expect([response.status, await codeOf(response)]).toEqual([503, 'timeout']) // nothing processes it here
    expect((await fetch(`${world.api.url}/v1.0/account`, { headers })).status).toBe(200)
    const wrong = { ...headers, authorization: 'Bearer wrong' }
    expect((await fetch(`${world.api.url}/v1.0/account`, { headers: wrong })).status).toBe(403)
    expect((await fetch(`${world.api.url}/api/v1/open/developer/tasks`, { headers })).status).toBe(401)
  })

  it('says that a plan has no API access', async () => {
    const response = await send(await world.caller({ plan: 'free' }), { body: await imageForm() })
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({ errors: [{ title: 'No API access', code: 'auth_failed' }] })
  })

  it('answers 403 auth_failed without a valid key, or with one that lacks the scope', async () => {
    const readOnly = await world.caller({ scopes: ['tasks:read'] })
    for (const apiKey of ['', 'wrong', readOnly.apiKey]) {
      const response = await send({ apiKey }, { body: await imageForm() })
      expect(response.status).toBe(403)
      expect(await codeOf(response)).toBe('auth_failed')
    }
  })

  it.each([
    ['without an image', {}, 'missing_source'],
    ['with two images', { image_file_b64: 'AAAA', image_url: 'https://example.com/cat.jpg' }, 'multiple_sources'],
    ['with a URL', { image_url: 'https://example.com/cat.jpg' }, 'not_supported'],
    ['with a background as text', { image_file_b64: 'AAAA', bg_image_file: 'AAAA' }, 'invalid_parameters'],
    ['with two backgrounds', { image_file_b64: 'AAAA', bg_image_url: 'x', bg_color: 'red' }, 'invalid_parameters'],
    ['for a zip with a background', { image_file_b64: 'AAAA', format: 'zip', bg_color: 'red' }, 'invalid_parameters'],
    ['for a zip of a matte', { image_file_b64: 'AAAA', format: 'zip', channels: 'alpha' }, 'invalid_parameters'],
    ['with an unknown shadow', { image_file_b64: 'AAAA', shadow_type: 'soft' }, 'invalid_parameters'],
    ['with a shadow that is too dark', { image_file_b64: 'AAAA', shadow_opacity: '101' }, 'invalid_parameters'],
    ['of an unknown size', { image_file_b64: 'AAAA', size: 'huge' }, 'invalid_parameters'],
    ['of an unknown colour', { image_file_b64: 'AAAA', bg_color: 'chartreusish' }, 'invalid_parameters'],
    ['of an unknown type', { image_file_b64: 'AAAA', type: 'ghost' }, 'invalid_parameters'],
    ['with a bad crop', { image_file_b64: 'AAAA', crop: 'maybe' }, 'invalid_parameters'],
    ['with a bad margin', { image_file_b64: 'AAAA', crop: 'true', crop_margin: 'wide' }, 'invalid_parameters'],
    ['with a bad region', { image_file_b64: 'AAAA', roi: '10% 20%' }, 'invalid_parameters'],
    ['of a file that is no image', { image_file_b64: 'AAAA' }, 'invalid_file_type'],
    ['of an empty file', { image_file_b64: '====' }, 'invalid_file_type'],
  ])('%s answers 400 in each form of body', async (_name, fields: Record<string, string>, code) => {
    const caller = await world.caller()
    const sized = { size: 'full', ...fields }
    const bodies: Sent[] = [{ body: formOf(sized) }, { body: new URLSearchParams(sized) }, json(sized)]
    for (const body of bodies) {
      const response = await send(caller, body)
      const { errors } = (await response.json()) as RemovebgErrors
      expect([response.status, errors]).toEqual([
        400,
        [{ title: expect.any(String), code, detail: expect.any(String) }],
      ])
    }
    expect(await countTasks(world, caller.workspaceId)).toBe(0)
  })

  it('answers 400 for a body that is no form', async () => {
    const caller = await world.caller()
    for (const sent of [
      json([]),
      { ...json({}), body: '{' },
      { body: 'x', headers: { 'content-type': 'text/plain' } },
    ]) {
      const response = await send(caller, sent)
      expect([response.status, await codeOf(response)]).toEqual([400, 'invalid_parameters'])
    }
  })

  it('answers 400 image_too_large for an image above the plan, in each form of body', async () => {
    const caller = await world.caller()
    const bytes = Buffer.concat([await smallImage(), Buffer.alloc(20 * mb)])
    const file = { name: 'image_file', bytes }
    // The API stops reading at the limit, so it does not know the size of the file.
    const sizeWords = /^The file is too large; your plan allows at most 20971520 bytes\.$/
    for (const sent of [
      { body: formOf({ size: 'full' }, file) },
      json({ size: 'full', image_file_b64: bytes.toString('base64') }),
    ]) {
      const response = await send(caller, sent)
      const { errors } = (await response.json()) as RemovebgErrors
      expect([response.status, errors]).toEqual([
        400,
        [{ title: 'Image too large', code: 'image_too_large', detail: expect.stringMatching(sizeWords) }],
      ])
    }
    expect(await countUnusedUploads(world, caller.workspaceId)).toBe(0)
  })

  it('answers 402 without credits, and keeps no upload', async () => {
    const caller = await world.caller({ credits: 0 })
    const response = await send(caller, { body: await imageForm() })
    expect([response.status, await codeOf(response)]).toEqual([402, 'insufficient_credits'])
    expect(await countUnusedUploads(world, caller.workspaceId)).toBe(0)
  })

  it('answers 429 with Retry-After when no slot of the plan frees up in time', async () => {
    const caller = await world.caller()
    for (let i = 0; i < 2; i++)
      await caller.client.createTask({ imageUrl: await caller.client.upload(await smallImage()) })
    const response = await send(caller, { body: await imageForm() })
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await codeOf(response)).toBe('rate_limit_exceeded')
    expect(await countUnusedUploads(world, caller.workspaceId)).toBe(0)
  })

  it('shows the limits of the workspace, and answers 429 above the requests per minute', async () => {
    const api = await startApi({
      DATABASE_URL: world.databaseUrl,
      DOORS_REMOVEBG: 'true',
      PLANS: rates(1),
    })
    try {
      const caller = await givenCaller(world.db, api)
      const first = await send(caller, { body: formOf({}), url: api.url })
      expect(first.headers.get('x-ratelimit-limit')).toBe('1')
      expect(first.headers.get('x-ratelimit-remaining')).toBe('0')
      expect(Number(first.headers.get('x-ratelimit-reset'))).toBeGreaterThan(1_600_000_000)
      const second = await send(caller, { body: formOf({}), url: api.url })
      expect([second.status, await codeOf(second)]).toEqual([429, 'rate_limit_exceeded'])
      expect(Number(second.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    } finally {
      await api.stop()
    }
  })

  it('counts images by their megapixels, as remove.bg does, and keeps no upload above the limit', async () => {
    const api = await startApi({ DATABASE_URL: world.databaseUrl, TASKS_MAX_WAIT: '0', PLANS: rates(5) })
    try {
      const caller = await givenCaller(world.db, api)
      const ask = async (width: number, height: number) => {
        const body = formOf({}, { name: 'image_file', bytes: await smallImage('png', width, height) })
        const response = await send(caller, { body, url: api.url })
        return { response, left: response.headers.get('x-ratelimit-remaining') }
      }
      const first = await ask(2_000, 1_001) // counts as three
      expect([first.response.status, first.response.headers.get('x-ratelimit-limit'), first.left]).toEqual([
        503,
        '5',
        '2',
      ])
      expect((await ask(40, 30)).left).toBe('1')
      const { response, left } = await ask(2_000, 600)
      expect([response.status, left, await codeOf(response)]).toEqual([429, '0', 'rate_limit_exceeded'])
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      expect(await countUnusedUploads(world, caller.workspaceId)).toBe(0)
      expect(await countTasks(world, caller.workspaceId)).toBe(2)
      const other = await givenCaller(world.db, api)
      const large = formOf({}, { name: 'image_file', bytes: await smallImage('png', 3_000, 2_500) })
      // An image above the limit passes once.
      expect((await send(other, { body: large, url: api.url })).status).toBe(503)
    } finally {
      await api.stop()
    }
  })

  it('counts an image whose header hides its size as the largest of the plan, and other files as one', async () => {
    const caller = await givenCaller(world.db, world.api)
    const ask = async (bytes: Buffer) => {
      const { headers } = await send(caller, { body: formOf({}, { name: 'image_file', bytes }) })
      return Number(headers.get('x-ratelimit-remaining'))
    }
    const photo = await smallImage('jpeg')
    const segments = Array<Buffer>(600).fill(Buffer.from([0xff, 0xe1, 0, 2]))
    const left = await ask(Buffer.from('no image'))
    expect(await ask(Buffer.concat([photo.subarray(0, 2), ...segments, photo.subarray(2)]))).toBe(left - 50)
    expect(await ask(photo)).toBe(left - 51)
  })

  it('takes the model that the operator has named for the type', async () => {
    const table = { car: 'matte-car', person: 'gone' }
    await world.db
      .insertInto('model')
      .values({ name: 'matte-car', available: true, pool: 'default', triton_model: 'u2netp', is_default: false })
      .execute()
    const api = await startApi({
      ...{ DATABASE_URL: world.databaseUrl, TASKS_MAX_WAIT: '0' },
      DOORS_REMOVEBG_MODELS: JSON.stringify(table),
    })
    try {
      for (const [type, model] of [
        ['car', 'matte-car'],
        ['product', 'service-v2'],
        ['auto', 'service-v2'],
      ] as const) {
        const caller = await givenCaller(world.db, api)
        expect((await send(caller, { body: await imageForm({ type }), url: api.url })).status).toBe(503)
        const tasks = world.db.selectFrom('task').select('model_version').where('workspace_id', '=', caller.workspaceId)
        expect(await tasks.execute()).toEqual([{ model_version: model }])
      }
      const response = await send(await givenCaller(world.db, api), {
        body: await imageForm({ type: 'person' }),
        url: api.url,
      })
      expect([response.status, await codeOf(response)]).toEqual([500, 'server_error'])
    } finally {
      await api.stop()
    }
  })

  it('cancels a task that is still queued when the wait ends, and releases its credit', async () => {
    const caller = await world.caller({ credits: 5 })
    const response = await send(caller, { body: await imageForm() })
    expect([response.status, await codeOf(response)]).toEqual([503, 'timeout'])
    await untilTask(world, caller.workspaceId, 'canceled')
    expect(await balanceOf(caller)).toEqual({ available: 5, held: 0 })
  })

  it('names a task in progress when the wait ends: it is charged, and its result is kept', async () => {
    const caller = await world.caller({ credits: 5 })
    const answering = send(caller, { body: await imageForm() })
    const { id } = await untilTask(world, caller.workspaceId, 'queued')
    await claim(world.db, id)
    const response = await answering
    expect([response.status, response.headers.get('x-task-id')]).toEqual([503, id])
    const { errors } = (await response.json()) as RemovebgErrors
    expect(errors).toMatchObject([{ code: 'timeout', detail: expect.stringContaining(`/tasks/${id}`) }])
    expect(await balanceOf(caller)).toEqual({ available: 4, held: 1 })
  })

  it('refuses a background that is no image, or is not fetched, and keeps no upload', async () => {
    const caller = await world.caller()
    const text = await imageForm()
    text.set('bg_image_file', new Blob(['no image']), 'b.png')
    const refused = await send(caller, { body: text })
    expect([refused.status, await codeOf(refused)]).toEqual([400, 'invalid_file_type'])
    const byUrl = await send(caller, { body: await imageForm({ bg_image_url: 'https://example.com/b.jpg' }) })
    expect([byUrl.status, await codeOf(byUrl)]).toEqual([400, 'not_supported'])
    expect(await countUnusedUploads(world, caller.workspaceId)).toBe(0)
    expect(await countTasks(world, caller.workspaceId)).toBe(0)
  })

  it('releases a background when its task is canceled', async () => {
    const caller = await world.caller()
    const form = await imageForm()
    form.set('bg_image_file', new Blob([Buffer.from(await smallImage())]), 'b.png')
    expect((await send(caller, { body: form })).status).toBe(503)
    await untilTask(world, caller.workspaceId, 'canceled')
    expect(await countUnusedUploads(world, caller.workspaceId)).toBe(0)
  })

  it('shows its headers to pages of allowed origins', async () => {
    const origin = 'https://pages.example.com'
    const api = await startApi({
      DATABASE_URL: world.databaseUrl,
      DOORS_REMOVEBG: 'true',
      CORS_ALLOWED_ORIGINS: origin,
    })
    try {
      const caller = await givenCaller(world.db, api)
      const response = await send(caller, { body: formOf({}), headers: { origin }, url: api.url })
      const exposed = response.headers.get('access-control-expose-headers')
      for (const name of ['X-Credits-Charged', 'X-Width', 'X-Foreground-Top', 'X-Task-Id']) {
        expect(exposed).toContain(name)
      }
    } finally {
      await api.stop()
    }
  })

  it('cancels a task that is still queued when the client disconnects, and releases its credit', async () => {
    const api = await startApi({ DATABASE_URL: world.databaseUrl, DOORS_REMOVEBG: 'true', TASKS_MAX_WAIT: '50' })
    try {
      const caller = await givenCaller(world.db, api, { credits: 5 } satisfies CallerOptions)
      const leaving = new AbortController()
      const answer = send(caller, { body: await imageForm(), url: api.url }, leaving.signal).catch(() => 'left')
      await untilTask(world, caller.workspaceId, 'queued')
      expect(await balanceOf(caller)).toEqual({ available: 4, held: 1 })
      leaving.abort()
      expect(await answer).toBe('left')
      // The end of the wait would cancel the task too.
      await untilTask(world, caller.workspaceId, 'canceled', { timeoutMs: 25_000 })
      expect(await balanceOf(caller)).toEqual({ available: 5, held: 0 })
    } finally {
      await api.stop()
    }
  })
})

describe('POST /v1.0/removebg during maintenance', () => {
  const paused = useApi({ DOORS_REMOVEBG: 'true' })

  it('answers 503 after the checks of the request', async () => {
    await writeSetting(paused.db, 'maintenance', true)
    const caller = await paused.caller()
    const sized = formOf({ image_file_b64: 'AAAA', size: 'full' })
    const refused = await until('the API knows of the maintenance', async () => {
      const response = await send(caller, { body: sized, url: paused.api.url })
      return response.status === 503 ? response : undefined
    })
    expect(await codeOf(refused)).toBe('service_unavailable')
    const invalid = await send(caller, { body: formOf({ size: 'huge' }), url: paused.api.url })
    expect(await codeOf(invalid)).toBe('invalid_parameters')
  })
})

describe('POST /v1.0/improve', () => {
  const improve = (apiKey: string, sent: Sent) =>
    fetch(`${world.api.url}/v1.0/improve`, {
      method: 'POST',
      ...sent,
      headers: { 'X-Api-Key': apiKey, ...sent.headers },
    } as RequestInit)

  it('answers the id of a submission, for each form of body, and keeps nothing', async () => {
    const { apiKey, workspaceId } = await world.caller()
    const b64 = { image_file_b64: (await smallImage()).toString('base64'), tag: 'cats', image_filename: 'cat.png' }
    const bodies: Sent[] = [
      { body: await imageForm({ tag: 'cats' }) },
      { body: new URLSearchParams(b64) },
      json(b64),
      json({ image_url: 'https://example.com/cat.jpg' }),
    ]
    for (const body of bodies) {
      const response = await improve(apiKey, body)
      expect([response.status, await response.json()]).toEqual([200, { id: expect.stringMatching(/^[0-9a-f-]{36}$/) }])
    }
    expect(await countTasks(world, workspaceId)).toBe(0)
    expect(await countUnusedUploads(world, workspaceId)).toBe(0)
  })

  it.each([
    ['without an image', {}, 'missing_source'],
    ['with two images', { image_file_b64: 'AAAA', image_url: 'https://example.com/cat.jpg' }, 'multiple_sources'],
    ['with a file that is no image', { image_file_b64: 'AAAA' }, 'invalid_file_type'],
  ])('answers 400 %s', async (_name, fields: Record<string, string>, code) => {
    const response = await improve((await world.caller()).apiKey, json(fields))
    expect([response.status, await codeOf(response)]).toEqual([400, code])
  })

  it('answers 400 for an image above the plan, and 403 without a key', async () => {
    const bytes = Buffer.concat([await smallImage(), Buffer.alloc(20 * mb)])
    const large = await improve((await world.caller()).apiKey, { body: formOf({}, { name: 'image_file', bytes }) })
    expect([large.status, await codeOf(large)]).toEqual([400, 'image_too_large'])
    const keyless = await improve('', { body: await imageForm() })
    expect([keyless.status, await codeOf(keyless)]).toEqual([403, 'auth_failed'])
  })
})

describe('other paths and methods below /v1.0', () => {
  it.each([
    ['GET', '/v1.0/removebg', 'POST'],
    ['POST', '/v1.0/account', 'GET, HEAD'],
    ['DELETE', '/v1.0/improve', 'POST'],
    ['POST', '/v1.0/removebg/', null],
    ['GET', '/v1.0/other?x=1', null],
    ['PUT', '/v1.0', null],
  ])('answer 404 for %s %s as remove.bg does, with Allow %s', async (method, path, allow) => {
    const response = await fetch(`${world.api.url}${path}`, { method })
    const error = { title: 'Not found', code: 'not_found', detail: expect.any(String) }
    expect([response.status, await response.json()]).toEqual([404, { errors: [error] }])
    expect(response.headers.get('allow')).toBe(allow)
  })

  it('leaves paths of others as they are', async () => {
    for (const path of ['/v1.1/removebg', '/v1', '/elsewhere']) {
      const response = await fetch(`${world.api.url}${path}`)
      expect([response.status, await response.json()]).toMatchObject([404, { error: { code: 'NOT_FOUND' } }])
    }
  })
})

describe('GET /v1.0/account', () => {
  const account = (headers: Record<string, string>) => fetch(`${world.api.url}/v1.0/account`, { headers })

  it('shows the credits of the workspace: those of the plan and others, which add up', async () => {
    const { apiKey, workspaceId } = await world.caller({ credits: 7 })
    await grantCredits(world.db, { workspaceId, kind: 'plan', amount: 4 })
    const response = await account({ 'X-Api-Key': apiKey })
    const credits = { total: 11, subscription: 4, payg: 7, enterprise: 0 }
    expect([response.status, await response.json()]).toEqual([
      200,
      { data: { attributes: { credits, api: { free_calls: 0, sizes: 'all' } } } },
    ])
  })

  it('needs a key', async () => {
    const response = await account({})
    expect([response.status, await codeOf(response)]).toEqual([403, 'auth_failed'])
  })
})
