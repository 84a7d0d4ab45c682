// Bytes that a workspace can store by upload URLs, with the store behind the API and with its own public address.
import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { openBucket } from '@matte/core/storage/bucket'
import { uploadLinkSigner } from '@matte/core/storage/upload-link'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { givenPerson } from '../support/app/people.ts'
import type { Grant } from '../support/client.ts'
import { smallImage, useApi } from './given.ts'

const mb = 1_048_576
const photo = { fileName: 'cat.png', contentType: 'image/png' }
const storeEndpoint = inject('storeEndpoint')

const store = openBucket({
  internalEndpoint: storeEndpoint,
  publicEndpoint: storeEndpoint,
  bucket: 'matte',
  region: 'us-east-1',
  accessKeyId: inject('storeAccessKeyId'),
  secretAccessKey: inject('storeSecretAccessKey'),
})
afterAll(() => store.close())

/** Size of the stored object; undefined if there is none. */
const storedBytes = ({ objectKey }: Grant): Promise<number | undefined> =>
  store.head(objectKey, 1).then(
    ({ sizeBytes }) => sizeBytes,
    () => undefined,
  )

type Answer = { readonly status: number; readonly text: string }

async function putTo({ uploadUrl }: Pick<Grant, 'uploadUrl'>, body: Buffer, contentType = 'image/png') {
  const headers = { 'content-type': contentType }
  const response = await fetch(uploadUrl, { method: 'PUT', headers, body: new Uint8Array(body) })
  return { status: response.status, text: await response.text() }
}

/** A PUT in chunks of a MiB, without Content-Length. */
function putChunked({ uploadUrl, headers }: Grant, megabytes: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { 'Content-Type': contentType = '' } = headers
    const sending = request(uploadUrl, { method: 'PUT', headers: { 'Content-Type': contentType } }, (response) => {
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

const tooLarge = { status: 413, text: expect.stringContaining('<Code>EntityTooLarge</Code>') }
const denied = { status: 403, text: expect.stringContaining('<Code>AccessDenied</Code>') }

const places = [
  ['behind the API', {}],
  ['with a public address', { S3_PUBLIC_ENDPOINT: storeEndpoint }],
] as const

describe.each(places)('a store %s', (_place, variables) => {
  const world = useApi(variables)

  /** A grant of the App API on plan Free, whose files have 10 MiB at most. */
  async function presignFree(body: object = photo): Promise<Grant> {
    const { client } = await givenPerson(world.db, world.api, { plan: 'free', credits: 10 })
    const { data } = await client.call<Grant>('POST', '/tasks/uploads/presign', { body })
    return data
  }

  it('takes exactly the announced bytes', async () => {
    const image = await smallImage()
    const grant = await presignFree({ ...photo, fileSize: image.length })
    expect(grant.headers).toEqual({ 'Content-Type': 'image/png', 'Content-Length': String(image.length) })
    for (const body of [image.subarray(1), Buffer.alloc(image.length + 1), Buffer.alloc(11 * mb)]) {
      expect((await putTo(grant, body)).status).toBeGreaterThanOrEqual(400)
    }
    expect((await putChunked(grant, 11)).status).toBeGreaterThanOrEqual(400)
    expect(await storedBytes(grant)).toBeUndefined()
    expect((await putTo(grant, image)).status).toBe(200)
    expect(await storedBytes(grant)).toBe(image.length)
  })

  it('takes the largest file of the plan where no size was announced', async () => {
    const grant = await presignFree()
    expect(grant).toMatchObject({ headers: { 'Content-Type': 'image/png' }, maxFileSize: 10 * mb })
    expect((await putTo(grant, Buffer.alloc(10 * mb))).status).toBe(200)
    expect(await storedBytes(grant)).toBe(10 * mb)
  })

  it('takes no byte more, whether the length is sent or not', async () => {
    const grant = await presignFree()
    expect(await putTo(grant, Buffer.alloc(10 * mb + 1))).toEqual(tooLarge)
    expect(await putChunked(grant, 11)).toEqual(tooLarge)
    expect(await storedBytes(grant)).toBeUndefined()
  })

  it('keeps one object per URL: the last PUT replaces the others', async () => {
    const grant = await presignFree()
    const [first, second] = [await smallImage(), await smallImage('png', 50, 50)]
    await putTo(grant, first)
    await putTo(grant, second)
    expect(await storedBytes(grant)).toBe(second.length)
  })
})

describe('an upload URL without a length', () => {
  const world = useApi({ S3_PUBLIC_ENDPOINT: storeEndpoint })
  const presign = async (body: Record<string, unknown> = photo) => (await world.caller()).client.presign(body)

  it('is of the API, and means nothing to the store', async () => {
    const { uploadUrl, objectKey } = await presign()
    const { origin, pathname, search } = new URL(uploadUrl)
    expect([origin, pathname]).toEqual([world.api.url, `/files/${objectKey}`])
    for (const path of [`/matte/${objectKey}`, pathname]) {
      const { status } = await putTo({ uploadUrl: `${storeEndpoint}${path}${search}` }, await smallImage())
      expect(status).toBe(403)
    }
  })

  it('is refused after any change, with another content type, and for another method', async () => {
    const grant = await presign()
    const other = await presign()
    const changed = (name: string, value: string): string => {
      const url = new URL(grant.uploadUrl)
      url.searchParams.set(name, value)
      return url.href
    }
    const urls = [
      changed('maxBytes', String(30 * mb)),
      changed('expires', String(Math.floor(Date.now() / 1_000) + 3_600)),
      changed('signature', randomBytes(32).toString('base64url')),
      changed('key', 'other'),
      grant.uploadUrl.replace(grant.objectKey, other.objectKey),
      grant.uploadUrl.replace(/\?.*/, ''),
    ]
    for (const uploadUrl of urls) expect(await putTo({ uploadUrl }, await smallImage())).toEqual(denied)
    expect(await putTo(grant, await smallImage(), 'text/html')).toEqual(denied)
    expect((await fetch(grant.uploadUrl)).status).toBe(403)
    expect([await storedBytes(grant), await storedBytes(other)]).toEqual([undefined, undefined])
    expect((await putTo(grant, await smallImage())).status).toBe(200)
  })

  it('is refused once it has expired', async () => {
    const { objectKey } = await presign()
    const link = { objectKey, contentType: 'image/png', maxBytes: mb }
    const late = uploadLinkSigner(world.api.config.masterKeys).sign(link, Math.floor(Date.now() / 1_000) - 1)
    expect(await putTo({ uploadUrl: `${world.api.url}/files/${late}` }, await smallImage())).toEqual(denied)
  })
})

describe('a store that signs no lengths', () => {
  const world = useApi({ S3_PUBLIC_ENDPOINT: storeEndpoint, UPLOADS_SIGN_CONTENT_LENGTH: 'false' })

  it('gets every upload through the API, which accepts at most the announced bytes', async () => {
    const { client } = await world.caller()
    const grant = await client.presign({ ...photo, fileSize: 1_000 })
    expect(grant.uploadUrl).toContain(`${world.api.url}/files/`)
    expect(grant.headers).toEqual({ 'Content-Type': 'image/png' })
    expect(await putTo(grant, Buffer.alloc(1_001))).toEqual(tooLarge)
    expect(await storedBytes(grant)).toBeUndefined()
    expect((await putTo(grant, Buffer.alloc(999))).status).toBe(200)
  })
})
