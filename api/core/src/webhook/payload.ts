// The bodies of webhooks: flat JSON, `event` first, then the fields of the interface in its order. Made once and
// stored, because the bytes are what is signed (D63).

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

/** The fields of `batch.completed`. Whatever did not succeed counts as failed here, canceled ones included (D52). */
export const batchFields = ({ batchId, totalCount, successCount }: BatchOutcome) => ({
  batch_job_id: batchId,
  total_count: totalCount,
  success_count: successCount,
  failed_count: totalCount - successCount,
  message: `${successCount} of ${totalCount} tasks succeeded.`,
})
