// Download of a result: from the store, without the API key.
import { Cutout } from './cutout.ts'
import { MatteError } from './error.ts'
import { storeError } from './http/answer-errors.ts'
import { withDeadline } from './http/deadline.ts'
import type { Transport } from './http/transport.ts'
import { getTask } from './operations/task-requests.ts'
import type { UploadOptions } from './options.ts'
import type { Task } from './schema.ts'
import { chunksOf } from './source.ts'

type DownloadOptions = Pick<UploadOptions, 'signal' | 'onProgress'>

/** @throws MatteError CLIENT_INPUT unless the task has succeeded */
export async function downloadResult(transport: Transport, task: Task, options: DownloadOptions = {}): Promise<Cutout> {
  try {
    return await download(transport, task, options)
  } catch (error) {
    // The link has expired.
    if (!(error instanceof MatteError) || error.status !== 403) throw withTask(error, task)
    const fresh = await getTask(transport, task.id, { signal: options.signal })
    return await download(transport, fresh, options)
  }
}

function download({ config, retrying }: Transport, task: Task, { signal, onProgress }: DownloadOptions) {
  const { id: taskId, resultUrl: url } = task
  if (url === null) {
    throw new MatteError('CLIENT_INPUT', whyNoResult(task), { taskId })
  }
  const attempt = () =>
    withDeadline(config.timeoutMs, signal, async (deadline) => {
      const response = await config.fetch(url, { signal: deadline.signal })
      if (!response.ok) throw storeError('download', response.status)
      const totalBytes = readLength(response.headers)
      const chunks: Uint8Array<ArrayBuffer>[] = []
      let loadedBytes = 0
      const report = () => onProgress?.({ state: 'downloading', loadedBytes, totalBytes, taskId })
      report()
      for await (const chunk of response.body ? chunksOf(response.body) : []) {
        deadline.touch()
        chunks.push(chunk)
        loadedBytes += chunk.byteLength
        report()
      }
      if (loadedBytes !== (totalBytes ?? loadedBytes)) throw new Error('the result was cut short')
      onProgress?.({ state: 'done', loadedBytes, totalBytes, taskId })
      const contentType = response.headers.get('content-type') ?? `image/${task.resultFormat ?? 'png'}`
      return new Cutout({ task, url, contentType, bytes: join(chunks, loadedBytes) })
    })
  return retrying(attempt, { url, signal })
}

function whyNoResult({ status, erasedAt }: Task): string {
  if (erasedAt) return 'The images of the task were erased.'
  if (status === 'succeeded')
    return 'The task was not charged, because its image has no clear subject: it has no result.'
  return `The task is ${status}. Only a succeeded task has a result.`
}

/** Length of the body. Content-Length of a compressed answer counts other bytes. */
function readLength(headers: Headers): number | undefined {
  const length = headers.get('content-length')
  return length === null || headers.has('content-encoding') ? undefined : Number(length)
}

function join(chunks: readonly Uint8Array[], sizeBytes: number): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(sizeBytes)
  let at = 0
  for (const chunk of chunks) {
    joined.set(chunk, at)
    at += chunk.byteLength
  }
  return joined
}

/** Names the task, whose result can still be fetched. */
export function withTask(error: unknown, { id }: Pick<Task, 'id'>): unknown {
  if (error instanceof MatteError) error.taskId ??= id
  return error
}
