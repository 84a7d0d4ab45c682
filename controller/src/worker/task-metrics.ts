import { createClaimMetrics } from '@matte/core/runtime/metrics/claim-metrics'
import { counter, gauge, histogram } from '@matte/core/runtime/metrics/define'
import { inSpan } from '@matte/core/runtime/tracing'
import { type FailureReason, failureReasons } from '@matte/core/task/failure'
import { createEndingMetrics } from '@matte/core/task/run/ending-metrics'
import { endedStatuses } from '@matte/core/task/task'
import type { Plans } from '@matte/core/workspace/plan'
import type { Registry } from 'prom-client'

const stages = ['fetch', 'decode', 'prepare', 'infer', 'refine', 'encode', 'store', 'finish'] as const
/** `waiting`: for the next attempt. */
const attemptStatuses = ['succeeded', 'waiting', 'failed', 'given_back', 'lost'] as const

/** All of this file but what other processes count as well; docs/metrics.md lists them. */
export const taskMetrics = {
  stage: histogram({
    name: 'matte_task_stage_seconds',
    reader: 'saturation',
    help: 'Time of one stage of a task in the worker.',
    labels: { stage: stages },
  }),
  duration: histogram({
    name: 'matte_task_processing_seconds',
    reader: 'saturation',
    help: 'Time from a claim to its end, whatever the end.',
  }),
  queueWait: histogram({
    name: 'matte_task_queue_wait_seconds',
    reader: 'alert',
    help: "Time from the start of a run's waiting to a claim, by the database's clock.",
  }),
  attempts: counter({
    name: 'matte_task_attempts_total',
    reader: 'product',
    help: 'Attempts ended: succeeded, waiting for the next, failed for good, given back uncounted, or lost.',
    labels: { status: attemptStatuses, reason: `${failureReasons.join(', ')}; empty when nothing failed` },
  }),
  inFlight: gauge({
    name: 'matte_tasks_in_flight',
    reader: 'saturation',
    help: 'Tasks claimed by this process and not ended.',
  }),
  inFlightMax: gauge({
    name: 'matte_tasks_in_flight_max',
    reader: 'saturation',
    help: 'Most tasks that this process claims at once: TASKS_IN_FLIGHT_MAX.',
  }),
  slotsUsed: gauge({
    name: 'matte_slots_used',
    reader: 'saturation',
    help: 'Inference requests in flight from this process.',
  }),
}

export type TaskMetrics = ReturnType<typeof createTaskMetrics>

export function createTaskMetrics(registry: Registry, plans: Plans) {
  const stageSeconds = taskMetrics.stage.register(registry)
  const attempts = taskMetrics.attempts.register(registry)
  const claims = createClaimMetrics(registry, 'task')
  return {
    /** Times one stage of a task, and puts a span around it. */
    stage: async <T>(stage: (typeof stages)[number], work: () => Promise<T>): Promise<T> => {
      const end = stageSeconds.startTimer({ stage })
      try {
        return await inSpan(`task.${stage}`, {}, work)
      } finally {
        end()
      }
    },
    duration: taskMetrics.duration.register(registry),
    queueWait: taskMetrics.queueWait.register(registry),
    claims,
    attemptEnded: (status: (typeof attemptStatuses)[number], reason: FailureReason | '' = ''): void => {
      attempts.inc({ status, reason })
      if (status === 'lost') claims.lost.inc({ kind: 'task' })
    },
    ends: createEndingMetrics(registry, { plans: Object.keys(plans), statuses: endedStatuses }),
  }
}

type Gauges = Readonly<Record<'tasksInFlight' | 'slotsUsed', () => number>> & { readonly inFlightMax: number }

export function registerGauges(registry: Registry, { tasksInFlight, slotsUsed, inFlightMax }: Gauges): void {
  taskMetrics.inFlightMax.register(registry).set(inFlightMax)
  taskMetrics.inFlight.register(registry, (metric) => metric.set(tasksInFlight()))
  taskMetrics.slotsUsed.register(registry, (metric) => metric.set(slotsUsed()))
}
