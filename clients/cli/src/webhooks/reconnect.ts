// Delay before the stream of events is opened again: a pure function.

const retryMsDefault = 2_000
const retryMsMax = 30_000

export type Attempt = {
  /** `retry` of the stream. */
  readonly retryMs: number | undefined
  /** Failed connections since the last one that worked. */
  readonly failures: number
  /** `Retry-After` of the latest answer. */
  readonly retryAfterMs: number | undefined
}

/** Doubles with each failure; `random` in 0..1 spreads clients that lost one server. */
export function reconnectDelayMs({ retryMs, failures, retryAfterMs }: Attempt, random: number): number {
  if (retryAfterMs !== undefined) return retryAfterMs + Math.round(random * 1_000)
  const base = Math.min(retryMsMax, (retryMs ?? retryMsDefault) * 2 ** Math.min(10, failures))
  return Math.round(base * (0.5 + random / 2))
}

/** Statuses after which the same request fails again. 404: the service has no such stream. */
export const isPermanent = (status: number): boolean =>
  status >= 400 && status < 500 && status !== 408 && status !== 429
