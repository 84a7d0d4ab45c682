// Whole-object requests over undici. Like the SDK, it retries once, and follows the store's clock when it differs.
import type { IncomingHttpHeaders } from 'node:http'
import { type Dispatcher, Pool } from 'undici'
import { pause } from '../runtime/service.ts'
import { createRequestSigner, type StorePlace } from './signature-v4.ts'
import { getErrorOf, isThrottling, StorageError, storeThrottled, storeUnavailable } from './storage-error.ts'
import { credentialsOf, type KeysOrCredentials, keysFor, refusesKeys, withLastKeys } from './store-credentials.ts'

type ObjectRequest = {
  readonly method: 'GET' | 'PUT'
  readonly key: string
  /** Besides Host and the signature's headers; lower-case names. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** A longer body fails with StorageError `changed`. */
  readonly maxBytes: number
  readonly signal?: AbortSignal | undefined
}

type ObjectAnswer = { readonly headers: IncomingHttpHeaders; readonly bytes: Buffer }

export type ObjectClient = {
  /** Returns the response with its whole body. @throws StorageError with the store's response as cause */
  send(request: ObjectRequest): Promise<ObjectAnswer>
  close(): void
}

/** A healthy store connects in milliseconds; 30 s without a byte is a dead transfer. */
const timeouts = { connect: { timeout: 1_000 }, headersTimeout: 30_000, bodyTimeout: 30_000 }

const retryAfterMs = 100

export function createObjectClient(options: StorePlace & KeysOrCredentials): ObjectClient {
  // Unbounded: tasks in flight and concurrent requests bound it.
  const pool = new Pool(new URL(options.endpoint).origin, { ...timeouts, connections: null })
  const credentials = credentialsOf(options)
  const signerOf = withLastKeys((keys) => createRequestSigner({ ...options, ...keys }))
  let offsetMs = 0

  async function tryOnce({ method, key, headers = {}, body, maxBytes, signal }: ObjectRequest): Promise<ObjectAnswer> {
    const keys = await keysFor(credentials, signal)
    signal?.throwIfAborted()
    const signed = signerOf(keys)({ method, key, headers, payload: body ?? '', at: new Date(Date.now() + offsetMs) })
    const answer = await dispatch(pool, { method, ...signed, body: body ?? null }, { maxBytes, signal })
    if (isGood(answer.status)) return answer
    const said = answer.bytes.toString()
    const code = /<Code>(\w+)<\/Code>/.exec(said)?.[1]
    if (refusesKeys(code)) credentials.refused(keys)
    if (said.includes('RequestTimeTooSkewed')) offsetMs = Date.parse(answer.headers.date ?? '') - Date.now() || 0
    if (method !== 'GET') throw isThrottling(answer.status, code) ? storeThrottled(said) : storeUnavailable(said)
    throw getErrorOf({ status: answer.status, code }, said)
  }

  return {
    send: async (request) => {
      try {
        return await tryOnce(request)
      } catch (error) {
        if (!isTransient(error) || request.signal?.aborted) throw storeUnavailable(error)
      }
      await pause(retryAfterMs, request.signal)
      return await tryOnce(request).catch((error: unknown) => Promise.reject(storeUnavailable(error)))
    },
    close: () => void pool.destroy(),
  }
}

const isTransient = (error: unknown): boolean => !(error instanceof StorageError) || error.kind === 'unavailable'

const isGood = (status: number): boolean => status >= 200 && status <= 299

type Dispatched = Pick<Dispatcher.DispatchOptions, 'method' | 'path' | 'headers' | 'body'>
type Bounds = Pick<ObjectRequest, 'maxBytes' | 'signal'>
type Dispatch = ObjectAnswer & { readonly status: number }

const refusalBytesMax = 4_096

/** Uses undici's callbacks: promises and streams would double the CPU. */
async function dispatch(pool: Pool, request: Dispatched, { maxBytes, signal }: Bounds) {
  const { promise, resolve, reject } = Promise.withResolvers<Dispatch>()
  let sending: Dispatcher.DispatchController | undefined
  let answer: Dispatch = { status: 0, headers: {}, bytes: Buffer.alloc(0) }
  let length = 0
  const fail = (error: Error): void => {
    sending?.abort(error)
    reject(error)
  }
  const abort = (): void => fail(signal?.reason instanceof Error ? signal.reason : new Error('aborted'))
  signal?.addEventListener('abort', abort, { once: true })
  pool.dispatch(request as Dispatcher.DispatchOptions, {
    onRequestStart: (controller) => {
      sending = controller
      // The signal may abort while the request waits for a connection.
      if (signal?.aborted) abort()
    },
    onResponseStart: (_controller, status, headers) => {
      const size = Number(headers['content-length'] ?? (isGood(status) ? maxBytes : refusalBytesMax))
      if (isGood(status) && size > maxBytes) return fail(tooLarge())
      const bytes = Buffer.allocUnsafeSlow(isGood(status) ? size : Math.min(size, refusalBytesMax))
      answer = { status, headers, bytes }
    },
    onResponseData: (_controller, chunk) => {
      if (isGood(answer.status) && length + chunk.length > answer.bytes.length) fail(tooLarge())
      else length += chunk.copy(answer.bytes, length)
    },
    onResponseEnd: () => resolve({ ...answer, bytes: answer.bytes.subarray(0, length) }),
    onResponseError: (_controller, error) => reject(error),
  })
  try {
    return await promise
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

const tooLarge = (): StorageError => new StorageError('changed', 'object is larger than when it was accepted')
