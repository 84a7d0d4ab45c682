import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { openBucket } from '@matte/core/storage/bucket'
import { afterAll, describe, expect, it } from 'vitest'
import type { Grant } from '../support/client.ts'
import { useApi } from './given.ts'

const mb = 1_048_576
const largest = 25 * mb
const world = useApi({
  CORS_ALLOWED_ORIGINS: 'https://app.example.com',
  PLANS: JSON.stringify({ enterprise: { maxFileSizeBytes: largest } }),
})

/** The bucket through the API's origin, with requests signed like a caller's. */
let opened: ReturnType<typeof openBucket> | undefined
function bucket() {
  const { config } = world.api
  opened ??= openBucket({
    internalEndpoint: config.s3Endpoint,
    publicEndpoint: config.publicUrl,
    bucket: config.s3Bucket,
    region: config.s3Region,
    accessKeyId: config.s3AccessKeyId,
    secretAccessKey: config.s3SecretAccessKey,
  })
  return opened
}
afterAll(() => opened?.close())

async function givenObject(bytes: Buffer) {
  const key = `results/${randomBytes(8).toString('hex')}.png`
  await bucket().put(key, bytes, { contentType: 'image/png' })
  const url = bucket().presignGet(key, { contentType: 'image/png', fileName: 'a.png', expiresInSeconds: 600 })
  return { key, url }
}

/** A grant of this many bytes on the plan with the largest files: its URL is verified by the store. */
const presign = async (fileSize: number): Promise<Grant> => {
  const { client } = await world.caller({ plan: 'enterprise' })
  return client.presign({ fileName: 'a.png', contentType: 'image/png', fileSize })
}

/** Every client sends the length by itself; a wrong one of the grant would break the request. */
const putTo = ({ uploadUrl }: Grant, body: Buffer, more: Record<string, string> = {}) =>
  fetch(uploadUrl, { method: 'PUT', headers: { 'content-type': 'image/png', ...more }, body: Buffer.from(body) })

/** The stored object; undefined if there is none. */
const stored = ({ objectKey }: Grant): Promise<Buffer | undefined> =>
  bucket()
    .get(objectKey, { maxBytes: 30 * mb })
    .catch(() => undefined)

describe('a presigned URL through the API', () => {
  it('uploads a file and downloads it, byte for byte', async () => {
    const bytes = randomBytes(5 * mb)
    const grant = await presign(bytes.length)
    const response = await putTo(grant, bytes)
    expect(response.status).toBe(200)
    expect(response.headers.get('etag')).toMatch(/^"[0-9a-f]{32}"$/)
    expect((await stored(grant))?.equals(bytes)).toBe(true)
    const url = bucket().presignGet(grant.objectKey, {
      contentType: 'image/png',
      fileName: 'a.png',
      expiresInSeconds: 60,
    })
    const read = await fetch(url)
    expect(Buffer.from(await read.arrayBuffer()).equals(bytes)).toBe(true)
    expect(read.headers.get('content-length')).toBe(String(bytes.length))
  })

  it('supports ranges', async () => {
    const { url } = await givenObject(Buffer.from('0123456789'))
    const part = await fetch(url, { headers: { range: 'bytes=2-5' } })
    expect([part.status, await part.text(), part.headers.get('content-range')]).toEqual([206, '2345', 'bytes 2-5/10'])
    expect((await fetch(url, { headers: { range: 'bytes=20-' } })).status).toBe(416)
  })

  it('supports conditional requests', async () => {
    const { url } = await givenObject(Buffer.from('0123456789'))
    const etag = (await fetch(url)).headers.get('etag') ?? ''
    expect((await fetch(url, { headers: { 'if-none-match': etag } })).status).toBe(304)
    expect((await fetch(url, { headers: { 'if-match': '"0"' } })).status).toBe(412)
    expect((await fetch(url, { headers: { 'if-match': etag } })).status).toBe(200)
  })

  it('is rejected by the store after any change', async () => {
    const { url } = await givenObject(Buffer.from('x'))
    for (const changed of [
      url.replace('results/', 'results//'),
      `${url}&a=b`,
      url.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x')),
    ]) {
      expect((await fetch(changed)).status).toBe(403)
    }
    expect((await fetch(url, { method: 'PUT', body: 'x' })).status).toBe(403)
  })

  it('cannot copy an object of another workspace', async () => {
    const { key } = await givenObject(Buffer.from('secret'))
    const grant = await presign(4)
    const response = await putTo(grant, Buffer.from('mine'), { 'x-amz-copy-source': `/matte/${key}` })
    expect(response.status).toBe(200)
    expect((await stored(grant))?.toString()).toBe('mine')
  })
})

describe('a request without a signature', () => {
  it.each([
    ['GET', 'results/a.png'],
    ['HEAD', 'results/a.png'],
    ['PUT', 'private-uploads/2026/11/a.png'],
    ['GET', ''],
    ['GET', '?list-type=2'],
  ])('%s /matte/%s is 403, with or without API credentials', async (method, path) => {
    const { apiKey } = await world.caller()
    const body = method === 'PUT' ? Buffer.alloc(2 * mb) : null
    const headers = { 'x-api-key': apiKey, authorization: 'Bearer x' }
    expect((await fetch(`${world.api.url}/matte/${path}`, { method, headers, body })).status).toBe(403)
  })

  it.each(['POST', 'DELETE', 'PATCH'])('%s does not reach the store', async (method) => {
    const response = await fetch(`${world.api.url}/matte/results/a.png`, { method })
    expect([response.status, response.headers.get('allow')]).toEqual([404, 'GET, HEAD, PUT'])
  })
})

describe('the largest file of any plan', () => {
  it('is accepted', async () => {
    const grant = await presign(largest)
    expect((await putTo(grant, Buffer.alloc(largest))).status).toBe(200)
  })

  it('limits bodies by their length, in the format of the store', async () => {
    const grant = await presign(largest)
    const response = await putTo(grant, Buffer.alloc(largest + 1))
    expect(response.status).toBe(413)
    expect(response.headers.get('content-type')).toBe('application/xml')
    expect(await response.text()).toContain('<Code>EntityTooLarge</Code>')
    expect(await stored(grant)).toBeUndefined()
  })

  it('limits bodies of unknown length, and stores nothing', async () => {
    const grant = await presign(largest)
    const { status, text } = await putChunked(grant, largest / mb + 1)
    expect(status).toBe(413)
    expect(text).toContain('EntityTooLarge')
    expect(await stored(grant)).toBeUndefined()
  })
})

describe('responses of the store', () => {
  it('are sandboxed and not sniffed, with any status', async () => {
    const { url } = await givenObject(Buffer.from('<html>'))
    for (const target of [url, `${world.api.url}/matte/none`]) {
      const { headers } = await fetch(target)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('content-security-policy')).toBe("sandbox; default-src 'none'")
      expect(headers.get('server')).toBeNull()
    }
  })

  it('are readable for pages of the allowed origins, uploads included', async () => {
    const { url } = await givenObject(Buffer.from('x'))
    const origin = 'https://app.example.com'
    const read = await fetch(url, { headers: { origin } })
    expect(read.headers.get('access-control-allow-origin')).toBe(origin)
    const { uploadUrl } = await presign(1)
    const headers = { origin, 'access-control-request-method': 'PUT', 'access-control-request-headers': 'content-type' }
    const preflight = await fetch(uploadUrl, { method: 'OPTIONS', headers })
    expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([
      200,
      'GET, HEAD, PUT, POST, PATCH, DELETE',
    ])
  })
})

/** A PUT of this many MiB in chunks, without Content-Length. */
function putChunked({ uploadUrl }: Grant, megabytes: number): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'image/png' }
    const sending = request(uploadUrl, { method: 'PUT', headers }, (response) => {
      let text = ''
      response.on('data', (bytes: Buffer) => {
        text += bytes.toString()
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sending.on('error', reject)
    for (let i = 0; i < megabytes; i++) sending.write(Buffer.alloc(mb))
    sending.end()
  })
}
