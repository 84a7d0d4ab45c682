// Demand on a pool at a moment of the database clock; the only list of its fields. It is in core because core measures
// it. The operator's scaling rule imports only the type, and the pool status takes names and descriptions from here.
// A single request belongs to a task created alone, or to a retry. Children of a batch are counted separately, because
// no caller waits for one of them.

type DemandField = { readonly unit: 'count' | 'seconds' | 'share'; readonly description: string }

export const demandFields = {
  arrivals3s: { unit: 'count', description: 'Single requests that arrived in the last 3 s.' },
  arrivals30s: { unit: 'count', description: 'Single requests that arrived in the last 30 s.' },
  // Queued below the plan's limit, or due after an attempt.
  backlog: { unit: 'count', description: 'Single requests that wait.' },
  // Per workspace: waiting children, at most the slots left by single requests.
  batchSlots: { unit: 'count', description: 'Slots that batches may use now, over all workspaces.' },
  // Keeps demand up when a batch has its whole plan limit in flight.
  batchProcessing: { unit: 'count', description: 'Slots that batches use.' },
  processing: { unit: 'count', description: 'Requests in flight.' },
  oldestSeconds: {
    unit: 'seconds',
    description: 'Age of the single request that has waited longest, in seconds; 0 when none waits.',
  },
  serviceSeconds: {
    unit: 'seconds',
    description:
      'Mean time of a request in a slot over the last minute, in seconds, or the last known mean; for a model with ' +
      'two views the sum of both.',
  },
  p95Seconds: {
    unit: 'seconds',
    description: "95 % of the last minute's requests were done within this many seconds of their creation.",
  },
  missedShare: {
    unit: 'share',
    description: "Share of the last minute's requests that took longer than scaling.target.p95Seconds, 0 to 1.",
  },
} as const satisfies Record<string, DemandField>

export type DemandFieldName = keyof typeof demandFields

type Measured = 'serviceSeconds' | 'p95Seconds' | 'missedShare'

export type Demand = {
  readonly [Name in DemandFieldName]: Name extends Measured ? number | undefined : number
}
