import * as grpc from '@grpc/grpc-js'

export const inferenceErrorKinds = ['unavailable', 'failed', 'timeout'] as const

/** `unavailable`: the pod was absent, unready or stopped; costs no attempt (D32). `failed`: the server's error. */
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

/** Codes that concern the pod, not the image. */
const unavailableCodes = new Set([grpc.status.UNAVAILABLE, grpc.status.CANCELLED, grpc.status.NOT_FOUND])

type Status = Pick<grpc.ServiceError, 'code' | 'details'>

export function errorOfStatus(status: Status): InferenceError {
  const { code, details } = status
  if (code === grpc.status.DEADLINE_EXCEEDED) return new InferenceError('timeout', details, status)
  const kind = unavailableCodes.has(code) || isTransport(status) ? 'unavailable' : 'failed'
  return new InferenceError(kind, details, status)
}

/** grpc-js reports a reset stream as INTERNAL, like Triton's errors, and a ping limit as RESOURCE_EXHAUSTED. */
const isTransport = ({ code, details }: Status): boolean =>
  (code === grpc.status.INTERNAL && details.startsWith('Received RST_STREAM')) ||
  (code === grpc.status.RESOURCE_EXHAUSTED && details.startsWith('Bandwidth exhausted'))

/** Errors inside messages have no code; Triton uses these words for absent or unready models. */
const unavailableWords = /unknown model|not ready|unavailable|shutting down|is not found/i

export const errorOfMessage = (message: string): InferenceError =>
  new InferenceError(unavailableWords.test(message) ? 'unavailable' : 'failed', message)
