// What is counted of every end of a run, whichever process ends it.
import type { Registry } from 'prom-client'
import { counter, histogram } from '../../runtime/metrics/define.ts'
import { type FailureReason, failureReasons } from '../failure.ts'
import { endedStatuses } from '../task.ts'

type EndedStatus = (typeof endedStatuses)[number]

const plan = 'names of the plans of the configuration'
const outcomes = ['charged', 'released'] as const

/** All of this file; docs/metrics.md lists them. */
export const endingMetrics = {
  completion: histogram({
    name: 'matte_task_completion_seconds',
    reader: 'alert',
    help:
      "From the acceptance of a run, by its creation or the caller's retry, to its end as the caller reads it, by " +
      "the database's clock. Counted by the process that ends it: the API counts what is canceled, the controller " +
      'the rest, what a sweep ends included; `matte-admin sweep` counts nothing.',
    labels: { plan, status: endedStatuses },
    // Dense around the promise of two seconds; the last are those of a backlog, up to the longest queue age in use.
    buckets: [0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60, 120, 300, 900, 1_800, 3_600, 10_800, 21_600],
  }),
  failures: counter({
    name: 'matte_task_failures_total',
    reader: 'product',
    help: 'Runs that failed for good, by the code that the caller reads.',
    labels: { code: failureReasons },
  }),
  credits: counter({
    name: 'matte_credits_settled_total',
    reader: 'product',
    help: 'Credits of ended runs: charged for a success, released otherwise. Runs without a charge add nothing.',
    labels: { plan, outcome: outcomes },
  }),
}

/** Runs that ended together. */
export type RunEnds = {
  readonly plan: string
  readonly status: EndedStatus
  /** Why, of those that failed. */
  readonly reason: FailureReason | null
  /** Of each run, from its acceptance to its end. */
  readonly seconds: readonly number[]
  /** Of all together. */
  readonly credits: number
}

type Options = {
  readonly plans: readonly string[]
  /** The ends that this process makes. */
  readonly statuses: readonly EndedStatus[]
}

/** What is known to come is there from the start, at zero: a rate misses the first of a series that begins with it. */
export function createEndingMetrics(registry: Registry, { plans, statuses }: Options) {
  const completion = endingMetrics.completion.register(registry)
  const failures = endingMetrics.failures.register(registry)
  const credits = endingMetrics.credits.register(registry)
  for (const name of plans) {
    for (const status of statuses) {
      completion.zero({ plan: name, status })
      credits.inc({ plan: name, outcome: outcomeOf(status) }, 0)
    }
  }
  return {
    record: (ends: RunEnds): void => {
      const { plan: name, status, reason } = ends
      for (const seconds of ends.seconds) completion.observe({ plan: name, status }, seconds)
      if (reason !== null) failures.inc({ code: reason }, ends.seconds.length)
      credits.inc({ plan: name, outcome: outcomeOf(status) }, ends.credits)
    },
  }
}

const outcomeOf = (status: EndedStatus): (typeof outcomes)[number] => (status === 'succeeded' ? 'charged' : 'released')

/** Two times of the database; a clock that was set back between them makes no negative duration. */
export const secondsBetween = (from: Date, to: Date): number => Math.max(0, to.getTime() - from.getTime()) / 1_000
