import type { Status } from '../objects.ts'

export type LocalReason = 'Aborted' | 'Timeout' | 'Unreachable' | 'TooLarge' | 'BadAnswer'

/** Failed request to the API server. `status` is 0 without a readable response. Contains no credentials. */
export class KubeError extends Error {
  override name = 'KubeError'
  readonly status: number
  readonly reason: string
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

  /** True for a timeout of this client (0) or of the API server (504). A write may have taken effect. */
  get isTimeout(): boolean {
    return (this.status === 0 || this.status === 504) && this.reason === 'Timeout'
  }
}

export const localError = (reason: LocalReason, message: string, cause?: unknown): KubeError =>
  new KubeError(0, reason, message, { cause })

/** A wrong header must not stop this process for longer. */
const retryAfterMaxMs = 60_000

export function refusal(what: string, status: Status, retryAfter?: string): KubeError {
  const code = status.code ?? 0
  const reason = status.reason ?? `Http${code}`
  const seconds = Number(retryAfter ?? status.details?.retryAfterSeconds ?? Number.NaN)
  const retryAfterMs = seconds > 0 ? Math.min(seconds * 1_000, retryAfterMaxMs) : undefined
  return new KubeError(code, reason, `${what}: ${code} ${reason}: ${status.message ?? 'no message'}`, { retryAfterMs })
}
