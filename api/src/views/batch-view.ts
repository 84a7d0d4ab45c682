import type { BatchRow } from '@matte/core/batch/batch-queries'
import type { BatchWithTasks } from '@matte/core/batch/read-batch'
import type { Static } from 'typebox'
import type { batchSchema, batchSummarySchema } from '../schemas/batch.ts'
import type { ResultLinks } from './result-links.ts'
import { toNewTaskView, toTaskView } from './task-view.ts'

type BatchSummary = Static<typeof batchSummarySchema>
type BatchView = Static<typeof batchSchema>

/** The batch without its tasks, for lists (D51). */
export const toBatchSummary = (batch: BatchRow): BatchSummary => ({
  id: batch.id,
  status: batch.status,
  totalCount: batch.total_count,
  succeededCount: batch.succeeded_count,
  failedCount: batch.failed_count,
  canceledCount: batch.canceled_count,
  modelVersion: batch.model_version,
  callbackUrl: batch.callback_url,
  createdAt: batch.created_at.toISOString(),
  completedAt: batch.completed_at?.toISOString() ?? null,
})

export const toBatchView = ({ batch, tasks }: BatchWithTasks, links: ResultLinks): BatchView => ({
  ...toBatchSummary(batch),
  tasks: tasks.map((task) => toTaskView(task, links)),
})

/** The answer of creation, whose tasks have their cost (D31). */
export const toNewBatchView = ({ batch, tasks }: BatchWithTasks, links: ResultLinks): BatchView => ({
  ...toBatchSummary(batch),
  tasks: tasks.map((task) => toNewTaskView(task, links)),
})
