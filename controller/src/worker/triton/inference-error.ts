import * as grpc from '@grpc/grpc-js'

export const inferenceErrorKinds = ['unavailable', 'failed', 'timeout'] as const

/**
 * How an inference failed, in three kinds. `unavailable`: the pod was not there, not ready, or stopped; the attempt
 * costs nothing (D32). `failed`: the model server refused or broke. `timeout`: no answer in time.
 */
export class InferenceError extends Error {
  override name = 'InferenceError'
  readonly kind: (typeof inferenceErrorKinds)[number]
  constructor(kind: InferenceError['kind'], message: string, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
  }
}

export const isUnavailable = (error: unknown): boolean =>
  error instanceof InferenceError && error.kind === 'unavailable'

/** Codes that say the pod, not the image: it stops, it is gone, or it does not serve the model just now. */
const unavailableCodes = new Set([grpc.status.UNAVAILABLE, grpc.status.CANCELLED, grpc.status.NOT_FOUND])

type Status = Pick<grpc.ServiceError, 'code' | 'details'>

export function errorOfStatus(status: Status): InferenceError {
  const { code, details } = status
  if (code === grpc.status.DEADLINE_EXCEEDED) return new InferenceError('timeout', details, status)
  const kind = unavailableCodes.has(code) || isTransport(status) ? 'unavailable' : 'failed'
  return new InferenceError(kind, details, status)
}

/**
 * A connection that broke under a call. grpc-js makes INTERNAL of a stream that was reset or ended without a status, as
 * Triton's own inference errors are, and RESOURCE_EXHAUSTED of a peer that wants fewer pings; its words tell them
 * apart.
 */
const isTransport = ({ code, details }: Status): boolean =>
  (code === grpc.status.INTERNAL && details.startsWith('Received RST_STREAM')) ||
  (code === grpc.status.RESOURCE_EXHAUSTED && details.startsWith('Bandwidth exhausted'))

/** An error inside a message has no code; Triton's own words for "not here, not now" are these. */
const unavailableWords = /unknown model|not ready|unavailable|shutting down|is not found/i

export const errorOfMessage = (message: string): InferenceError =>
  new InferenceError(unavailableWords.test(message) ? 'unavailable' : 'failed', message)
