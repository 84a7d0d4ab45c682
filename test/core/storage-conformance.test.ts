// Requirements of the service on an object store, tested with every supported store and, as far as applicable, with the
// memory bucket.
import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type Bucket, openBucket } from '@matte/core/storage/bucket'
import { createPresigner } from '@matte/core/storage/signature-v4'
import type { RunningServer } from '@matte/local/lifecycle/server'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { freePorts } from '../support/free-ports.ts'
import { memoryBucket } from '../support/memory-bucket.ts'
import { createTestBucket, newBucketName, type StoreAccess, sharedStore, type TestBucket } from '../support/store.ts'
import { installVersitygw, startVersitygw } from '../support/versitygw.ts'

const png = { contentType: 'image/png' }
const bytes = Buffer.from(Array.from({ length: 5_000 }, (_, index) => index % 251))
const maxBytes = 1_000_000

function itIsABucket(open: () => Bucket): void {
  const key = 'private-uploads/2026/01/a photo (1)+&=é.png'

  it('returns a stored object with its size, its ETag and its first bytes', async () => {
    const bucket = open()
    await bucket.put(key, bytes, png)
    const { etag, sizeBytes, bytes: first } = await bucket.head(key, 100)
    expect(sizeBytes).toBe(bytes.length)
    expect(Buffer.from(first)).toEqual(bytes.subarray(0, 100))
    expect(etag).toBe(`"${createHash('md5').update(bytes).digest('hex')}"`)
    expect(await bucket.get(key, { etag, maxBytes })).toEqual(bytes)
  })

  it('returns the first bytes of a shorter object', async () => {
    const bucket = open()
    await bucket.put('small', bytes.subarray(0, 10), png)
    const { sizeBytes, bytes: first } = await bucket.head('small', 131_072)
    expect(sizeBytes).toBe(10)
    expect(Buffer.from(first)).toEqual(bytes.subarray(0, 10))
  })

  it('handles an empty object like any other', async () => {
    const bucket = open()
    await bucket.put('empty', Buffer.alloc(0), png)
    expect(await bucket.head('empty', 100)).toMatchObject({ sizeBytes: 0 })
    expect(await bucket.get('empty', { maxBytes })).toHaveLength(0)
  })

  it('reports an overwritten object as changed', async () => {
    const bucket = open()
    await bucket.put('changing', bytes, png)
    const { etag } = await bucket.head('changing', 1)
    await bucket.put('changing', bytes.subarray(1), png)
    await expect(bucket.get('changing', { etag, maxBytes })).rejects.toMatchObject({ kind: 'changed' })
    await bucket.put('changing', bytes, png)
    expect(await bucket.get('changing', { etag, maxBytes })).toEqual(bytes)
  })

  it('reports an absent or deleted object as missing', async () => {
    const bucket = open()
    await expect(bucket.head('never', 10)).rejects.toMatchObject({ kind: 'missing' })
    await expect(bucket.get('never', { maxBytes })).rejects.toMatchObject({ kind: 'missing' })
    await bucket.put('gone', bytes, png)
    const { etag } = await bucket.head('gone', 1)
    await bucket.delete('gone')
    await bucket.delete('gone')
    await expect(bucket.get('gone', { etag, maxBytes })).rejects.toMatchObject({ kind: 'missing' })
  })

  it('reads at most the given number of bytes', async () => {
    const bucket = open()
    await bucket.put('large', bytes, png)
    expect(await bucket.get('large', { maxBytes: bytes.length })).toHaveLength(bytes.length)
    await expect(bucket.get('large', { maxBytes: bytes.length - 1 })).rejects.toMatchObject({ kind: 'changed' })
  })

  it('opens an object as a stream: whole, in part, or its head only', async () => {
    const bucket = open()
    await bucket.put('streamed', bytes, png)
    const { etag } = await bucket.head('streamed', 1)
    const whole = await bucket.open('streamed')
    expect(whole).toMatchObject({ etag, lengthBytes: bytes.length, contentRange: undefined })
    expect(Buffer.concat((await whole.body?.toArray()) ?? [])).toEqual(bytes)
    const part = await bucket.open('streamed', { range: 'bytes=10-19' })
    expect(part).toMatchObject({ etag, lengthBytes: 10, contentRange: `bytes 10-19/${bytes.length}` })
    expect(Buffer.concat((await part.body?.toArray()) ?? [])).toEqual(bytes.subarray(10, 20))
    const head = await bucket.open('streamed', { headOnly: true })
    expect(head).toMatchObject({ etag, lengthBytes: bytes.length, body: undefined })
  })

  it('opens nothing for a matching If-None-Match', async () => {
    const bucket = open()
    await bucket.put('known', bytes, png)
    const { etag } = await bucket.head('known', 1)
    for (const headOnly of [false, true]) {
      const known = await bucket.open('known', { ifNoneMatch: etag, headOnly })
      expect(known).toMatchObject({ unchanged: true, body: undefined })
      expect([etag, '']).toContain(known.etag) // one of the stores omits it here
      const other = await bucket.open('known', { ifNoneMatch: '"other"', headOnly })
      expect(other).toMatchObject({ etag, unchanged: false, lengthBytes: bytes.length })
      await other.body?.toArray()
    }
  })

  it('lists keys below a prefix only', async () => {
    const bucket = open()
    const keys = ['below/1/a.png', 'below/1/b.png', 'below/12.png', 'below/2/a.png']
    for (const each of keys) await bucket.put(each, bytes, png)
    expect((await bucket.list('below/1/')).sort()).toEqual(keys.slice(0, 2))
    expect(await bucket.list('below/3/')).toEqual([])
    for (const each of keys) await bucket.delete(each)
    expect(await bucket.list('below/')).toEqual([])
  })

  it('opens neither missing objects nor invalid ranges', async () => {
    const bucket = open()
    await bucket.put('streamed', bytes, png)
    const outside = { range: `bytes=${bytes.length}-` }
    await expect(bucket.open('streamed', outside)).rejects.toMatchObject({ kind: 'range' })
    await expect(bucket.open('never')).rejects.toMatchObject({ kind: 'missing' })
    await expect(bucket.open('never', { headOnly: true })).rejects.toMatchObject({ kind: 'missing' })
  })

  it('responds to a probe', async () => {
    expect(await open().probe(5_000)).toBe(true)
  })

  it('may be created again', async () => {
    await open().ensure()
  })
}

function itPresigns(open: () => TestBucket, store: () => StoreAccess): void {
  const putUrl = async (key: string, seconds = 900): Promise<string> =>
    (await open().presignPut(key, { ...png, expiresInSeconds: seconds, sizeBytes: bytes.length })).url
  const getUrl = (key: string): string =>
    open().presignGet(key, { contentType: 'image/png', fileName: 'cut-out.png', expiresInSeconds: 604_800 })
  const send = (url: string, body: Buffer, contentType: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: 'PUT', body: new Uint8Array(body), headers: { 'content-type': contentType, ...headers } })

  it('a PUT with the signed content type, which the store keeps', async () => {
    const response = await send(await putUrl('signed/é (1).png'), bytes, 'image/png')
    expect(response.status).toBe(200)
    expect(await open().get('signed/é (1).png', { maxBytes })).toEqual(bytes)
  })

  it('no PUT with another content type', async () => {
    expect((await send(await putUrl('typed'), bytes, 'text/html')).status).toBe(403)
    await expect(open().head('typed', 1)).rejects.toMatchObject({ kind: 'missing' })
  })

  it('a PUT of the signed length, and of no other', async () => {
    const { url } = await open().presignPut('sized', {
      contentType: 'image/png',
      expiresInSeconds: 900,
      sizeBytes: 100,
    })
    for (const size of [99, 101]) {
      expect((await send(url, bytes.subarray(0, size), 'image/png')).status).toBe(403)
    }
    await expect(open().head('sized', 1)).rejects.toMatchObject({ kind: 'missing' })
    expect((await send(url, bytes.subarray(0, 100), 'image/png')).status).toBe(200)
  })

  it.each([
    ['of unknown length', ''],
    ['that announces the signed length and sends chunks', 'Content-Length: 100\r\n'],
  ])('no PUT %s beyond the signed length', async (_what, header) => {
    const sized = { contentType: 'image/png', expiresInSeconds: 900, sizeBytes: 100 }
    const { url } = await open().presignPut('chunked', sized)
    expect(await sendChunks(new URL(url), header, bytes)).toBeGreaterThanOrEqual(400)
    await expect(open().head('chunked', 1)).rejects.toMatchObject({ kind: 'missing' })
  })

  it('no PUT to another key, and no other method', async () => {
    const url = await putUrl('mine')
    expect((await send(url.replace('mine', 'yours'), bytes, 'image/png')).status).toBe(403)
    expect((await fetch(url)).status).toBe(403)
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(403)
  })

  it('nothing after its expiry', async () => {
    const presign = createPresigner({ ...store(), region: 'us-east-1', bucket: open().name })
    const hourAgo = new Date(Date.now() - 3_600_000)
    const headers = { 'content-type': 'image/png' }
    const url = presign({ method: 'PUT', key: 'late', expiresInSeconds: 3_000, at: hourAgo, headers })
    expect((await send(url, bytes, 'image/png')).status).toBe(403)
    const intime = presign({ method: 'PUT', key: 'in-time', expiresInSeconds: 7_000, at: hourAgo, headers })
    expect((await send(intime, bytes, 'image/png')).status).toBe(200)
  })

  it('a download with file name and content type, whatever the object was stored as', async () => {
    await open().put('result', bytes, png)
    const response = await fetch(getUrl('result'))
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('image/png')
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="cut-out.png"')
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes)
  })

  it('a download in parts', async () => {
    await open().put('ranged', bytes, png)
    const response = await fetch(getUrl('ranged'), { headers: { range: 'bytes=10-19' } })
    expect(response.status).toBe(206)
    expect(response.headers.get('content-range')).toBe(`bytes 10-19/${bytes.length}`)
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes.subarray(10, 20))
  })

  it('a download with 304 for a matching ETag', async () => {
    await open().put('cached', bytes, png)
    const etag = (await fetch(getUrl('cached'))).headers.get('etag') ?? ''
    expect((await fetch(getUrl('cached'), { headers: { 'if-none-match': etag } })).status).toBe(304)
    expect((await fetch(getUrl('cached'), { headers: { 'if-match': '"other"' } })).status).toBe(412)
  })

  it('no download of a missing object, and none without a signature', async () => {
    expect((await fetch(getUrl('missing'))).status).toBe(404)
    await open().put('private', bytes, png)
    const { origin, pathname } = new URL(getUrl('private'))
    expect((await fetch(origin + pathname)).status).toBe(403)
  })
}

/** Sends the bytes in one chunk, as no HTTP client does with a Content-Length; returns the status, 400 if cut off. */
function sendChunks({ host, hostname, port, pathname, search }: URL, header: string, body: Buffer): Promise<number> {
  const head = `PUT ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: image/png\r\n${header}`
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    socket.once('data', (answer: Buffer) => {
      socket.destroy()
      resolve(Number(answer.toString().split(' ')[1]))
    })
    socket.on('error', () => undefined)
    socket.once('close', () => resolve(400))
    socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`)
    socket.write(Buffer.concat([body, Buffer.from('\r\n0\r\n\r\n')]))
  })
}

/** The whole suite on a bucket of the store that `findStore` returns. */
function itIsAStore(findStore: () => Promise<StoreAccess>): void {
  let store: StoreAccess | undefined
  let bucket: TestBucket | undefined
  const there = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error('the store is there inside tests and hooks only')
    return value
  }
  beforeAll(async () => {
    store = await findStore()
    bucket = await createTestBucket(store)
  })
  afterAll(() => bucket?.close())
  itIsABucket(() => there(bucket))
  describe('presigns', () => {
    itPresigns(
      () => there(bucket),
      () => there(store),
    )
  })

  it('lists what it holds', async () => {
    await there(bucket).put('listed/b', bytes, png)
    await there(bucket).put('listed/a', bytes, png)
    expect(await there(bucket).keys('listed/')).toEqual(['listed/a', 'listed/b'])
  })

  it('counts as down rather than empty without its bucket', async () => {
    const { endpoint, accessKeyId, secretAccessKey } = there(store)
    const gone = openBucket({
      internalEndpoint: endpoint,
      publicEndpoint: endpoint,
      bucket: newBucketName(),
      region: 'us-east-1',
      accessKeyId,
      secretAccessKey,
    })
    const unavailable = { name: 'StorageError', kind: 'unavailable' }
    expect(await gone.probe(5_000)).toBe(false)
    await expect(gone.get('key', { maxBytes })).rejects.toMatchObject(unavailable)
    await expect(gone.head('key', 1)).rejects.toMatchObject(unavailable)
    await expect(gone.open('key')).rejects.toMatchObject(unavailable)
    await expect(gone.open('key', { headOnly: true })).rejects.toMatchObject(unavailable)
    await expect(gone.put('key', bytes, png)).rejects.toMatchObject(unavailable)
    gone.close()
  })

  it('rejects everything with a wrong key, and counts as down rather than empty', async () => {
    const stranger = openBucket({
      internalEndpoint: there(store).endpoint,
      publicEndpoint: there(store).endpoint,
      bucket: there(bucket).name,
      region: 'us-east-1',
      accessKeyId: there(store).accessKeyId,
      secretAccessKey: 'wrong',
    })
    expect(await stranger.probe(5_000)).toBe(false)
    await expect(stranger.get('listed/a', { maxBytes })).rejects.toMatchObject({ kind: 'unavailable' })
    stranger.close()
  })
}

describe('the memory bucket of the tests', () => {
  const bucket = memoryBucket()
  itIsABucket(() => bucket)
})

describe('the store of local mode', () => {
  itIsAStore(async () => sharedStore())
})

// Without Go to build it, its tests are reported as skipped.
const versitygw = await installVersitygw((line) => void process.stdout.write(`[servers] ${line}\n`))

describe.skipIf(versitygw === undefined)('versitygw', () => {
  let server: RunningServer | undefined
  afterAll(() => server?.stop())
  itIsAStore(async () => {
    if (versitygw === undefined) throw new Error('versitygw is not installed')
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test-secret-key' }
    const dataDir = join(inject('runDir'), 'versitygw')
    const [port = 0] = await freePorts(1)
    const files = { dataDir, logFile: `${dataDir}.log`, lifetime: 'attached' } as const
    server = await startVersitygw({ ...files, installation: versitygw, port, credentials })
    return { endpoint: server.url, ...credentials }
  })
})
