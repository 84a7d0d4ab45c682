import type { TaskEvent } from '@matte/core/task/history/list-task-events'
import type { TaskChange } from '@matte/core/task/history/read-changes'
import type { Static } from 'typebox'
import type { taskChangeSchema, taskEventSchema } from '../../schemas/app/task-event.ts'

type TaskEventView = Static<typeof taskEventSchema>

/** An event with the words of the interface (D35). */
export function toTaskEventView({ id, type, payload, at, durationMs }: TaskEvent): TaskEventView {
  const { run, attempt, reason, message } = payload as TaskEventView['event_payload']
  return {
    id: String(id),
    event_type: type as TaskEventView['event_type'], // the table takes no other
    event_payload: {
      run,
      ...(attempt !== undefined && { attempt }),
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message }),
      ...(durationMs !== null && { duration_ms: durationMs }),
      at: at.toISOString(),
    },
  }
}

export const toTaskChangeView = (change: TaskChange): Static<typeof taskChangeSchema> => ({
  ...toTaskEventView(change),
  taskId: change.taskId,
  batchId: change.batchId,
})
