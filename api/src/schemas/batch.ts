import type { BatchRow, BatchWithTasks } from '@matte/core/batch/batch-queries'
import { type Static, Type } from 'typebox'
import type { ResultLinks } from './result-links.ts'
import { named, nullable, oneOf, refer, time, uuid } from './schema.ts'
import { taskSchema, toNewTaskView, toTaskView } from './task.ts'

const fields = {
  id: uuid(),
  status: oneOf(['processing', 'completed'], {
    description: '`completed` when every task has ended; later retries do not change it.',
  }),
  totalCount: Type.Integer(),
  succeededCount: Type.Integer({
    description: 'Tasks that have succeeded. A retry changes this count and the next two.',
  }),
  failedCount: Type.Integer(),
  canceledCount: Type.Integer(),
  modelVersion: Type.String(),
  callbackUrl: nullable(Type.String({ description: 'Gets batch.completed, and the events of every task.' })),
  createdAt: time(),
  completedAt: nullable(time()),
}

const id = '6f1d2b9e-52f0-4c55-8a49-0f3f0c2f7d11'
const example = {
  id,
  status: 'processing',
  totalCount: 1,
  succeededCount: 0,
  failedCount: 0,
  canceledCount: 0,
  modelVersion: 'service-v2',
  callbackUrl: null,
  createdAt: '2026-11-21T09:30:00.000Z',
  completedAt: null,
}
const [task] = (taskSchema as { examples?: object[] }).examples ?? []

export const batchSummarySchema = named('BatchSummary', fields, example, { description: 'A batch without its tasks.' })

export const batchSchema = named(
  'Batch',
  { ...fields, tasks: Type.Array(refer(taskSchema), { description: 'In the order of `imageUrls`.' }) },
  { ...example, tasks: [{ ...task, batchId: id }] },
  { description: 'A batch with its tasks.' },
)

type BatchSummary = Static<typeof batchSummarySchema>
type BatchView = Static<typeof batchSchema>

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

export const toNewBatchView = ({ batch, tasks }: BatchWithTasks, links: ResultLinks): BatchView => ({
  ...toBatchSummary(batch),
  tasks: tasks.map((task) => toNewTaskView(task, links)),
})
