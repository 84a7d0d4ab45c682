// Schedule of retries: full jitter below a doubling bound, and never before the time that the service asks for.

const baseMs = 500
const capMs = 16_000
/** A longer `Retry-After` is the caller's decision: the call rejects at once, and the error carries it. */
const retryAfterMaxMs = 120_000

/** Delay before retry `retry`, which counts from 0. Undefined: the service asks for too long a wait. */
export function retryDelayMs(
  retry: number,
  retryAfterMs: number | undefined,
  random: () => number = Math.random,
): number | undefined {
  const jitterMs = random() * Math.min(capMs, baseMs * 2 ** retry)
  if (retryAfterMs === undefined) return jitterMs
  if (retryAfterMs > retryAfterMaxMs) return undefined
  // Callers that were refused together do not come back together.
  return retryAfterMs + Math.min(jitterMs, baseMs)
}

/** Milliseconds of `Retry-After`: whole seconds or an HTTP date. */
export function readRetryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - nowMs
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

const pollFirstMs = 250
const pollMaxMs = 2_000

/** Requests that the service still allows in the current window. */
export type RateWindow = { readonly remaining: number; readonly resetMs: number }

/**
 * Delay before poll `poll`, which counts from 0. It grows from 0.25 s to 2 s, and spreads the polls of all `waiting`
 * tasks over what is left of the window.
 */
export function pollDelayMs(poll: number, window: RateWindow | undefined, waiting = 1): number {
  const delayMs = Math.min(pollMaxMs, pollFirstMs * 1.5 ** poll)
  if (window === undefined) return delayMs
  if (window.remaining <= 0) return Math.max(delayMs, window.resetMs)
  return Math.max(delayMs, Math.min(window.resetMs, (window.resetMs * waiting) / window.remaining))
}
