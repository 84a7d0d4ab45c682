// Metrics of ended runs, recorded by the process that ends them.
import type { Registry } from 'prom-client'
import { counter, histogram } from '../../runtime/metrics/define.ts'
import { type FailureReason, failureReasons } from '../failure.ts'
import { endedStatuses } from '../task.ts'

type EndedStatus = (typeof endedStatuses)[number]

const plan = 'names of the plans of the configuration'
const outcomes = ['charged', 'released'] as const

/** Listed in docs/metrics.md. */
export const endingMetrics = {
  completion: histogram({
    name: 'matte_task_completion_seconds',
    reader: 'alert',
    help:
      'Seconds from the acceptance of a run (creation or retry) to its end, by the database clock. The API records ' +
      'canceled runs, the worker all others, including those that its sweep ends; `matte-admin sweep` records nothing.',
    labels: { plan, status: endedStatuses },
    // Dense around the target of two seconds; the last buckets are for a backlog, up to the longest queue age in use.
    buckets: [0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60, 120, 300, 900, 1_800, 3_600, 10_800, 21_600],
  }),
  failures: counter({
    name: 'matte_task_failures_total',
    reader: 'product',
    help: 'Runs that failed permanently, by the reason that the caller reads.',
    labels: { code: failureReasons },
  }),
  credits: counter({
    name: 'matte_credits_settled_total',
    reader: 'product',
    help:
      'Credits of ended runs: charged after a success, released otherwise, and after a success that is not charged ' +
      'because no subject was found. Free runs add nothing.',
    labels: { plan, outcome: outcomes },
  }),
}

/** Runs that ended together, such as the children of a canceled batch. */
export type RunEnds = {
  readonly plan: string
  readonly status: EndedStatus
  readonly reason: FailureReason | null
  /** Credits were charged or released. */
  readonly outcome: (typeof outcomes)[number]
  /** Duration of each run, from acceptance to end. */
  readonly seconds: readonly number[]
  /** Total of all runs. */
  readonly credits: number
}

type Options = {
  readonly plans: readonly string[]
  /** Endings that this process records. */
  readonly statuses: readonly EndedStatus[]
}

/** Known series start at zero, because a rate misses the first sample of a new series. */
export function createEndingMetrics(registry: Registry, { plans, statuses }: Options) {
  const completion = endingMetrics.completion.register(registry)
  const failures = endingMetrics.failures.register(registry)
  const credits = endingMetrics.credits.register(registry)
  for (const name of plans) {
    for (const status of statuses) completion.zero({ plan: name, status })
    credits.inc({ plan: name, outcome: 'released' }, 0)
    if (statuses.includes('succeeded')) credits.inc({ plan: name, outcome: 'charged' }, 0)
  }
  return {
    record: (ends: RunEnds): void => {
      const { plan: name, status, reason, outcome } = ends
      for (const seconds of ends.seconds) completion.observe({ plan: name, status }, seconds)
      if (reason !== null) failures.inc({ code: reason }, ends.seconds.length)
      credits.inc({ plan: name, outcome }, ends.credits)
    },
  }
}

/** Difference of two database times; never negative, even if the clock was set back. */
export const secondsBetween = (from: Date, to: Date): number => Math.max(0, to.getTime() - from.getTime()) / 1_000
