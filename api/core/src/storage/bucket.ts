// The one edge to the object store: `internalEndpoint` serves our own reads and writes, `publicEndpoint` only signs,
// since a presigned URL names the host that the caller will use (D81).
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
import { createObjectClient } from './object-client.ts'
import { createPresigner } from './presign.ts'
import { httpStatusOf, StorageError, toStorageError } from './storage-error.ts'

export type BucketOptions = {
  readonly internalEndpoint: string
  readonly publicEndpoint: string
  readonly bucket: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of temporary credentials. */
  readonly sessionToken?: string | undefined
}

export type ObjectHead = {
  readonly etag: string
  readonly sizeBytes: number
  /** The first bytes, at most as many as asked for. */
  readonly bytes: Uint8Array
}

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

export type PutGrant = {
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
  delete(key: string): Promise<void>
  /** Keys that begin with `prefix`, at most a thousand of them. @throws StorageError */
  list(prefix: string): Promise<string[]>
  /** A URL for one PUT, for the public host. */
  presignPut(key: string, options: PutGrant): string
  /** A URL to download, for the public host, at most 7 days (604,800 s, the scheme's own bound). */
  presignGet(key: string, options: { contentType: string; fileName: string; expiresInSeconds: number }): string
  /** True when the bucket answers within `timeoutMs`. */
  probe(timeoutMs: number): Promise<boolean>
  /** Makes the bucket unless it is there. @throws StorageError */
  ensure(signal?: AbortSignal): Promise<void>
  close(): void
}

/** Time-outs: a store that is up connects in milliseconds; 30 s without a byte is a dead transfer. */
const timeouts = { connectionTimeout: 1_000, requestTimeout: 30_000, socketTimeout: 30_000 }

/** A caller waits for the answer to `head`, and a store that is up gives it in milliseconds. */
const headTimeoutMs = 5_000

/** What a store says to a PUT: nothing, or some words of XML. */
const answerBytesMax = 65_536

const nothing: ObjectHead = { etag: '', sizeBytes: 0, bytes: new Uint8Array() }

export function openBucket(options: BucketOptions): Bucket {
  const { bucket: Bucket } = options
  const client = newClient(options, options.internalEndpoint)
  const objects = createObjectClient({ ...options, endpoint: options.internalEndpoint })
  const presign = createPresigner({ ...options, endpoint: options.publicEndpoint })

  return {
    name: Bucket,
    head: async (key, firstBytes) => {
      const headers = { range: `bytes=0-${firstBytes - 1}` }
      const signal = AbortSignal.timeout(headTimeoutMs)
      try {
        const answer = await objects.send({ method: 'GET', key, headers, maxBytes: firstBytes, signal })
        const total = answer.headers['content-range']?.split('/')[1]
        return { etag: answer.headers.etag ?? '', sizeBytes: Number(total ?? answer.bytes.length), bytes: answer.bytes }
      } catch (error) {
        // A range of an empty object cannot be satisfied: that is an answer and no fault.
        if (error instanceof StorageError && error.kind === 'range') return nothing
        throw error
      }
    },
    get: async (key, { etag, maxBytes, signal }) => {
      const headers = etag === undefined ? {} : { 'if-match': etag }
      return (await objects.send({ method: 'GET', key, headers, maxBytes, signal })).bytes
    },
    open: async (Key, { headOnly = false, range, ifNoneMatch, signal } = {}) => {
      const input = {
        Bucket,
        Key,
        ...(range !== undefined && { Range: range }),
        ...(ifNoneMatch !== undefined && { IfNoneMatch: ifNoneMatch }),
      }
      const options = { ...(signal && { abortSignal: signal }) }
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
        throw toStorageError(error)
      }
    },
    put: async (key, body, { contentType, signal }) => {
      const headers = { 'content-type': contentType, 'content-length': String(body.length) }
      await objects.send({ method: 'PUT', key, headers, body, maxBytes: answerBytesMax, signal })
    },
    delete: async (Key) => {
      try {
        await client.send(new DeleteObjectCommand({ Bucket, Key }))
      } catch (error) {
        if (httpStatusOf(error) !== 404) throw toStorageError(error)
      }
    },
    list: async (Prefix) => {
      try {
        const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket, Prefix }))
        return Contents.flatMap(({ Key }) => Key ?? [])
      } catch (error) {
        throw toStorageError(error)
      }
    },
    presignPut: (key, { contentType, expiresInSeconds, sizeBytes }) =>
      presign({
        method: 'PUT',
        key,
        expiresInSeconds,
        at: new Date(),
        headers: {
          'content-type': contentType,
          ...(sizeBytes !== undefined && { 'content-length': String(sizeBytes) }),
        },
      }),
    presignGet: (key, { contentType, fileName, expiresInSeconds }) =>
      presign({
        method: 'GET',
        key,
        expiresInSeconds,
        at: new Date(),
        query: {
          'response-content-type': contentType,
          'response-content-disposition': `attachment; filename="${fileName}"`,
        },
      }),
    probe: async (timeoutMs) => {
      try {
        await client.send(new HeadBucketCommand({ Bucket }), { abortSignal: AbortSignal.timeout(timeoutMs) })
        return true
      } catch {
        return false
      }
    },
    ensure: async (signal) => {
      const options = { ...(signal && { abortSignal: signal }) }
      try {
        await client.send(new HeadBucketCommand({ Bucket }), options)
      } catch (error) {
        if (httpStatusOf(error) !== 404) throw toStorageError(error)
        await client.send(new CreateBucketCommand({ Bucket }), options).catch((fault: unknown) => {
          if (httpStatusOf(fault) !== 409) throw toStorageError(fault) // another process made it meanwhile
        })
      }
    },
    close: () => {
      client.destroy()
      objects.close()
    },
  }
}

function newClient(options: BucketOptions, endpoint: string): S3Client {
  const { accessKeyId, secretAccessKey, sessionToken } = options
  return new S3Client({
    endpoint,
    region: options.region,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) },
    forcePathStyle: true,
    // The default adds a checksum of an empty body to presigned PUTs, and every real upload then fails.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 2,
    requestHandler: timeouts,
  })
}

/** Of an answer 304, which the client takes for an error and keeps beside it; empty where the store does not tell. */
const etagOf = (error: unknown): string =>
  (error as { $response?: { headers?: Record<string, string> } }).$response?.headers?.etag ?? ''
