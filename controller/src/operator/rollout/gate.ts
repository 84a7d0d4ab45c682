// Whether a new revision does as well as the old one, judged by what both did since the present step began.
import type { PoolRollout } from '../pool/pool-spec.ts'
import type { Reason } from '../pool/reasons.ts'

export type RequestCounts = {
  /** Requests that ended well, that the model failed, that took too long. Pods that were gone count for nobody. */
  readonly done: number
  readonly failed: number
  readonly timedOut: number
  /** Mean time of one request in a slot, undefined when none ended. */
  readonly serviceSeconds: number | undefined
}

type Judged = {
  readonly canary: RequestCounts | undefined
  readonly stable: RequestCounts | undefined
  readonly gate: PoolRollout['gate']
}

type Breach = { readonly reason: Extract<Reason, 'CanaryErrorRate' | 'CanaryLatency'>; readonly message: string }

const none: RequestCounts = { done: 0, failed: 0, timedOut: 0, serviceSeconds: undefined }

const failuresOf = ({ failed, timedOut }: RequestCounts = none): number => failed + timedOut
const requestsOf = (counts: RequestCounts): number => counts.done + failuresOf(counts)
const rateOf = (counts: RequestCounts): number => failuresOf(counts) / Math.max(1, requestsOf(counts))

/** So many requests are judged at least: one failure of nine is no rate. */
const judgedMin = 20

/**
 * At most one request of ten fails, which retries make good, or no larger share than in the old revision. A revision
 * that fails more keeps no pod in its rollback.
 */
export const isMostlyGood = (canary: RequestCounts | undefined, stable: RequestCounts | undefined): boolean =>
  failuresOf(canary) <= 0.1 * Math.max(requestsOf(canary ?? none), judgedMin) ||
  rateOf(canary ?? none) <= rateOf(stable ?? none)

/**
 * What the new revision has done wrong, undefined while nothing is proved. Errors are judged as soon as there are more
 * than `minRequests` would be allowed, so that a revision that fails at once is rolled back at once; and never when the
 * old revision fails as often, and then the images or the network are the cause.
 */
export function findBreach({ canary = none, stable = none, gate }: Judged): Breach | undefined {
  const requests = requestsOf(canary)
  const failures = failuresOf(canary)
  if (failures > gate.maxErrorRate * Math.max(requests, gate.minRequests) && rateOf(canary) > rateOf(stable)) {
    const allowed = `${percent(gate.maxErrorRate)} are allowed, the old revision has ${percent(rateOf(stable))}`
    return { reason: 'CanaryErrorRate', message: `${failures} of ${requests} requests failed (${allowed})` }
  }
  if (requests < Math.max(1, gate.minRequests)) return undefined
  const { serviceSeconds: slow } = canary
  const { serviceSeconds: usual } = stable
  if (slow === undefined || usual === undefined || usual <= 0 || slow / usual <= gate.maxLatencyRatio) return undefined
  const message =
    `a request takes ${slow.toFixed(3)} s in a slot, ${(slow / usual).toFixed(2)} times the ${usual.toFixed(3)} s of ` +
    `the old revision (${gate.maxLatencyRatio} times are allowed)`
  return { reason: 'CanaryLatency', message }
}

type Watched = Judged & {
  readonly seconds: number
  readonly durationSeconds: number
  readonly isDemandFresh: boolean
}

/** With `idle: promote` a step with too few requests ends after ten times its duration: few callers are affected. */
const patienceDurations = 10

/** The gate fails closed: without a fresh reading, or without requests, only the spec can let a step end. */
export const isSeenEnough = ({ canary = none, gate, seconds, durationSeconds, isDemandFresh }: Watched): boolean =>
  isDemandFresh &&
  (requestsOf(canary) >= gate.minRequests ||
    (gate.idle === 'promote' && seconds >= patienceDurations * durationSeconds))

/** What the step still waits for. Without the seconds that pass: a text that changes is written to status each time. */
export function describeGate({ canary = none, gate, durationSeconds, isDemandFresh }: Watched): string {
  const missing = requestsOf(canary) < gate.minRequests ? ` and for ${gate.minRequests} requests` : ''
  const unread = isDemandFresh ? '' : '; its requests cannot be read at the moment'
  return `the new revision is watched for ${durationSeconds} s${missing}${unread}`
}

const percent = (rate: number): string => `${Number((rate * 100).toFixed(1))} %`
