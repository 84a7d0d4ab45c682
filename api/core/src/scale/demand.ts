// The demand on one pool at one moment of the database's clock, and the only list of its fields. Core owns it, because
// the statement that measures it is here and core imports nothing of the controller. The operator's scaling rule
// imports the type alone, so it runs without core; the status of a pool takes names and descriptions from this list
// too.
//
// A single request is of a task that was created alone, or of any retry by a caller. Nobody waits for one particular
// child of a batch, so children are counted apart.

type DemandField = { readonly unit: 'count' | 'seconds' | 'share'; readonly description: string }

export const demandFields = {
  // Counts, not rates.
  arrivals3s: { unit: 'count', description: 'Single requests that arrived in the last 3 s.' },
  arrivals30s: { unit: 'count', description: 'Single requests that arrived in the last 30 s.' },
  // Queued below the plan's limit, or due again after an attempt.
  backlog: { unit: 'count', description: 'Single requests that wait.' },
  // Per workspace the smaller of the children that wait and the slots that its single requests leave free.
  batchSlots: { unit: 'count', description: 'Slots that batches may use now, over all workspaces.' },
  // Without it the demand of a batch would vanish once the plan's limit is in flight, and its pods soon after.
  batchProcessing: { unit: 'count', description: 'Slots that batches use.' },
  // Tasks of both kinds under a live claim.
  processing: { unit: 'count', description: 'Requests in flight.' },
  oldestSeconds: {
    unit: 'seconds',
    description: 'Age of the single request that has waited longest, in seconds; 0 when none waits.',
  },
  serviceSeconds: {
    unit: 'seconds',
    description:
      'Mean time of a request in a slot over the last minute, in seconds, or the last known one; of a model with two ' +
      'views the sum of both.',
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

/** Undefined: nothing ended within the time that it is measured over. */
type Measured = 'serviceSeconds' | 'p95Seconds' | 'missedShare'

export type Demand = {
  readonly [Name in DemandFieldName]: Name extends Measured ? number | undefined : number
}
