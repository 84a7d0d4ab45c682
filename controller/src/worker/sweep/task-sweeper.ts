import type { Db } from '@matte/core/db/database'
import { deleteExpiredRequests } from '@matte/core/idempotency/idempotency-queries'
import { type Loop, loop } from '@matte/core/runtime/loop'
import { sweepInferenceWindows } from '@matte/core/scale/inference-queries'
import { handOverDeadLetters, type PublishDeadLetter } from '@matte/core/task/run/hand-over-dead-letters'
import { sweepTasks } from '@matte/core/task/run/sweep-tasks'
import type { Logger } from 'pino'

export type SweepDeps = {
  readonly db: Db
  readonly publishDeadLetter: PublishDeadLetter
  readonly everyMs: number
  readonly maxQueueAgeMs: number
  readonly logger: Logger
}

/** Runs in every replica and needs no leader: each row is ended by a fenced statement of its own. */
export const sweeper = ({ db, publishDeadLetter, everyMs, maxQueueAgeMs, logger }: SweepDeps): Loop =>
  loop({
    name: 'task-sweeper',
    everyMs,
    logger,
    run: async () => ({
      runs_ended: await sweepTasks(db, { maxQueueAgeMs }),
      dead_letters: await handOverDeadLetters(db, publishDeadLetter),
      idempotency_records_deleted: await deleteExpiredRequests(db),
      inference_windows_deleted: await sweepInferenceWindows(db),
    }),
  })
