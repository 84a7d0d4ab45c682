/**
 * An error of the object store, by kind. `missing`: no such object. `changed`: another ETag than asked for.
 * `range`: the range asked for lies outside the object. `unavailable`: no answer, or any other; the same call may work
 * a moment later.
 */
export class StorageError extends Error {
  override name = 'StorageError'
  readonly kind: 'missing' | 'changed' | 'range' | 'unavailable'
  constructor(kind: StorageError['kind'], message: string, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
  }
}

/**
 * Sorts the answer to a GET. `code` is the store's own, such as NoSuchKey: a 404 without that says nothing of the
 * object, since the bucket may be gone or something else may answer there; `cause` is what else is known.
 */
export function getErrorOf(
  { status, code }: { status?: number | undefined; code: string | undefined },
  cause: unknown,
) {
  if (status === 404 && code === 'NoSuchKey') return objectMissing(cause)
  if (status === 412) return new StorageError('changed', 'object has another ETag', cause)
  if (status === 416) return new StorageError('range', 'object has no such range', cause)
  return storeUnavailable(cause)
}

export const objectMissing = (cause: unknown): StorageError => new StorageError('missing', 'object not found', cause)

/** Whatever keeps anything but a GET from being done: no other refusal says something of an object. */
export const storeUnavailable = (cause: unknown): StorageError =>
  cause instanceof StorageError ? cause : new StorageError('unavailable', 'object store unavailable', cause)

/** Of an error of the S3 client; undefined where nobody answered. */
export function httpStatusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('$metadata' in error)) return undefined
  return (error.$metadata as { httpStatusCode?: number }).httpStatusCode
}
