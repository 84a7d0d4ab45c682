import type { Status } from '../objects.ts'

/** Reasons of our own, beside those of the API server (Conflict, NotFound, Expired, Forbidden …). */
export type LocalReason = 'Aborted' | 'Timeout' | 'Unreachable' | 'TooLarge' | 'BadAnswer'

/**
 * Whatever goes wrong on the way to the API server and back. `status` is that of HTTP, 0 when there was no answer that
 * could be read. The message holds the API server's own words and no credentials.
 */
export class KubeError extends Error {
  override name = 'KubeError'
  readonly status: number
  readonly reason: string
  /** How long the server asks us to stay away, in milliseconds. */
  readonly retryAfterMs: number | undefined
  constructor(
    status: number,
    reason: string,
    message: string,
    { retryAfterMs, cause }: { retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause })
    this.status = status
    this.reason = reason
    this.retryAfterMs = retryAfterMs
  }

  /** The deadline of this client (0), or that of the API server (504), has passed. A write may have taken effect. */
  get isTimeout(): boolean {
    return (this.status === 0 || this.status === 504) && this.reason === 'Timeout'
  }
}

export const localError = (reason: LocalReason, message: string, cause?: unknown): KubeError =>
  new KubeError(0, reason, message, { cause })

/** A longer wait than this is not kept to: a wrong header must not switch us off. */
const retryAfterMaxMs = 60_000

/** An API server's refusal: the body of an answer, or the object of a watch's ERROR. `what` says of what. */
export function refusal(what: string, status: Status, retryAfter?: string): KubeError {
  const code = status.code ?? 0
  const reason = status.reason ?? `Http${code}`
  const seconds = Number(retryAfter ?? status.details?.retryAfterSeconds ?? Number.NaN)
  const retryAfterMs = seconds > 0 ? Math.min(seconds * 1_000, retryAfterMaxMs) : undefined
  return new KubeError(code, reason, `${what}: ${code} ${reason}: ${status.message ?? 'no message'}`, { retryAfterMs })
}
