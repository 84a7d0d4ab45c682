// Sweeps of expired rows and objects. Every replica sweeps: rows are locked or ended by fenced statements, and deleting
// an object twice is harmless. A failed part or row does not stop the others.
import type { Bus } from '@matte/core/bus/bus'
import { publishDeadLetter } from '@matte/core/bus/publish'
import type { Db } from '@matte/core/db/database'
import { sweepParts } from '@matte/core/db/sweep'
import { deleteExpiredRequests } from '@matte/core/idempotency/idempotency-queries'
import { deleteDueObjects } from '@matte/core/retention/delete-objects'
import { hastenLooks } from '@matte/core/retention/hasten-looks'
import { sweepRetention } from '@matte/core/retention/sweep-retention'
import { type Counts, loop } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import { sweepInferenceWindows } from '@matte/core/scale/inference-queries'
import type { Bucket } from '@matte/core/storage/bucket'
import type { EndedTask } from '@matte/core/task/run/end-run'
import { handOverDeadLetters } from '@matte/core/task/run/hand-over-dead-letters'
import { sweepTasks } from '@matte/core/task/run/sweep-tasks'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Config } from './config.ts'
import { sweepMetrics, type taskSweepParts } from './sweep-metrics.ts'
import type { TaskMetrics } from './worker/task-metrics.ts'

type SweeperDeps = {
  readonly db: Db
  readonly bus: Bus
  readonly bucket: Bucket
  readonly registry: Registry
  readonly metrics: Pick<TaskMetrics, 'ends' | 'claims'>
  readonly logger: Logger
}

type Swept = Awaited<ReturnType<typeof sweepParts>>

export function sweepers(
  config: Config,
  { db, bus, bucket, registry, metrics, logger }: SweeperDeps,
): readonly Service[] {
  const { plans, auditRetentionDays, maxQueueAgeSeconds, sweepEveryMs, retentionEveryMs } = config
  const maxQueueAgeMs = maxQueueAgeSeconds * 1_000
  const failed = sweepMetrics.failures.register(registry)
  const publish: Parameters<typeof handOverDeadLetters>[1] = (body, id) =>
    publishDeadLetter(bus, { modelVersion: body.modelVersion, body, id })

  const ended = (task: EndedTask, lapsed: boolean): void => {
    metrics.ends.record(task.ends)
    if (lapsed) metrics.claims.expired.inc({ kind: 'task' })
  }

  const sweep = (signal: AbortSignal) =>
    sweepParts<(typeof taskSweepParts)[number]>(
      {
        runs_ended: (pass) => sweepTasks(db, { maxQueueAgeMs, ended, ...pass }),
        idempotency_records_deleted: () => deleteExpiredRequests(db),
        inference_windows_deleted: () => sweepInferenceWindows(db),
        dead_letters: (pass) => handOverDeadLetters(db, publish, pass),
      },
      { signal },
    )
  let isHastened = false
  async function retain(signal: AbortSignal) {
    if (!isHastened) await hastenLooks(db, plans)
    isHastened = true
    return sweepRetention({ db, bucket: undefined, plans, auditRetentionDays }, { signal })
  }
  // Apart from the rest, so erased images go within seconds whatever else expires, and a hanging store delays nothing.
  const deleteObjects = (signal: AbortSignal) =>
    sweepParts({ objects_deleted: (pass) => deleteDueObjects(db, bucket, pass) }, { signal })

  function sweeper(name: string, everyMs: number, run: (signal: AbortSignal) => Promise<Swept>): Service {
    const inner = loop({ name, everyMs, logger, run: async (signal) => report(await run(signal), signal) })
    return { ...inner, stopTaking: inner.halt }
  }

  function report({ counts, failures }: Swept, signal: AbortSignal): Counts {
    if (signal.aborted) return counts
    for (const { part, error, rows } of failures) {
      failed.inc({ part })
      logger.error({ err: error, part, rows }, 'part of a sweep failed')
    }
    return counts
  }

  return [
    sweeper('task-sweeper', sweepEveryMs, sweep),
    sweeper('retention-sweeper', retentionEveryMs, retain),
    sweeper('object-sweeper', sweepEveryMs, deleteObjects),
  ]
}
