// Waits for a task by polling, no faster than the rate limit allows.
import { MatteError } from './error.ts'
import { aborted } from './http/answer-errors.ts'
import { sleep } from './http/deadline.ts'
import { pollDelayMs } from './http/retry.ts'
import type { Transport } from './http/transport.ts'
import { getTask } from './operations/task-requests.ts'
import type { WaitOptions } from './options.ts'
import type { Task } from './schema.ts'

export const waitDefaultMs = 600_000

/** Resolves with the succeeded task. @throws MatteError with the failure's reason as code, or CLIENT_TIMEOUT */
export async function waitForTask(
  transport: Transport,
  taskOrId: Task | string,
  { signal, waitMs = waitDefaultMs, onProgress }: WaitOptions = {},
): Promise<Task> {
  const endsAtMs = Date.now() + waitMs
  const options = { signal }
  let task = typeof taskOrId === 'string' ? await getTask(transport, taskOrId, options) : taskOrId
  transport.polls.open++
  try {
    for (let poll = 0; task.status === 'queued' || task.status === 'processing'; poll++) {
      onProgress?.({ state: task.status, loadedBytes: 0, totalBytes: undefined, taskId: task.id })
      const leftMs = endsAtMs - Date.now()
      if (leftMs <= 0) throw stillOpen(task)
      const delayMs = pollDelayMs(poll, transport.rateWindow(), transport.polls.open)
      await sleep(Math.min(delayMs, leftMs), signal).catch((reason) => Promise.reject(aborted(reason, task.id)))
      task = await getTask(transport, task.id, options)
    }
  } finally {
    transport.polls.open--
  }
  return task.status === 'succeeded' ? task : Promise.reject(notSucceeded(task))
}

const stillOpen = ({ id, status }: Task) =>
  new MatteError('CLIENT_TIMEOUT', `The task is still ${status} after waitMs. Wait again by its id.`, {
    retryable: true,
    taskId: id,
  })

function notSucceeded(task: Task): MatteError {
  const { id: taskId, failure } = task
  if (failure === null) return new MatteError('CLIENT_ABORTED', 'The task was canceled.', { taskId, details: { task } })
  const { reason, message, retryable } = failure
  return new MatteError(reason, message, { retryable, taskId, details: { task } })
}
