import { createClaimMetrics } from '@matte/core/runtime/metrics/claim-metrics'
import { counter, gauge, histogram } from '@matte/core/runtime/metrics/define'
import { inSpan } from '@matte/core/runtime/tracing'
import { attemptStages } from '@matte/core/task/attempt-work'
import { type FailureReason, failureReasons } from '@matte/core/task/failure'
import { createEndingMetrics } from '@matte/core/task/run/ending-metrics'
import { endedStatuses } from '@matte/core/task/task'
import type { Plans } from '@matte/core/workspace/plan'
import type { Registry } from 'prom-client'
import type { Budget } from './image/budget.ts'
import type { ImageMemory } from './image/image-memory.ts'

const stages = [...attemptStages, 'finish'] as const
const budgets = ['files', 'pixels'] as const
const attemptStatuses = ['succeeded', 'waiting', 'failed', 'given_back', 'lost'] as const

export const taskMetrics = {
  stage: histogram({
    name: 'matte_task_stage_seconds',
    reader: 'saturation',
    help: 'Time of one stage of a task in the worker; `wait` is time without memory or a free slot of a pod.',
    labels: { stage: stages },
  }),
  duration: histogram({
    name: 'matte_task_processing_seconds',
    reader: 'saturation',
    help: 'Time from a claim to its end, with any outcome.',
  }),
  queueWait: histogram({
    name: 'matte_task_queue_wait_seconds',
    reader: 'alert',
    help: 'Time that a run waits until it is claimed, by the database clock.',
  }),
  confidence: histogram({
    name: 'matte_task_confidence_ratio',
    reader: 'alert',
    help: 'Confidence of results, 0 to 1; models that give no measure add nothing.',
    labels: { model_version: 'the models that are installed' },
    // Results below 0.9 are worth a check; le="0.89" counts them.
    buckets: [0, 0.25, 0.49, 0.69, 0.79, 0.89, 0.94, 0.97, 1],
  }),
  attempts: counter({
    name: 'matte_task_attempts_total',
    reader: 'product',
    help: 'Attempts ended: succeeded, waiting for a retry, failed permanently, given back without cost, or lost.',
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
    help: 'Limit of tasks in flight in this process: TASKS_IN_FLIGHT_MAX.',
  }),
  slotsUsed: gauge({
    name: 'matte_slots_used',
    reader: 'saturation',
    help: 'Inference requests in flight from this process.',
  }),
  memoryUsed: gauge({
    name: 'matte_image_memory_used_bytes',
    reader: 'saturation',
    help: 'Memory reserved for image files or pixels in this process.',
    labels: { for: budgets },
  }),
  memoryWaiting: gauge({
    name: 'matte_image_memory_waiting_bytes',
    reader: 'saturation',
    help: 'Memory that tasks of this process wait for. Above 0, another worker speeds images up.',
    labels: { for: budgets },
  }),
  memoryMax: gauge({
    name: 'matte_image_memory_max_bytes',
    reader: 'saturation',
    help: 'Limit of memory for image files or pixels in this process; the sum is IMAGE_MEMORY_BYTES.',
    labels: { for: budgets },
  }),
}

export type TaskMetrics = ReturnType<typeof createTaskMetrics>

export function createTaskMetrics(registry: Registry, plans: Plans) {
  const stageSeconds = taskMetrics.stage.register(registry)
  const attempts = taskMetrics.attempts.register(registry)
  const claims = createClaimMetrics(registry, 'task')
  return {
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
    confidence: taskMetrics.confidence.register(registry),
    claims,
    attemptEnded: (status: (typeof attemptStatuses)[number], reason: FailureReason | '' = ''): void => {
      attempts.inc({ status, reason })
      if (status === 'lost') claims.lost.inc({ kind: 'task' })
    },
    ends: createEndingMetrics(registry, { plans: Object.keys(plans), statuses: endedStatuses }),
  }
}

type Gauges = Readonly<Record<'tasksInFlight' | 'slotsUsed', () => number>> & {
  readonly inFlightMax: number
  readonly memory: ImageMemory
}

export function registerGauges(registry: Registry, { tasksInFlight, slotsUsed, inFlightMax, memory }: Gauges): void {
  taskMetrics.inFlightMax.register(registry).set(inFlightMax)
  taskMetrics.inFlight.register(registry, (metric) => metric.set(tasksInFlight()))
  taskMetrics.slotsUsed.register(registry, (metric) => metric.set(slotsUsed()))
  for (const [name, read] of [
    ['memoryUsed', ({ used }: Budget) => used()],
    ['memoryWaiting', ({ waiting }: Budget) => waiting()],
    ['memoryMax', ({ total }: Budget) => total],
  ] as const) {
    taskMetrics[name].register(registry, (metric) => {
      for (const budget of budgets) metric.set({ for: budget }, read(memory[budget]))
    })
  }
}
