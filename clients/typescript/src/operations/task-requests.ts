import { MatteError } from '../error.ts'
import type { Transport } from '../http/transport.ts'
import { openInput } from '../input/input.ts'
import type { CallOptions, ImageInput } from '../options.ts'
import type { CutOutRequest, Task, TaskRequest } from '../schema.ts'

export const taskRoot = '/open/developer/tasks'

/** Part of an attempt's time that is left for the answer itself. */
const answerMs = 5_000

export function createTask(
  { config, request }: Transport,
  body: TaskRequest,
  { waitSeconds = 0, ...options }: CallOptions & { waitSeconds?: number } = {},
): Promise<Task> {
  const seconds = waitOf(config.timeoutMs, waitSeconds)
  const headers: Record<string, string> = seconds > 0 ? { prefer: `wait=${seconds}` } : {}
  return request('POST', taskRoot, { ...options, body, headers })
}

/** Leaves time for the answer itself. */
const waitOf = (timeoutMs: number, seconds: number): number =>
  Math.max(0, Math.floor(Math.min(seconds, (timeoutMs - answerMs) / 1_000)))

export async function cutOut(
  transport: Transport,
  input: ImageInput,
  { output, ...fields }: CutOutRequest = {},
  { waitSeconds = Number.POSITIVE_INFINITY, ...options }: CallOptions & { waitSeconds?: number } = {},
): Promise<Task> {
  const source = await openInput(transport, input, options)
  const content = new Blob([await source.blob()], { type: source.contentType })
  const headers = { prefer: `wait=${waitOf(transport.config.timeoutMs, waitSeconds)}` }
  const query = Object.fromEntries(
    Object.entries({ ...fields, ...output }).flatMap(([name, value]) =>
      value === null || value === undefined
        ? []
        : [[name, typeof value === 'object' ? JSON.stringify(value) : value] as const],
    ),
  )
  return transport.request('POST', '/open/developer/cut-outs', { ...options, query, headers, content })
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
