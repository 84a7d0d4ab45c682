// Object store client. It bypasses the AWS SDK (sdk-operations.ts) in two places:
// - `head`, `get` and `put` go over undici (object-client.ts): the SDK's middlewares double the CPU.
// - signature-v4.ts signs requests and links: `@smithy/signature-v4` takes 45 instead of 17 µs of CPU per link, and the
//   difference is an eighth of reading a succeeded task.
// `internalEndpoint` serves reads and writes; `publicEndpoint` is the host in presigned URLs (D81).
import { timingSafeEqual } from 'node:crypto'
import type { EdgeMetrics } from '../runtime/metrics/edge-metrics.ts'
import { createObjectClient, type ObjectClient } from './object-client.ts'
import { type OpenObject, type OpenOptions, openSdk } from './sdk-operations.ts'
import { createPresigner, type StorePlace } from './signature-v4.ts'
import { StorageError } from './storage-error.ts'
import { credentialsOf, type KeysOrCredentials, type StoreCredentials, withLastKeys } from './store-credentials.ts'
import { observeStore, type StoreObserver, unobserved } from './store-metrics.ts'

export type BucketOptions = Omit<StorePlace, 'endpoint'> &
  KeysOrCredentials & {
    readonly internalEndpoint: string
    readonly publicEndpoint: string
    readonly metrics?: EdgeMetrics
  }

export type ObjectHead = {
  readonly etag: string
  readonly sizeBytes: number
  readonly bytes: Uint8Array
}

type PutGrant = {
  readonly contentType: string
  readonly expiresInSeconds: number
  /** The URL accepts a body of exactly this length. */
  readonly sizeBytes: number
}

type PresignedPut = {
  /** Path and query as sent. */
  readonly target: string
  readonly contentType: string
  readonly contentLength: string
}

export type Bucket = {
  readonly name: string
  /** Size, ETag and first bytes in one request. @throws StorageError */
  head(key: string, firstBytes: number): Promise<ObjectHead>
  /** The whole object if the ETag matches, up to `maxBytes`. @throws StorageError */
  get(key: string, options: { etag?: string; maxBytes: number; signal?: AbortSignal }): Promise<Buffer>
  /** The object as a stream. @throws StorageError */
  open(key: string, options?: OpenOptions): Promise<OpenObject>
  /** @throws StorageError */
  put(key: string, body: Uint8Array, options: { contentType: string; signal?: AbortSignal }): Promise<void>
  delete(key: string, signal?: AbortSignal): Promise<void>
  /** Keys with this prefix, at most 1,000. @throws StorageError */
  list(prefix: string, signal?: AbortSignal): Promise<string[]>
  /** Upload URL on the public host; expires earlier if the keys do. @throws StorageError */
  presignPut(key: string, options: PutGrant): Promise<{ readonly url: string; readonly expiresInSeconds: number }>
  /** Whether `presignPut` made the URL of this PUT with the present keys, and it has not expired. */
  signsPut(put: PresignedPut): Promise<boolean>
  /** Upload URL on the internal host, for a process without keys; takes any Content-Type. @throws StorageError */
  presignOwnPut(key: string, expiresInSeconds: number): Promise<string>
  /**
   * Download URL on the public host, valid for at most 7 days (604,800 s), the limit of Signature V4.
   * @throws StorageError if the keys expire, because the link would end early
   */
  presignGet(key: string, options: { contentType: string; fileName: string; expiresInSeconds: number }): string
  /** True if the bucket responds within `timeoutMs`. */
  probe(timeoutMs: number): Promise<boolean>
  ensure(signal?: AbortSignal): Promise<void>
  close(): void
}

/** The caller waits; a healthy store responds in milliseconds. */
const headTimeoutMs = 5_000

const answerBytesMax = 65_536

const emptyObject: ObjectHead = { etag: '', sizeBytes: 0, bytes: new Uint8Array() }

export function openBucket(options: BucketOptions): Bucket {
  const { internalEndpoint, publicEndpoint, metrics, bucket, region } = options
  const credentials = credentialsOf(options)
  const store = { bucket, region, credentials }
  const objects = createObjectClient({ ...store, endpoint: internalEndpoint })
  const sdk = openSdk({ ...store, endpoint: internalEndpoint })
  const observe = metrics === undefined ? unobserved : observeStore(metrics)
  return {
    name: store.bucket,
    ...observeObjects(objectOperations(objects), observe),
    ...observeRare(sdk, observe),
    ensure: sdk.ensure,
    ...linkOperations({ bucket, region, endpoint: publicEndpoint }, credentials),
    presignOwnPut: ownPutSigner({ bucket, region, endpoint: internalEndpoint }, credentials),
    close: () => {
      sdk.close()
      objects.close()
    },
  }
}

const objectOperations = ({ send }: ObjectClient): Pick<Bucket, 'head' | 'get' | 'put'> => ({
  head: async (key, firstBytes) => {
    const headers = { range: `bytes=0-${firstBytes - 1}` }
    const signal = AbortSignal.timeout(headTimeoutMs)
    try {
      const answer = await send({ method: 'GET', key, headers, maxBytes: firstBytes, signal })
      const total = answer.headers['content-range']?.split('/')[1]
      return { etag: answer.headers.etag ?? '', sizeBytes: Number(total ?? answer.bytes.length), bytes: answer.bytes }
    } catch (error) {
      // An empty object has no satisfiable range.
      if (error instanceof StorageError && error.kind === 'range') return emptyObject
      throw error
    }
  },
  get: async (key, { etag, maxBytes, signal }) => {
    const headers = etag === undefined ? {} : { 'if-match': etag }
    return (await send({ method: 'GET', key, headers, maxBytes, signal })).bytes
  },
  put: async (key, body, { contentType, signal }) => {
    const headers = { 'content-type': contentType, 'content-length': String(body.length) }
    await send({ method: 'PUT', key, headers, body, maxBytes: answerBytesMax, signal })
  },
})

type Objects = ReturnType<typeof objectOperations>

const observeObjects = ({ head, get, put }: Objects, observe: StoreObserver): Objects => ({
  head: (key, firstBytes) => observe('head', () => head(key, firstBytes)),
  get: (key, options) => observe('get', () => get(key, options), options.signal),
  put: (key, body, options) => observe('put', () => put(key, body, options), options.signal),
})

type Rare = Pick<Bucket, 'open' | 'delete' | 'list' | 'probe'>

const observeRare = (sdk: ReturnType<typeof openSdk>, observe: StoreObserver): Rare => ({
  open: (key, options) => observe('open', () => sdk.open(key, options), options?.signal),
  delete: (key, signal) => observe('delete', () => sdk.delete(key, signal), signal),
  list: (prefix, signal) => observe('list', () => sdk.list(prefix, signal), signal),
  probe: (timeoutMs) =>
    observe('probe', () => sdk.probe(timeoutMs)).then(
      () => true,
      () => false,
    ),
})

const ownPutSigner = (place: StorePlace, credentials: StoreCredentials): Bucket['presignOwnPut'] => {
  const presignerOf = withLastKeys((keys) => createPresigner({ ...place, ...keys }))
  return async (key, expiresInSeconds) => {
    const keys = await credentials.keys(expiresInSeconds * 1_000)
    return presignerOf(keys)({ method: 'PUT', key, expiresInSeconds, at: new Date() })
  }
}

const linkOperations = (
  place: StorePlace,
  credentials: StoreCredentials,
): Pick<Bucket, 'presignPut' | 'presignGet' | 'signsPut'> => {
  const presignerOf = withLastKeys((keys) => createPresigner({ ...place, ...keys }))
  return {
    signsPut: async ({ target, contentType, contentLength }) => {
      const parts = partsOf(target, place.bucket)
      if (parts === undefined) return false
      const { key, at, expiresInSeconds } = parts
      if (at.getTime() + expiresInSeconds * 1_000 < Date.now()) return false
      const keys = await credentials.keys().catch(() => undefined)
      if (keys === undefined) return false
      const headers = { 'content-type': contentType, 'content-length': contentLength }
      const { pathname, search } = new URL(presignerOf(keys)({ method: 'PUT', key, expiresInSeconds, at, headers }))
      const [own, given] = [Buffer.from(`${pathname}${search}`), Buffer.from(target)]
      return own.length === given.length && timingSafeEqual(own, given)
    },
    presignPut: async (key, { contentType, expiresInSeconds: asked, sizeBytes }) => {
      const keys = await credentials.keys(asked * 1_000)
      const at = new Date()
      const leftMs = (keys.expiresAt?.getTime() ?? Infinity) - at.getTime()
      const expiresInSeconds = Math.max(1, Math.min(asked, Math.floor(leftMs / 1_000)))
      const headers = { 'content-type': contentType, 'content-length': String(sizeBytes) }
      return { url: presignerOf(keys)({ method: 'PUT', key, expiresInSeconds, at, headers }), expiresInSeconds }
    },
    presignGet: (key, { contentType, fileName, expiresInSeconds }) => {
      const { fixed } = credentials
      if (fixed === undefined) throw new StorageError('unavailable', 'expiring keys cannot sign long-lived links')
      const query = {
        'response-content-type': contentType,
        'response-content-disposition': `attachment; filename="${fileName}"`,
      }
      return presignerOf(fixed)({ method: 'GET', key, expiresInSeconds, at: new Date(), query })
    },
  }
}

/** Reads key and time from a presigned URL; undefined for other URLs. */
function partsOf(target: string, bucket: string) {
  const { pathname = '', searchParams } = URL.parse(target, 'http://store') ?? {}
  const date = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(searchParams?.get('X-Amz-Date') ?? '')
  const expires = /^\d{1,6}$/.exec(searchParams?.get('X-Amz-Expires') ?? '')
  if (date === null || expires === null || !pathname.startsWith(`/${bucket}/`)) return undefined
  const [, year, month, day, hour, minute, second] = date
  const at = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  if (Number.isNaN(at.getTime())) return undefined
  try {
    return { key: decodeURIComponent(pathname.slice(bucket.length + 2)), at, expiresInSeconds: Number(expires[0]) }
  } catch {
    return undefined
  }
}
