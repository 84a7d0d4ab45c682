import type { Db } from '@matte/core/db/database'
import { findEndedTasks } from '@matte/core/task/list-tasks'
import type { ShownTask } from '@matte/core/task/task-queries'
import type { Logger } from 'pino'
import { type RowWaits, rowWaits } from './row-waits.ts'

export type TaskWaits = RowWaits<ShownTask>

/** Callers that wait for the end of a task (D43). */
export const taskWaits = (db: Db, logger: Logger): TaskWaits =>
  rowWaits({ name: 'task-waits', read: (ids) => findEndedTasks(db, ids), logger })
