/**
 * A fault of the object store, by kind. `missing`: no such object. `changed`: another ETag than asked for.
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
  if (error instanceof StorageError) return error
  const status = httpStatusOf(error)
  if (status === 404) return new StorageError('missing', 'object not found', error)
  if (status === 412) return new StorageError('changed', 'object has another ETag', error)
  if (status === 416) return new StorageError('range', 'object has no such range', error)
  return new StorageError('unavailable', 'object store unavailable', error)
}

export function httpStatusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('$metadata' in error)) return undefined
  return (error.$metadata as { httpStatusCode?: number }).httpStatusCode
}
