// What the AWS SDK does for the bucket: streams for the gateway, what retention needs, and the bucket itself. No task
// waits for any of it.
import type { Readable } from 'node:stream'
import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3'
import {
  credentialsOf,
  type KeysOrCredentials,
  keysFor,
  type StoreCredentials,
} from './credentials/store-credentials.ts'
import type { StorePlace } from './signature-v4.ts'
import { getErrorOf, httpStatusOf, objectMissing, type StorageError, storeUnavailable } from './storage-error.ts'

/** An object on its way to a client. */
export type OpenObject = {
  readonly etag: string
  /** Of what comes: of the range, when one was asked for. */
  readonly lengthBytes: number
  /** `bytes 0-9/100` when a range comes, else undefined. */
  readonly contentRange: string | undefined
  /** The reader has it already, as `ifNoneMatch` says. */
  readonly unchanged: boolean
  /** To be read to its end or destroyed; undefined when only the head was asked for. */
  readonly body: Readable | undefined
}

export type OpenOptions = {
  /** Without the body. */
  readonly headOnly?: boolean
  /** As in the header `Range`; one that cannot be satisfied is a StorageError `range`. */
  readonly range?: string | undefined
  /** As in the header `If-None-Match`; an object that matches is `unchanged` and comes without its body. */
  readonly ifNoneMatch?: string | undefined
  readonly signal?: AbortSignal
}

export function openSdk(options: StorePlace & KeysOrCredentials) {
  const { bucket: Bucket } = options
  const client = newClient(options)
  const credentials = credentialsOf(options)
  // The SDK's own wait for keys ignores the signal of a request.
  const ready = (signal?: AbortSignal) => keysFor(credentials, signal)
  const open = streamOpener(client, Bucket)
  return {
    open: async (key: string, options?: OpenOptions): Promise<OpenObject> => {
      await ready(options?.signal).catch((error: unknown) => Promise.reject(storeUnavailable(error)))
      return open(key, options)
    },
    delete: async (Key: string, signal?: AbortSignal): Promise<void> => {
      try {
        await ready(signal)
        await client.send(new DeleteObjectCommand({ Bucket, Key }), optionsOf(signal))
      } catch (error) {
        if (codeOf(error) !== 'NoSuchKey') throw storeUnavailable(error)
      }
    },
    list: async (Prefix: string, signal?: AbortSignal): Promise<string[]> => {
      try {
        await ready(signal)
        const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket, Prefix }), optionsOf(signal))
        return Contents.flatMap(({ Key }) => Key ?? [])
      } catch (error) {
        throw storeUnavailable(error)
      }
    },
    /** Rejects with what the client says unless the bucket answers in time. */
    probe: async (timeoutMs: number): Promise<void> => {
      const signal = AbortSignal.timeout(timeoutMs)
      await ready(signal)
      await client.send(new HeadBucketCommand({ Bucket }), { abortSignal: signal }).catch((error: unknown) => {
        // The client's own error for that says only that somebody aborted.
        throw signal.aborted ? signal.reason : error
      })
    },
    ensure: async (signal?: AbortSignal): Promise<void> => {
      const options = optionsOf(signal)
      try {
        await ready(signal)
        await client.send(new HeadBucketCommand({ Bucket }), options)
      } catch (error) {
        if (httpStatusOf(error) !== 404) throw storeUnavailable(error)
        await client.send(new CreateBucketCommand({ Bucket }), options).catch((failure: unknown) => {
          if (httpStatusOf(failure) !== 409) throw storeUnavailable(failure) // another process made it meanwhile
        })
      }
    },
    close: () => client.destroy(),
  }
}

const streamOpener =
  (client: S3Client, Bucket: string) =>
  async (Key: string, { headOnly = false, range, ifNoneMatch, signal }: OpenOptions = {}): Promise<OpenObject> => {
    const input = {
      Bucket,
      Key,
      ...(range !== undefined && { Range: range }),
      ...(ifNoneMatch !== undefined && { IfNoneMatch: ifNoneMatch }),
    }
    const options = optionsOf(signal)
    try {
      const answer = headOnly
        ? { ...(await client.send(new HeadObjectCommand(input), options)), Body: undefined }
        : await client.send(new GetObjectCommand(input), options)
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
      // The answer to a HEAD has no body that could say what is missing, so the bucket is asked for.
      if (headOnly && httpStatusOf(error) === 404) throw await missingFrom(client, { Bucket, options, cause: error })
      throw getErrorOf({ status: httpStatusOf(error), code: codeOf(error) }, error)
    }
  }

type Missing = { readonly Bucket: string; readonly options: ReturnType<typeof optionsOf>; readonly cause: unknown }

const missingFrom = (client: S3Client, { Bucket, options, cause }: Missing): Promise<StorageError> =>
  client.send(new HeadBucketCommand({ Bucket }), options).then(() => objectMissing(cause), storeUnavailable)

const optionsOf = (signal: AbortSignal | undefined) => ({ ...(signal && { abortSignal: signal }) })

/** The SDK names its errors by the codes of the store. */
const codeOf = (error: unknown): string | undefined => (error instanceof Error ? error.name : undefined)

/** Of an answer 304, which the SDK takes for an error and keeps beside it; empty where the store does not say. */
const etagOf = (error: unknown): string =>
  (error as { $response?: { headers?: Record<string, string> } }).$response?.headers?.etag ?? ''

/** A store that is up connects in milliseconds; 30 s without a byte is a dead transfer. */
const timeouts = { connectionTimeout: 1_000, requestTimeout: 30_000, socketTimeout: 30_000 }

/** The SDK asks again when its keys expire within 5 minutes, so this lets it ask once a minute; ours are cached. */
const askAgainMs = 6 * 60_000

const sdkProvider = (credentials: StoreCredentials) => async () => {
  const { accessKeyId, secretAccessKey, sessionToken, expiresAt } = await credentials.keys()
  const expiration = new Date(Math.min(expiresAt?.getTime() ?? Infinity, Date.now() + askAgainMs))
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }), expiration }
}

export function newClient(options: StorePlace & KeysOrCredentials): S3Client {
  const { endpoint, region } = options
  const credentials = credentialsOf(options)
  return new S3Client({
    endpoint,
    region,
    credentials: sdkProvider(credentials),
    forcePathStyle: true,
    // The default adds checksums that a store may not know.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 2,
    requestHandler: timeouts,
  })
}
