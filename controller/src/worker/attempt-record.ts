// Measures one attempt for its event in the history. The metrics count the same stages over all attempts.
import { type AttemptStage, type AttemptWork, attemptStages } from '@matte/core/task/attempt-work'
import type { Pod } from './routing/pod-source.ts'
import type { TaskMetrics } from './task-metrics.ts'

export type AttemptRecord = ReturnType<typeof recordAttempt>

type Served = Pick<Pod, 'name' | 'address' | 'pool' | 'revision' | 'tritonModel'>

export function recordAttempt(metrics: Pick<TaskMetrics, 'stage'>) {
  const spentMs = new Map<AttemptStage, number>()
  let served: Served | undefined
  const add = (stage: AttemptStage, ms: number): void => void spentMs.set(stage, (spentMs.get(stage) ?? 0) + ms)
  return {
    stage: async <T>(stage: AttemptStage, work: () => Promise<T>): Promise<T> => {
      const begunAt = performance.now()
      try {
        return await metrics.stage(stage, work)
      } finally {
        add(stage, performance.now() - begunAt)
      }
    },
    /** Time of the stage `from` that belongs to `to`. */
    move: (from: AttemptStage, to: AttemptStage, ms: number): void => {
      add(from, -ms)
      add(to, ms)
    },
    servedBy: (pod: Served): void => {
      served = pod
    },
    work: (): AttemptWork => ({
      ...(served && { ...podOf(served), pool: served.pool, model: served.tritonModel }),
      stagesMs: Object.fromEntries(
        attemptStages.flatMap((stage) => {
          const ms = spentMs.get(stage)
          return ms === undefined ? [] : [[stage, Math.max(0, Math.round(ms))]]
        }),
      ),
    }),
  }
}

/** A server of MODELS_STATIC has no name but its address, which members do not see. */
const podOf = ({ name, address, revision }: Served) => (name === address ? {} : { pod: name, revision })
