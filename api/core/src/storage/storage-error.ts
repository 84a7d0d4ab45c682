/** `missing`: no such object. `changed`: other ETag. `range`: unsatisfiable. `unavailable`: a retry may succeed. */
export class StorageError extends Error {
  override name = 'StorageError'
  readonly kind: 'missing' | 'changed' | 'range' | 'unavailable'
  /** The store asks for fewer requests; it is up. */
  readonly throttled: boolean
  constructor(kind: StorageError['kind'], message: string, cause?: unknown, throttled = false) {
    super(message, { cause })
    this.kind = kind
    this.throttled = throttled
  }
}

/** Classifies a GET response. A 404 without NoSuchKey may come from a missing bucket or another server. */
export function getErrorOf(
  { status, code }: { status?: number | undefined; code: string | undefined },
  cause: unknown,
) {
  if (status === 404 && code === 'NoSuchKey') return objectMissing(cause)
  if (status === 412) return new StorageError('changed', 'object has another ETag', cause)
  if (status === 416) return new StorageError('range', 'object has no such range', cause)
  return isThrottling(status, code) ? storeThrottled(cause) : storeUnavailable(cause)
}

/** Codes of S3, MinIO, Ceph and Google for "fewer requests, please". */
const throttlingCodes = /^(SlowDown|TooManyRequests|RequestLimitExceeded|Throttl|ServerBusy)/

export const isThrottling = (status: number | undefined, code: string | undefined): boolean =>
  status === 429 || (status === 503 && throttlingCodes.test(code ?? ''))

export const storeThrottled = (cause: unknown): StorageError =>
  new StorageError('unavailable', 'object store throttles requests', cause, true)

export const objectMissing = (cause: unknown): StorageError => new StorageError('missing', 'object not found', cause)

/** Any error of another operation: only a GET can report a missing or changed object. */
export const storeUnavailable = (cause: unknown): StorageError =>
  cause instanceof StorageError ? cause : new StorageError('unavailable', 'object store unavailable', cause)

export function httpStatusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('$metadata' in error)) return undefined
  return (error.$metadata as { httpStatusCode?: number }).httpStatusCode
}
