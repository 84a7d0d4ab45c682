import { releaseUnusedUploads } from '@matte/core/retention/release-uploads'
import { insertGrant } from '@matte/core/upload/grant-queries'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { type Grant, put } from '../support/client.ts'
import { until } from '../support/until.ts'
import { smallImage, useApi } from './given.ts'

const world = useApi()
const grant = { fileName: 'cat.png', contentType: 'image/png' }
const mb = 1_048_576

describe('POST /open/developer/uploads/presign', () => {
  it('returns a grant whose URL accepts the file', async () => {
    const { client } = await world.caller()
    const image = await smallImage()
    const body = { ...grant, fileSize: image.length }
    const { status, data } = await client.call<Grant>('POST', '/uploads/presign', { body })
    expect(status).toBe(200)
    expect(data).toEqual({
      uploadUrl: expect.stringContaining(`${world.api.url}/matte/private-uploads/`),
      objectKey: expect.stringMatching(/^private-uploads\/\d{4}\/\d{2}\/[0-9a-f-]{36}-cat\.png$/),
      method: 'PUT',
      headers: { 'Content-Type': 'image/png', 'Content-Length': String(image.length) },
      expiresAt: expect.any(String),
      maxFileSize: 20 * mb,
    })
    expect(Math.abs(Date.parse(data.expiresAt) - Date.now() - 15 * 60_000)).toBeLessThan(60_000)
    await put(data, image)
  })

  it('accepts a file only with the content type of the grant', async () => {
    const { client } = await world.caller()
    const body = Buffer.from(await smallImage())
    for (const fileSize of [null, body.length]) {
      const { uploadUrl } = await client.presign({ ...grant, fileSize })
      const response = await fetch(uploadUrl, { method: 'PUT', headers: { 'content-type': 'text/html' }, body })
      expect(response.status).toBe(403)
    }
  })

  it('reduces the file name to 100 plain characters', async () => {
    const { client } = await world.caller()
    const { objectKey } = await client.presign({ ...grant, fileName: `../ä b/${'x'.repeat(200)}.png` })
    expect(objectKey.slice('private-uploads/2026/11/'.length)).toMatch(/^[0-9a-f-]{36}-[A-Za-z0-9._-]{100}$/)
    expect(objectKey.endsWith('x.png')).toBe(true)
  })

  it.each([0, -1])('rejects a size of %d as INVALID_PARAMS', async (fileSize) => {
    const { client } = await world.caller()
    const refused = { status: 400, code: 'INVALID_PARAMS', details: { issues: [{ path: '/body/fileSize' }] } }
    await expect(client.presign({ ...grant, fileSize })).rejects.toMatchObject(refused)
  })

  it('rejects one byte above the plan as TASK_FILE_SIZE_EXCEEDED', async () => {
    const { client } = await world.caller()
    await expect(client.presign({ ...grant, fileSize: 20 * mb + 1 })).rejects.toMatchObject({
      status: 400,
      code: 'TASK_FILE_SIZE_EXCEEDED',
      details: { limit: 'bytes', maxFileSize: 20 * mb },
    })
  })

  it.each(['image/gif', 'image/svg+xml', 'text/html', 'png'])('rejects %s', async (contentType) => {
    const { client } = await world.caller()
    const refused = { status: 400, code: 'TASK_FORMAT_NOT_SUPPORTED' }
    await expect(client.presign({ ...grant, contentType })).rejects.toMatchObject(refused)
  })
})

describe('unused uploads', () => {
  const tight = useApi({ PLANS: JSON.stringify({ pro: { maxFileSizeBytes: mb } }) })

  /** Adds this many grants from an hour ago. */
  const givenUnused = (workspaceId: string, count: number, bytes = 0) =>
    sql`
      insert into upload (workspace_id, object_key, content_type, reserved_bytes, created_at, expires_at)
      select ${workspaceId}, gen_random_uuid(), 'image/png', ${bytes}, now() - interval '1 hour', now()
        from generate_series(1, ${count})`.execute(tight.db)

  it('are limited in number: RATE_LIMIT_EXCEEDED, with the time at which the oldest expires', async () => {
    const { client, workspaceId } = await tight.caller()
    await givenUnused(workspaceId, 999)
    await client.presign(grant)
    const refused = await client.presign(grant).catch((error: unknown) => error)
    expect(refused).toMatchObject({
      status: 429,
      code: 'RATE_LIMIT_EXCEEDED',
      details: { limit: 'uploads', count: 1_000, bytes: 500 * mb },
    })
    const { resetsAt } = (refused as { details: { resetsAt: string } }).details
    expect(Math.abs(Date.parse(resetsAt) - Date.now() - 23 * 3_600_000)).toBeLessThan(60_000)
    const { rows } = await sql`select from upload where workspace_id = ${workspaceId}`.execute(tight.db)
    expect(rows).toHaveLength(1_000)
    const other = await tight.caller()
    await other.client.presign(grant) // of another workspace
  })

  it('are limited in bytes, where a file of unknown size counts as the largest one', async () => {
    const { client, workspaceId } = await tight.caller()
    await givenUnused(workspaceId, 1, 498 * mb)
    await client.presign({ ...grant, fileSize: mb - 1 })
    await client.presign(grant)
    const refused = { status: 429, code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'uploads', bytes: 500 * mb } }
    await expect(client.presign(grant)).rejects.toMatchObject(refused)
    await expect(client.presign({ ...grant, fileSize: 2 })).rejects.toMatchObject(refused)
    await client.presign({ ...grant, fileSize: 1 })
    await expect(client.presign({ ...grant, fileSize: 1 })).rejects.toMatchObject(refused)
  })

  it('never exceed the limit, even if a grant is asked for while another commits', async () => {
    const { client, workspaceId } = await tight.caller()
    await givenUnused(workspaceId, 1, 499 * mb)
    let asked: Promise<unknown> | undefined
    await tight.db.transaction().execute(async (tx) => {
      const unusedMax = { count: 1_000, bytes: 500 * mb }
      const last = { workspaceId, objectKey: 'last', contentType: 'image/png', expiresInSeconds: 900 }
      const { expiresAt } = await insertGrant(tx, { ...last, reservedBytes: mb, unusedMax })
      expect(expiresAt).toEqual(expect.any(Date))
      let settled = false
      asked = client.presign(grant).catch((error: unknown) => error)
      void asked.then(() => {
        settled = true
      })
      await until('the second grant waits or is given', async () => {
        const { rows } = await sql`
          select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`.execute(tx)
        return settled || rows.length > 0
      })
    })
    expect(await asked).toMatchObject({ status: 429, details: { limit: 'uploads' } })
  })

  it('are not counted once a task uses them, or they expire', async () => {
    const { client, workspaceId } = await tight.caller()
    await givenUnused(workspaceId, 1_000)
    await expect(client.presign(grant)).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' })
    await sql`update upload set used_at = now() where id = (
      select id from upload where workspace_id = ${workspaceId} limit 1)`.execute(tight.db)
    const upload = await client.presign(grant)
    await expect(client.presign(grant)).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' })
    await put(upload, await smallImage())
    await client.createTask({ imageUrl: upload.objectKey })
    await client.presign(grant)
    await expect(client.presign(grant)).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' })
    await releaseUnusedUploads(tight.db, { now: new Date(Date.now() + 23.5 * 3_600_000), limit: 10_000 })
    await client.presign(grant)
  })
})

describe('GET /open/developer/signing-secret', () => {
  it('returns the same secret each time, and another one to another workspace', async () => {
    const [one, other] = [await world.caller(), await world.caller()]
    const secrets = await Promise.all(Array.from({ length: 10 }, () => one.client.signingSecret()))
    expect(new Set(secrets).size).toBe(1)
    expect(secrets[0]).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(await other.client.signingSecret()).not.toBe(secrets[0])
  })
})
