// Operations through the AWS SDK: streams for the gateway, retention, and the bucket itself. Tasks do not wait for
// them.
import type { Readable } from 'node:stream'
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3'
import type { StorePlace } from './signature-v4.ts'
import { getErrorOf, httpStatusOf, objectMissing, type StorageError, storeUnavailable } from './storage-error.ts'
import {
  credentialsOf,
  type KeysOrCredentials,
  keysFor,
  refusesKeys,
  type StoreCredentials,
  withLastKeys,
} from './store-credentials.ts'

export type OpenObject = {
  readonly etag: string
  readonly lengthBytes: number
  readonly contentRange: string | undefined
  readonly unchanged: boolean
  /** Read it to the end or destroy it; undefined with `headOnly`. */
  readonly body: Readable | undefined
}

export type OpenOptions = {
  readonly headOnly?: boolean
  /** As the header `Range`; an unsatisfiable one fails with StorageError `range`. */
  readonly range?: string | undefined
  /** As the header `If-None-Match`; a match returns `unchanged` without a body. */
  readonly ifNoneMatch?: string | undefined
  readonly signal?: AbortSignal
}

export function openSdk(options: StorePlace & KeysOrCredentials) {
  const { bucket: Bucket } = options
  const { send, close } = keyedSender(options)
  return {
    open: streamOpener(send, Bucket),
    delete: async (Key: string, signal?: AbortSignal): Promise<void> => {
      try {
        await send((client) => client.send(new DeleteObjectCommand({ Bucket, Key }), optionsOf(signal)), signal)
      } catch (error) {
        if (codeOf(error) !== 'NoSuchKey') throw storeUnavailable(error)
      }
    },
    list: async (Prefix: string, signal?: AbortSignal): Promise<string[]> => {
      const command = new ListObjectsV2Command({ Bucket, Prefix })
      try {
        const { Contents = [] } = await send((client) => client.send(command, optionsOf(signal)), signal)
        return Contents.flatMap(({ Key }) => Key ?? [])
      } catch (error) {
        throw storeUnavailable(error)
      }
    },
    /** Rejects with the client's error unless the bucket responds in time. */
    probe: async (timeoutMs: number): Promise<void> => {
      const signal = AbortSignal.timeout(timeoutMs)
      await headBucket(send, Bucket, signal).catch((error: unknown) => {
        // The client's error says only that the request was aborted.
        throw signal.aborted ? signal.reason : error
      })
    },
    ensure: async (signal?: AbortSignal): Promise<void> => {
      try {
        await headBucket(send, Bucket, signal)
      } catch (error) {
        if (httpStatusOf(error) !== 404) throw storeUnavailable(error)
        const create = (client: S3Client) => client.send(new CreateBucketCommand({ Bucket }), optionsOf(signal))
        await send(create, signal).catch((failure: unknown) => {
          if (httpStatusOf(failure) !== 409) throw storeUnavailable(failure) // another process created it
        })
      }
    },
    close,
  }
}

type Request<T> = (client: S3Client) => Promise<T>

type Send = <T>(request: Request<T>, signal?: AbortSignal, method?: 'HEAD') => Promise<T>

function keyedSender(options: StorePlace & KeysOrCredentials): { readonly send: Send; close(): void } {
  const credentials = credentialsOf(options)
  // Clients share connections, so downloads survive a change of keys.
  const { requestHandler } = newClient(options).config
  const clientOf = withLastKeys(({ accessKeyId, secretAccessKey, sessionToken }) => {
    const keys = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
    return clientWith(options, { credentials: keys, requestHandler })
  })
  return {
    send: async (request, signal, method) => {
      // The SDK's wait for keys ignores the request's signal.
      const keys = await keysFor(credentials, signal)
      try {
        return await request(clientOf(keys))
      } catch (error) {
        if (credentials.fixed !== undefined) throw error
        const ask = { client: clientOf(keys), Bucket: options.bucket, signal }
        const refusal = method === 'HEAD' ? await codedRefusal(error, ask) : error
        if (!refusesKeys(codeOf(refusal))) throw error
        credentials.refused(keys)
        const others = await keysFor(credentials, signal)
        if (others === keys) throw refusal
        return await request(clientOf(others))
      }
    },
    close: () => requestHandler.destroy?.(),
  }
}

type Ask = { readonly client: S3Client; readonly Bucket: string; readonly signal: AbortSignal | undefined }

const refusalStatuses = new Set([400, 401, 403])

/** Adds the store's error code: a HEAD response has no body, so a list of one key fetches it. */
async function codedRefusal(error: unknown, { client, Bucket, signal }: Ask): Promise<unknown> {
  if (!refusalStatuses.has(httpStatusOf(error) ?? 0)) return error
  const command = new ListObjectsV2Command({ Bucket, MaxKeys: 1 })
  return client.send(command, optionsOf(signal)).then(
    () => error,
    (coded: unknown) => coded,
  )
}

const headBucket = (send: Send, Bucket: string, signal: AbortSignal | undefined) =>
  send((client) => client.send(new HeadBucketCommand({ Bucket }), optionsOf(signal)), signal, 'HEAD')

const streamOpener =
  (send: Send, Bucket: string) =>
  async (Key: string, { headOnly = false, range, ifNoneMatch, signal }: OpenOptions = {}): Promise<OpenObject> => {
    const input = {
      Bucket,
      Key,
      ...(range !== undefined && { Range: range }),
      ...(ifNoneMatch !== undefined && { IfNoneMatch: ifNoneMatch }),
    }
    const options = optionsOf(signal)
    try {
      const head = (client: S3Client) => client.send(new HeadObjectCommand(input), options)
      const answer = headOnly
        ? { ...(await send(head, signal, 'HEAD')), Body: undefined }
        : await send((client) => client.send(new GetObjectCommand(input), options), signal)
      return {
        etag: answer.ETag ?? '',
        lengthBytes: answer.ContentLength ?? 0,
        contentRange: answer.ContentRange,
        unchanged: false,
        body: answer.Body as Readable | undefined,
      }
    } catch (error) {
      if (httpStatusOf(error) === 304) {
        return { etag: etagOf(error), lengthBytes: 0, contentRange: undefined, unchanged: true, body: undefined }
      }
      // A HEAD response does not say what is missing, so ask for the bucket.
      if (headOnly && httpStatusOf(error) === 404) throw await missingFrom(send, { Bucket, signal, cause: error })
      throw getErrorOf({ status: httpStatusOf(error), code: codeOf(error) }, error)
    }
  }

type Missing = { readonly Bucket: string; readonly signal: AbortSignal | undefined; readonly cause: unknown }

const missingFrom = (send: Send, { Bucket, signal, cause }: Missing): Promise<StorageError> =>
  headBucket(send, Bucket, signal).then(() => objectMissing(cause), storeUnavailable)

const optionsOf = (signal: AbortSignal | undefined) => ({ ...(signal && { abortSignal: signal }) })

const codeOf = (error: unknown): string | undefined => (error instanceof Error ? error.name : undefined)

/** ETag of a 304, which the SDK reports as an error; empty if the store omits it. */
const etagOf = (error: unknown): string =>
  (error as { $response?: { headers?: Record<string, string> } }).$response?.headers?.etag ?? ''

/** A healthy store connects in milliseconds; 30 s without a byte is a dead transfer. */
const timeouts = { connectionTimeout: 1_000, requestTimeout: 30_000, socketTimeout: 30_000 }

/** The SDK refreshes keys 5 minutes before expiry, so this makes it ask once a minute; fetched keys are cached. */
const askAgainMs = 6 * 60_000

const sdkProvider = (credentials: StoreCredentials) => async () => {
  const { accessKeyId, secretAccessKey, sessionToken, expiresAt } = await credentials.keys()
  const expiration = new Date(Math.min(expiresAt?.getTime() ?? Infinity, Date.now() + askAgainMs))
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }), expiration }
}

export const newClient = (options: StorePlace & KeysOrCredentials): S3Client =>
  clientWith(options, { credentials: sdkProvider(credentialsOf(options)), requestHandler: timeouts })

type Connection = Required<Pick<S3ClientConfig, 'credentials' | 'requestHandler'>>

const clientWith = ({ endpoint, region }: StorePlace, connection: Connection): S3Client =>
  new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    // Stores may not support the default checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 2,
    ...connection,
  })
