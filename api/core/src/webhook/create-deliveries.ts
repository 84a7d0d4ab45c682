import type { Db } from '../db/database.ts'
import { buildTaskBody, type TaskOutcome } from './payload.ts'
import { portOf } from './target-url.ts'

export type TaskDeliveries = TaskOutcome & {
  readonly workspaceId: string
  readonly run: number
  readonly callbackUrl: string | null
  readonly traceparent: string | null
}

type Target = { readonly endpointId: string | null; readonly url: string }

/**
 * Writes the deliveries of a task's event, one row per target, inside the transaction that ends the run: what is
 * committed with the terminal state is delivered, whatever dies afterwards. Repeating it for the same run adds
 * nothing. The caller nudges after its commit.
 */
export async function createTaskDeliveries(db: Db, task: TaskDeliveries): Promise<void> {
  const targets: Target[] = task.callbackUrl === null ? [] : [{ endpointId: null, url: task.callbackUrl }]
  if (targets.length === 0) return
  const body = buildTaskBody(task)
  await db
    .insertInto('delivery')
    .values(
      targets.map(({ endpointId, url }) => ({
        workspace_id: task.workspaceId,
        task_id: task.taskId,
        run: task.run,
        event: task.event,
        endpoint_id: endpointId,
        target_url: url,
        target_host: targetHostOf(url),
        body,
        traceparent: task.traceparent,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** `host:port`. A URL that cannot be read is no reason to fail the task: its attempts will be refused. */
function targetHostOf(text: string): string {
  const url = URL.parse(text)
  return url === null ? 'unusable' : `${url.hostname}:${portOf(url)}`
}
