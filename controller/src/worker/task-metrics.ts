import { durationBuckets } from '@matte/core/runtime/metrics/define'
import { inSpan } from '@matte/core/runtime/tracing'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

const stages = ['fetch', 'decode', 'prepare', 'infer', 'refine', 'encode', 'store', 'finish'] as const

export type TaskMetrics = ReturnType<typeof createTaskMetrics>

export function createTaskMetrics(registry: Registry) {
  const registers = [registry]
  const stageSeconds = new Histogram({
    name: 'matte_task_stage_seconds',
    help: 'Time of one stage of a task in the controller, by stage',
    labelNames: ['stage'],
    buckets: durationBuckets,
    registers,
  })
  for (const stage of stages) stageSeconds.zero({ stage })
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
    duration: new Histogram({
      name: 'matte_task_processing_seconds',
      help: 'Time from a claim to its end, whatever the end',
      buckets: durationBuckets,
      registers,
    }),
    queueWait: new Histogram({
      name: 'matte_task_queue_wait_seconds',
      help: "Time from the start of a run's waiting to a claim, by the database's clock",
      buckets: durationBuckets,
      registers,
    }),
    ended: new Counter({
      name: 'matte_task_attempts_total',
      help: 'Attempts ended: succeeded, waiting for the next, failed, given_back, lost; with the reason of a failure',
      labelNames: ['status', 'reason'],
      registers,
    }),
  }
}

type Gauges = Readonly<Record<'tasksInFlight' | 'slotsUsed', () => number>>

export function registerGauges(registry: Registry, gauges: Gauges): void {
  const registers = [registry]
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read())
      },
    })
  }
  gauge('matte_tasks_in_flight', 'Tasks claimed by this process and not ended', gauges.tasksInFlight)
  gauge('matte_slots_used', 'Inference requests in flight from this process', gauges.slotsUsed)
}
