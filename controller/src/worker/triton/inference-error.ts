/**
 * How an inference failed, in three kinds. `unavailable`: the pod was not there, not ready, or stopped; the attempt
 * costs nothing (D32). `failed`: the model server refused or broke. `timeout`: no answer in time.
 */
export class InferenceError extends Error {
  override name = 'InferenceError'
  readonly kind: 'unavailable' | 'failed' | 'timeout'
  constructor(kind: InferenceError['kind'], message: string, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
  }
}

export const isUnavailable = (error: unknown): boolean =>
  error instanceof InferenceError && error.kind === 'unavailable'
