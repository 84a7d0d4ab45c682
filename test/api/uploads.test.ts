import { describe, expect, it } from 'vitest'
import { put } from '../support/client.ts'
import { smallImage, useApi } from './given.ts'

const world = useApi()
const grant = { fileName: 'cat.png', contentType: 'image/png' }
const mb = 1_048_576

describe('POST /open/developer/uploads/presign', () => {
  it('answers a grant whose URL takes the file', async () => {
    const { client } = await world.caller()
    const { status, data } = await client.call('POST', '/uploads/presign', { body: { ...grant, fileSize: 20 * mb } })
    expect(status).toBe(200)
    expect(data).toEqual({
      uploadUrl: expect.stringContaining(`${world.api.url}/matte/private-uploads/`),
      objectKey: expect.stringMatching(/^private-uploads\/\d{4}\/\d{2}\/[0-9a-f-]{36}-cat\.png$/),
      method: 'PUT',
      headers: { 'Content-Type': 'image/png' },
      expiresAt: expect.any(String),
      maxFileSize: 20 * mb,
    })
    const { expiresAt } = data as { expiresAt: string }
    expect(Math.abs(Date.parse(expiresAt) - Date.now() - 15 * 60_000)).toBeLessThan(60_000)
    await put(await client.presign(grant), await smallImage())
  })

  it('takes a file for the URL only with the content type of the grant', async () => {
    const { client } = await world.caller()
    const { uploadUrl } = await client.presign(grant)
    const body = Buffer.from(await smallImage())
    const response = await fetch(uploadUrl, { method: 'PUT', headers: { 'content-type': 'text/html' }, body })
    expect(response.status).toBe(403)
  })

  it('reduces the file name to plain characters and 100 of them', async () => {
    const { client } = await world.caller()
    const { objectKey } = await client.presign({ ...grant, fileName: `../ä b/${'x'.repeat(200)}.png` })
    expect(objectKey.slice('private-uploads/2026/11/'.length)).toMatch(/^[0-9a-f-]{36}-[A-Za-z0-9._-]{100}$/)
    expect(objectKey.endsWith('x.png')).toBe(true)
  })

  it.each([0, -1])('refuses a size of %d as INVALID_PARAMS', async (fileSize) => {
    const { client } = await world.caller()
    const refused = { status: 400, code: 'INVALID_PARAMS', details: { issues: [{ path: '/body/fileSize' }] } }
    await expect(client.presign({ ...grant, fileSize })).rejects.toMatchObject(refused)
  })

  it('refuses one byte above the plan as TASK_FILE_SIZE_EXCEEDED', async () => {
    const { client } = await world.caller()
    await expect(client.presign({ ...grant, fileSize: 20 * mb + 1 })).rejects.toMatchObject({
      status: 400,
      code: 'TASK_FILE_SIZE_EXCEEDED',
      details: { limit: 'bytes', maxFileSize: 20 * mb },
    })
  })

  it.each(['image/gif', 'image/svg+xml', 'text/html', 'png'])('refuses %s', async (contentType) => {
    const { client } = await world.caller()
    const refused = { status: 400, code: 'TASK_FORMAT_NOT_SUPPORTED' }
    await expect(client.presign({ ...grant, contentType })).rejects.toMatchObject(refused)
  })
})

describe('a grant while lengths are signed', () => {
  const strict = useApi({ UPLOADS_SIGN_CONTENT_LENGTH: 'true' })

  it('takes a file of the length that was given, and of no other', async () => {
    const { client } = await strict.caller()
    const body = Buffer.from(await smallImage())
    const given = await client.presign({ ...grant, fileSize: body.length })
    expect(given.headers).toEqual({ 'Content-Type': 'image/png', 'Content-Length': String(body.length) })
    const shorter = { method: 'PUT', headers: { 'content-type': 'image/png' }, body: body.subarray(1) }
    expect((await fetch(given.uploadUrl, shorter)).status).toBe(403)
    const { 'Content-Type': contentType = '' } = given.headers
    await put({ ...given, headers: { 'Content-Type': contentType } }, body) // every client sends the length by itself
  })

  it('takes any length when none was given', async () => {
    const { client } = await strict.caller()
    const given = await client.presign(grant)
    expect(given.headers).toEqual({ 'Content-Type': 'image/png' })
    await put(given, await smallImage())
  })
})

describe('GET /open/developer/signing-secret', () => {
  it('answers the same secret each time, and another one to another workspace', async () => {
    const [one, other] = [await world.caller(), await world.caller()]
    const secrets = await Promise.all(Array.from({ length: 10 }, () => one.client.signingSecret()))
    expect(new Set(secrets).size).toBe(1)
    expect(secrets[0]).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(await other.client.signingSecret()).not.toBe(secrets[0])
  })
})
