// The client of the object store, and all that the rest of the code sees of it. The AWS SDK does what is rare
// (sdk-operations.ts); it is by-passed in two places, each for what was measured (DECISIONS 43):
// - `head`, `get` and `put`, which every task needs, go over undici (object-client.ts): the SDK takes a request through
//   some forty middlewares, twice the CPU;
// - links are signed by ourselves (signature-v4.ts): the SDK's presigner took 0.5 ms of CPU for each, and a page of a
//   hundred results needs a hundred.
// `internalEndpoint` serves our own reads and writes, `publicEndpoint` only signs, since a presigned URL names the host
// that the caller will use (D81).
import type { EdgeMetrics } from '../runtime/metrics/edge-metrics.ts'
import {
  credentialsOf,
  type KeysOrCredentials,
  type StoreCredentials,
  withLastKeys,
} from './credentials/store-credentials.ts'
import { createObjectClient, type ObjectClient } from './object-client.ts'
import { type OpenObject, type OpenOptions, openSdk } from './sdk-operations.ts'
import { createPresigner, type StorePlace } from './signature-v4.ts'
import { StorageError } from './storage-error.ts'
import { observeStore, type StoreObserver, unobserved } from './store-metrics.ts'

export type BucketOptions = Omit<StorePlace, 'endpoint'> &
  KeysOrCredentials & {
    readonly internalEndpoint: string
    readonly publicEndpoint: string
    /** Absent in programs that serve no metrics. */
    readonly metrics?: EdgeMetrics
  }

export type ObjectHead = {
  readonly etag: string
  readonly sizeBytes: number
  /** The first bytes, at most as many as asked for. */
  readonly bytes: Uint8Array
}

type PutGrant = {
  readonly contentType: string
  readonly expiresInSeconds: number
  /** Given: the PUT may have no other length. */
  readonly sizeBytes?: number | undefined
}

export type Bucket = {
  readonly name: string
  /** Size, ETag and first bytes in one request. @throws StorageError */
  head(key: string, firstBytes: number): Promise<ObjectHead>
  /** The whole object if it still has this ETag, refused past `maxBytes`. @throws StorageError */
  get(key: string, options: { etag?: string; maxBytes: number; signal?: AbortSignal }): Promise<Buffer>
  /** The object as a stream, for passing on. @throws StorageError */
  open(key: string, options?: OpenOptions): Promise<OpenObject>
  /** @throws StorageError */
  put(key: string, body: Uint8Array, options: { contentType: string; signal?: AbortSignal }): Promise<void>
  /** Gone already counts as done. @throws StorageError */
  delete(key: string, signal?: AbortSignal): Promise<void>
  /** Keys that begin with `prefix`, at most a thousand of them. @throws StorageError */
  list(prefix: string, signal?: AbortSignal): Promise<string[]>
  /** A URL for one PUT, for the public host; shorter-lived than asked for if the keys expire. @throws StorageError */
  presignPut(key: string, options: PutGrant): Promise<{ readonly url: string; readonly expiresInSeconds: number }>
  /**
   * A URL to download, for the public host, at most 7 days (604,800 s, the scheme's own bound).
   * @throws StorageError with keys that expire, which would end the link early
   */
  presignGet(key: string, options: { contentType: string; fileName: string; expiresInSeconds: number }): string
  /** True when the bucket answers within `timeoutMs`. */
  probe(timeoutMs: number): Promise<boolean>
  /** Makes the bucket unless it is there. @throws StorageError */
  ensure(signal?: AbortSignal): Promise<void>
  close(): void
}

/** A caller waits for the answer to `head`, and a store that is up gives it in milliseconds. */
const headTimeoutMs = 5_000

/** What a store says to a PUT: nothing, or some words of XML. */
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
      // No range of an empty object can be satisfied: this is an answer and no failure.
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

const linkOperations = (
  place: StorePlace,
  credentials: StoreCredentials,
): Pick<Bucket, 'presignPut' | 'presignGet'> => {
  const presignerOf = withLastKeys((keys) => createPresigner({ ...place, ...keys }))
  return {
    presignPut: async (key, { contentType, expiresInSeconds: asked, sizeBytes }) => {
      const keys = await credentials.keys(asked * 1_000)
      const at = new Date()
      const leftMs = (keys.expiresAt?.getTime() ?? Infinity) - at.getTime()
      const expiresInSeconds = Math.max(1, Math.min(asked, Math.floor(leftMs / 1_000)))
      const length = sizeBytes === undefined ? {} : { 'content-length': String(sizeBytes) }
      const headers = { 'content-type': contentType, ...length }
      return { url: presignerOf(keys)({ method: 'PUT', key, expiresInSeconds, at, headers }), expiresInSeconds }
    },
    presignGet: (key, { contentType, fileName, expiresInSeconds }) => {
      const { fixed } = credentials
      if (fixed === undefined) throw new StorageError('unavailable', 'keys that expire sign no link of days')
      const query = {
        'response-content-type': contentType,
        'response-content-disposition': `attachment; filename="${fileName}"`,
      }
      return presignerOf(fixed)({ method: 'GET', key, expiresInSeconds, at: new Date(), query })
    },
  }
}
