import { abandonFetch, claimFetches, endFetch } from '@matte/core/upload/fetch/fetch-queries'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Fetcher, startFetcher } from '../dispatcher/fetcher.ts'
import { type Receiver, startReceiver } from '../dispatcher/receiver.ts'
import { startApi } from '../support/api.ts'
import { processDb } from '../support/roles.ts'
import { createTestBucket, type TestBucket } from '../support/store.ts'
import { until } from '../support/until.ts'
import { countUnusedUploads } from './doors.ts'
import { type Caller, givenCaller, smallImage, useApi } from './given.ts'

const world = useApi({ UPLOADS_FETCH_URLS: 'true' })
const mb = 1_048_576
let image: Buffer
let receiver: Receiver
let fetcher: Fetcher
let bucket: TestBucket

beforeAll(async () => {
  image = await smallImage('jpeg')
  receiver = await startReceiver((response, { path }) => {
    if (path.startsWith('/cat.jpg')) response.end(image)
    else if (path === '/page') response.end('<!doctype html><title>no image</title>')
    else if (path === '/huge') response.writeHead(200, { 'content-length': 21 * mb }).write(image)
    else if (path === '/moved') response.writeHead(301, { location: 'https://images.example/cat.jpg' }).end()
    else if (path === '/inwards') response.writeHead(302, { location: 'http://inside.example/cat.jpg' }).end()
    else if (path !== '/hangs') response.writeHead(404).end()
  })
  fetcher = await startFetcher(world.db, receiver)
  const { s3Endpoint, s3AccessKeyId, s3SecretAccessKey, s3Bucket: name } = world.api.config
  const access = { endpoint: s3Endpoint, accessKeyId: s3AccessKeyId, secretAccessKey: s3SecretAccessKey }
  bucket = await createTestBucket(access, { name })
})
afterAll(async () => {
  await fetcher.stop()
  await receiver.close()
  bucket.close()
})

type Fetched = { objectKey: string; contentType: string; fileSize: number }

const fetchUrl = ({ client }: Pick<Caller, 'client'>, url: unknown) =>
  client.call<Fetched>('POST', '/uploads/fetch', { body: { url } })

const rowOf = (objectKey: string) =>
  world.db.selectFrom('upload_fetch').selectAll().where('object_key', '=', objectKey).executeTakeFirstOrThrow()

describe('POST /open/developer/uploads/fetch', () => {
  it('stores the image under an object key that a task accepts', async () => {
    const caller = await world.caller()
    const { status, data } = await fetchUrl(caller, 'http://images.example/cat.jpg?token=secret-token')
    expect([status, data]).toEqual([
      200,
      { objectKey: expect.stringMatching(/cat\.jpg$/), contentType: 'image/jpeg', fileSize: image.length },
    ])
    expect((await bucket.get(data.objectKey, { maxBytes: mb })).equals(image)).toBe(true)
    expect(await caller.client.createTask({ imageUrl: data.objectKey })).toMatchObject({ status: 'queued' })
    const stranger = await world.caller()
    await expect(stranger.client.createTask({ imageUrl: data.objectKey })).rejects.toMatchObject({
      code: 'TASK_INPUT_FORBIDDEN',
    })
    // Neither the row nor the log keeps the caller's token or the store's signature.
    const row = await rowOf(data.objectKey)
    expect(row).toMatchObject({ outcome: 'STORED', url: null, upload_url: null })
    expect(JSON.stringify(fetcher.lines)).not.toMatch(/secret-token|X-Amz-Signature/)
    expect(await fetcher.metrics()).toMatch(/matte_upload_fetches_total{outcome="STORED".*} 1/)
  })

  const unreachable = expect.stringContaining('public internet address')
  it.each([
    ['http://127.0.0.1/cat.jpg', unreachable],
    ['http://169.254.169.254/latest/meta-data/', unreachable],
    ['http://[::1]/cat.jpg', unreachable],
    ['http://inside.example/cat.jpg', unreachable],
    ['http://images.example/inwards', unreachable],
    ['https://images.example/cat.jpg', unreachable], // the receiver speaks no TLS
    ['http://images.example/moved', unreachable],
    ['http://images.example/none', expect.stringContaining('404')],
    ['http://images.example:6379/cat.jpg', expect.stringContaining('port')],
    ['ftp://images.example/cat.jpg', expect.stringContaining('http')],
    ['cat.jpg', expect.stringContaining('absolute URL')],
    ['', expect.any(String)],
    [7, expect.any(String)],
  ])('answers INVALID_PARAMS for %j, and keeps no upload', async (url, message) => {
    const caller = await world.caller()
    await expect(fetchUrl(caller, url)).rejects.toMatchObject({
      status: 400,
      code: 'INVALID_PARAMS',
      details: { issues: [{ path: '/body/url', message }] },
    })
    expect(await countUnusedUploads(world, caller.workspaceId)).toBe(0)
  })

  it.each([
    ['/page', 'TASK_FORMAT_NOT_SUPPORTED'],
    ['/huge', 'TASK_FILE_SIZE_EXCEEDED'],
  ])('refuses %s with %s, and keeps no upload', async (path, code) => {
    const caller = await world.caller()
    await expect(fetchUrl(caller, `http://images.example${path}`)).rejects.toMatchObject({ status: 400, code })
    expect(await countUnusedUploads(world, caller.workspaceId)).toBe(0)
  })

  it('refuses a format outside the plan', async () => {
    const api = await startApi({
      DATABASE_URL: world.databaseUrl,
      UPLOADS_FETCH_URLS: 'true',
      PLANS: '{"pro":{"inputFormats":["png"]}}',
    })
    try {
      const caller = await givenCaller(world.db, api)
      await expect(fetchUrl(caller, 'http://images.example/cat.jpg')).rejects.toMatchObject({
        code: 'TASK_FORMAT_NOT_SUPPORTED',
        details: { allowed: ['image/png'] },
      })
      expect(await countUnusedUploads(world, caller.workspaceId)).toBe(0)
    } finally {
      await api.stop()
    }
  })

  it('needs the scope uploads:write', async () => {
    const caller = await world.caller({ scopes: ['tasks:write'] })
    await expect(fetchUrl(caller, 'http://images.example/cat.jpg')).rejects.toMatchObject({ status: 403 })
  })

  it('answers CONFLICT unless the setting turns it on', async () => {
    const api = await startApi({ DATABASE_URL: world.databaseUrl })
    try {
      const caller = await givenCaller(world.db, api)
      await expect(fetchUrl(caller, 'http://images.example/cat.jpg')).rejects.toMatchObject({
        status: 409,
        code: 'CONFLICT',
        message: expect.stringContaining('Upload the file'),
      })
    } finally {
      await api.stop()
    }
  })

  it('bounds the open fetches of a workspace, and ends those whose caller has left', async () => {
    const caller = await world.caller()
    const leaving = new AbortController()
    const hanging = Array.from({ length: 20 }, () =>
      fetch(`${world.api.url}/api/v1/open/developer/uploads/fetch`, {
        method: 'POST',
        headers: { 'x-api-key': caller.apiKey, 'content-type': 'application/json' },
        body: '{"url":"http://images.example/hangs"}',
        signal: leaving.signal,
      }).catch(() => 'left'),
    )
    const openOf = () =>
      world.db
        .selectFrom('upload_fetch')
        .select(['claim', 'url'])
        .where('workspace_id', '=', caller.workspaceId)
        .where('ended_at', 'is', null)
        .execute()
    await until('all are open', async () => (await openOf()).length === 20)
    await expect(fetchUrl(caller, 'http://images.example/cat.jpg')).rejects.toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      details: { limit: 'fetches' },
    })
    await until('four are in flight', async () => (await openOf()).filter(({ claim }) => claim !== null).length === 4)
    const other = await world.caller()
    expect((await fetchUrl(other, 'http://images.example/cat.jpg')).status).toBe(200)
    expect((await openOf()).filter(({ claim }) => claim !== null)).toHaveLength(4)
    leaving.abort()
    await Promise.all(hanging)
    await until('all have ended', async () => (await openOf()).length === 0)
  })
})

describe('a claimed fetch', () => {
  const given = async (owner?: string) => {
    const workspaceId = owner ?? (await world.caller()).workspaceId
    const { id } = await world.db
      .insertInto('upload_fetch')
      .values({
        workspace_id: workspaceId,
        object_key: `private-uploads/2026/11/${workspaceId}`,
        url: 'http://images.example/hangs',
        upload_url: 'http://store.example/',
        max_bytes: 1_000,
        expires_at: sql<Date>`now() + interval '1 hour'`,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    return id
  }
  const dispatcher = () => processDb('dispatcher', world.db)
  const claim = async (id: string, { perWorkspace = 4 } = {}) => {
    const options = { limit: 100, claimMs: 60_000, perWorkspace, maxBytes: 1_000_000_000, idle: true }
    return (await claimFetches(dispatcher(), options)).find((fetch) => fetch.id === id)
  }
  const stored = { outcome: 'STORED', contentType: 'image/png', sizeBytes: 5 } as const

  beforeAll(() => fetcher.stop())

  it('is taken over when its claim expires, and ends once', async () => {
    const id = await given()
    const first = await claim(id)
    expect(first).toMatchObject({ takenOver: false, url: 'http://images.example/hangs' })
    expect(await claim(id)).toBeUndefined()
    await sql`update upload_fetch set claimed_until = now() where id = ${id}`.execute(world.db)
    const second = await claim(id)
    expect(second).toMatchObject({ takenOver: true })
    if (first === undefined || second === undefined) throw new Error('not claimed')
    expect(await endFetch(dispatcher(), first, stored)).toBe(false)
    expect(await endFetch(dispatcher(), second, stored)).toBe(true)
    expect(await endFetch(dispatcher(), second, { outcome: 'TIMEOUT' })).toBe(false)
    expect(await abandonFetch(processDb('api', world.db), id)).toBe(false)
  })

  it('writes nothing once its caller has left, and counts until its claim ends', async () => {
    const { workspaceId } = await world.caller()
    const id = await given(workspaceId)
    const claimed = await claim(id)
    expect(await abandonFetch(processDb('api', world.db), id)).toBe(true)
    if (claimed === undefined) throw new Error('not claimed')
    expect(await endFetch(dispatcher(), claimed, stored)).toBe(false)
    const next = await given(workspaceId)
    expect(await claim(next, { perWorkspace: 1 })).toBeUndefined()
    expect(await claim(next, { perWorkspace: 2 })).toMatchObject({ id: next })
  })

  it('is not begun after its caller has left', async () => {
    const id = await given()
    await sql`update upload_fetch set expires_at = now() where id = ${id}`.execute(world.db)
    expect(await claim(id)).toBeUndefined()
  })

  it('waits while the images in flight may need all memory, unless none is in flight', async () => {
    const id = await given()
    const options = { limit: 100, claimMs: 60_000, perWorkspace: 4, maxBytes: 999, idle: false }
    expect(await claimFetches(dispatcher(), options)).toEqual([])
    expect(await claimFetches(dispatcher(), { ...options, idle: true })).toMatchObject([{ id }])
  })
})
