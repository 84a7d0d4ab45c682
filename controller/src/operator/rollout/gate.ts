// Gate of a canary: compares both revisions since the current step began.
import type { PoolRollout } from '../pool/pool-spec.ts'
import type { Reason } from '../pool/reasons.ts'

export type RequestCounts = {
  /** Finished requests by result. Requests to deleted pods are not counted. */
  readonly done: number
  readonly failed: number
  readonly timedOut: number
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

/** Minimum requests for a rate: one failure of nine is not a rate. */
const judgedMin = 20

/** At most a tenth of the requests fail, or no larger share than in the old revision. */
export const isMostlyGood = (canary: RequestCounts | undefined, stable: RequestCounts | undefined): boolean =>
  failuresOf(canary) <= 0.1 * Math.max(requestsOf(canary ?? none), judgedMin) ||
  rateOf(canary ?? none) <= rateOf(stable ?? none)

/** The values that the gate compares. */
export const measure = ({ canary = none, stable = none }: Judged) => ({
  requests: requestsOf(canary),
  failures: failuresOf(canary),
  errorRate: rateOf(canary),
  usualErrorRate: rateOf(stable),
  latencyRatio: stable.serviceSeconds
    ? canary.serviceSeconds && canary.serviceSeconds / stable.serviceSeconds
    : undefined,
})

/** The exceeded limit, if any. The error rate never counts if the old revision fails as often. */
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

/** With `idle: promote` a step without enough requests ends after this many durations. */
const patienceDurations = 10

/** Fails closed: without a fresh reading or requests a step does not end, unless spec allows it. */
export const isSeenEnough = ({ canary = none, gate, seconds, durationSeconds, isDemandFresh }: Watched): boolean =>
  isDemandFresh &&
  (requestsOf(canary) >= gate.minRequests ||
    (gate.idle === 'promote' && seconds >= patienceDurations * durationSeconds))

/** Describes the wait of a step. Has no elapsed seconds, because a changed text is written to status. */
export function describeGate({ canary = none, gate, durationSeconds, isDemandFresh }: Watched): string {
  const missing = requestsOf(canary) < gate.minRequests ? ` and for ${gate.minRequests} requests` : ''
  const unread = isDemandFresh ? '' : '; its requests cannot be read'
  return `the new revision is watched for ${durationSeconds} s${missing}${unread}`
}

export const percent = (rate: number): string => `${Number((rate * 100).toFixed(1))} %`
