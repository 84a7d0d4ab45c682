/**
 * An error of the object store, by kind. `missing`: no such object. `changed`: another ETag than asked for.
 * `range`: the range asked for lies outside the object. `unavailable`: no answer, or an answer that says try later; the
 * same call may work a moment later.
 */
export class StorageError extends Error {
  override name = 'StorageError'
  readonly kind: 'missing' | 'changed' | 'range' | 'unavailable'
  constructor(kind: StorageError['kind'], message: string, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
  }
}

/** Sorts an error of the S3 client; whatever has no kind of its own counts as unavailable. */
export function toStorageError(error: unknown): StorageError {
  return error instanceof StorageError ? error : storageErrorOf(httpStatusOf(error), error)
}

/** Sorts an answer of the store by its status; `cause` is what else is known of it. */
export function storageErrorOf(status: number | undefined, cause: unknown): StorageError {
  if (status === 404) return new StorageError('missing', 'object not found', cause)
  if (status === 412) return new StorageError('changed', 'object has another ETag', cause)
  if (status === 416) return new StorageError('range', 'object has no such range', cause)
  return new StorageError('unavailable', 'object store unavailable', cause)
}

export function httpStatusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('$metadata' in error)) return undefined
  return (error.$metadata as { httpStatusCode?: number }).httpStatusCode
}
