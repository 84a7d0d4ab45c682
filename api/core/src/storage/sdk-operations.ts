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
  type S3ClientConfig,
} from '@aws-sdk/client-s3'
import { refusesKeys } from './credentials/refused-keys.ts'
import {
  credentialsOf,
  type KeysOrCredentials,
  keysFor,
  type StoreCredentials,
  withLastKeys,
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
    /** Rejects with what the client says unless the bucket answers in time. */
    probe: async (timeoutMs: number): Promise<void> => {
      const signal = AbortSignal.timeout(timeoutMs)
      await headBucket(send, Bucket, signal).catch((error: unknown) => {
        // The client's own error for that says only that somebody aborted.
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
          if (httpStatusOf(failure) !== 409) throw storeUnavailable(failure) // another process made it meanwhile
        })
      }
    },
    close,
  }
}

type Request<T> = (client: S3Client) => Promise<T>

/** Sends by a client of the current keys; once more with other keys if the store refuses these. */
type Send = <T>(request: Request<T>, signal?: AbortSignal, method?: 'HEAD') => Promise<T>

function keyedSender(options: StorePlace & KeysOrCredentials): { readonly send: Send; close(): void } {
  const credentials = credentialsOf(options)
  // The clients share connections, so a download goes on after its keys are replaced.
  const { requestHandler } = newClient(options).config
  const clientOf = withLastKeys(({ accessKeyId, secretAccessKey, sessionToken }) => {
    const keys = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
    return clientWith(options, { credentials: keys, requestHandler })
  })
  return {
    send: async (request, signal, method) => {
      // The SDK's own wait for keys ignores the signal of a request.
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

/** Statuses of refused keys, by store. */
const refusalStatuses = new Set([400, 401, 403])

/** The store's error with its code. The answer to a HEAD has no body for a code, so a list of one key asks for it. */
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
      // The answer to a HEAD has no body that could say what is missing, so the bucket is asked for.
      if (headOnly && httpStatusOf(error) === 404) throw await missingFrom(send, { Bucket, signal, cause: error })
      throw getErrorOf({ status: httpStatusOf(error), code: codeOf(error) }, error)
    }
  }

type Missing = { readonly Bucket: string; readonly signal: AbortSignal | undefined; readonly cause: unknown }

const missingFrom = (send: Send, { Bucket, signal, cause }: Missing): Promise<StorageError> =>
  headBucket(send, Bucket, signal).then(() => objectMissing(cause), storeUnavailable)

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

export const newClient = (options: StorePlace & KeysOrCredentials): S3Client =>
  clientWith(options, { credentials: sdkProvider(credentialsOf(options)), requestHandler: timeouts })

type Connection = Required<Pick<S3ClientConfig, 'credentials' | 'requestHandler'>>

const clientWith = ({ endpoint, region }: StorePlace, connection: Connection): S3Client =>
  new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    // The default adds checksums that a store may not know.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 2,
    ...connection,
  })
