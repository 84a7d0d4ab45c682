// Bodies of events: flat JSON, `event` first, stored as the bytes to be signed. Amounts
// are integers in minor units, currencies ISO 4217, dates ISO 8601.
import type { eventCatalog } from './event-catalog.ts'

type Catalog = typeof eventCatalog
type TaskEvent = 'task.succeeded' | 'task.failed'

type FieldsOf<E extends keyof Catalog> = {
  readonly [F in keyof Catalog[E]['fields']]: Catalog[E]['fields'][F] extends { type: 'integer' } ? number : string
}

/** An event with its fields; their order is the order in the body. */
export type EventFields = {
  readonly [E in Exclude<keyof Catalog, TaskEvent>]: { readonly event: E; readonly fields: FieldsOf<E> }
}[Exclude<keyof Catalog, TaskEvent>]

/** Fields of `welcome`, published at verification and delivered to a first endpoint. */
export const welcomeFields = { message: 'Welcome to Matte: your account is ready.' }

export const buildEventBody = ({ event, fields }: EventFields): string => JSON.stringify({ event, ...fields })

export type TaskOutcome =
  | { readonly event: 'task.succeeded'; readonly taskId: string; readonly message: string }
  | { readonly event: 'task.failed'; readonly taskId: string; readonly reason: string; readonly message: string }

export function buildTaskBody(outcome: TaskOutcome): string {
  const { event, taskId: task_id, message } = outcome
  return JSON.stringify(
    outcome.event === 'task.failed' ? { event, task_id, reason: outcome.reason, message } : { event, task_id, message },
  )
}

type BatchOutcome = { readonly batchId: string; readonly totalCount: number; readonly successCount: number }

/** Fields of `batch.completed`; canceled tasks count as failed. */
export const batchFields = ({ batchId, totalCount, successCount }: BatchOutcome) => ({
  batch_job_id: batchId,
  total_count: totalCount,
  success_count: successCount,
  failed_count: totalCount - successCount,
  message: `${successCount} of ${totalCount} tasks succeeded.`,
})
