import { Type } from 'typebox'
import { named, nullable, oneOf, refer } from './schema.ts'
import { taskSchema } from './task.ts'

const fields = {
  id: Type.String({ format: 'uuid' }),
  status: oneOf(['processing', 'completed'], {
    description: '`completed` once every task has ended, and for good: a later retry of a task leaves it.',
  }),
  totalCount: Type.Integer(),
  succeededCount: Type.Integer({
    description: 'Tasks that are succeeded now; they follow a retry, as the next two do.',
  }),
  failedCount: Type.Integer(),
  canceledCount: Type.Integer(),
  modelVersion: Type.String(),
  callbackUrl: nullable(Type.String({ description: 'Gets batch.completed, and the events of every task.' })),
  createdAt: Type.String({ format: 'date-time' }),
  completedAt: nullable(Type.String({ format: 'date-time' })),
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

/** An entry of the list (D50, D51). */
export const batchSummarySchema = named('BatchSummary', fields, {
  description: 'A batch as the list has it.',
  examples: [example],
})

export const batchSchema = named(
  'Batch',
  { ...fields, tasks: Type.Array(refer(taskSchema), { description: 'In the order of `imageUrls`.' }) },
  { description: 'A batch with its tasks.', examples: [{ ...example, tasks: [{ ...task, batchId: id }] }] },
)
