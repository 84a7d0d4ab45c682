import { MatteError } from '../error.ts'
import type { Transport } from '../http/transport.ts'
import type { CallOptions } from '../options.ts'
import type { Task, TaskRequest } from '../schema.ts'

export const taskRoot = '/open/developer/tasks'

/** Part of an attempt's time that is left for the answer itself. */
const answerMs = 5_000

export function createTask(
  { config, request }: Transport,
  body: TaskRequest,
  { waitSeconds = 0, ...options }: CallOptions & { waitSeconds?: number } = {},
): Promise<Task> {
  const seconds = Math.floor(Math.min(waitSeconds, (config.timeoutMs - answerMs) / 1_000))
  const headers: Record<string, string> = seconds > 0 ? { prefer: `wait=${seconds}` } : {}
  return request('POST', taskRoot, { ...options, body, headers })
}

export const getTask = ({ request }: Transport, id: string, options?: CallOptions): Promise<Task> =>
  request('GET', `${taskRoot}/{id}`, { ...options, path: { id } })

/** A task that is canceled already is returned: the first answer may have been lost. */
export async function cancelTask(transport: Transport, id: string, options?: CallOptions): Promise<Task> {
  try {
    return await transport.request('DELETE', `${taskRoot}/{id}`, { ...options, path: { id } })
  } catch (error) {
    if (!(error instanceof MatteError) || error.code !== 'TASK_CANNOT_CANCEL') throw error
    const task = await getTask(transport, id, options)
    if (task.status === 'canceled') return task
    error.taskId = id
    throw error
  }
}
