import type { Generated, JSONColumnType } from 'kysely'

export const poolStates = ['ready', 'scaling', 'rollingOut', 'asleep', 'degraded', 'closed'] as const

type PoolCondition = {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  /** ISO 8601. */
  readonly since: string
}

export const gateNames = ['readiness', 'errorRate', 'latency', 'requests', 'duration'] as const
export const gateVerdicts = ['passed', 'failed', 'waiting', 'notMeasured'] as const

/** One condition of a rollout step, with the value that was observed and the value that it is compared with. */
export type Gate = {
  readonly gate: (typeof gateNames)[number]
  readonly verdict: (typeof gateVerdicts)[number]
  readonly observed: number | null
  readonly limit: number | null
  readonly sentence: string
}

export type RolloutReport = {
  readonly stable: string
  readonly canary: string
  readonly step: number
  readonly steps: number
  readonly weight: number
  /** `Room`, `Requests` or `Demand`; null while the rollout does not wait. */
  readonly waitingFor: string | null
  readonly sentence: string
  readonly gates: readonly Gate[]
}

/** State of a pool after a reconcile pass. */
export type PoolReport = {
  readonly state: (typeof poolStates)[number]
  readonly models: readonly string[]
  readonly wanted: number
  readonly ready: number
  readonly starting: number
  readonly draining: number
  readonly minReplicas: number | null
  readonly maxReplicas: number | null
  readonly slotsPerPod: number | null
  /** Null: the demand could not be read. */
  readonly queue: number | null
  readonly processing: number | null
  readonly oldestSeconds: number | null
  readonly p95Seconds: number | null
  readonly inFlight: number | null
  readonly rule: string | null
  readonly sentence: string
  readonly numbers: Readonly<Record<string, number>>
  readonly conditions: readonly PoolCondition[]
  readonly rollout: RolloutReport | null
}

/** The last report of the operator about a pool. */
export type PoolReportTable = {
  id: Generated<string>
  namespace: string
  pool: string
  lease: string
  term: number
  at: Date
  report: JSONColumnType<PoolReport>
}

export type PoolSampleTable = {
  id: Generated<string>
  namespace: string
  pool: string
  at: Date
  wanted: number
  ready: number
  starting: number
  draining: number
  queue: number | null
  processing: number | null
  oldest_seconds: number | null
  p95_seconds: number | null
  in_flight: number | null
}

export type ScalingDecisionTable = {
  id: Generated<string>
  namespace: string
  pool: string
  at: Date
  from_replicas: number
  to_replicas: number
  rule: string
  sentence: string
  numbers: JSONColumnType<Readonly<Record<string, number>>>
}

export type RolloutStepTable = {
  id: Generated<string>
  namespace: string
  pool: string
  at: Date
  revision: string
  stable: string | null
  event: string
  step: number
  weight: number
  sentence: string
  gates: JSONColumnType<readonly Gate[]>
}

/** Hashes only; a code or a token is shown once. */
export type OperatorCredentialTable = {
  hash: Buffer
  purpose: 'link' | 'session'
  created_at: Generated<Date>
  expires_at: Date
}
