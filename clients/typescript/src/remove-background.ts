// One image: upload, creation, wait, download.
import type { Cutout } from './cutout.ts'
import { downloadResult, withTask } from './download.ts'
import { MatteError } from './error.ts'
import { aborted } from './http/answer-errors.ts'
import type { Transport } from './http/transport.ts'
import { openInput } from './input/input.ts'
import { cancelTask, createTask } from './operations/task-requests.ts'
import type { ImageInput, RemoveOptions } from './options.ts'
import type { Output, Task, TaskRequest } from './schema.ts'
import { upload } from './upload/upload.ts'
import { waitDefaultMs, waitForTask } from './wait.ts'

/** Part of the wait that the creation's answer waits itself. */
const waitSeconds = 20
/** An abort waits so long for its cancellation. */
const cancelMs = 10_000

export async function removeBackground(
  transport: Transport,
  input: ImageInput,
  options: RemoveOptions,
): Promise<Cutout> {
  const source = await openInput(transport, input, options)
  const { objectKey } = await upload(transport, source, options)
  const { idempotencyKey = crypto.randomUUID(), signal, waitMs = waitDefaultMs, onProgress } = options
  const body = { imageUrl: objectKey, ...buildRequest(options) }
  const create = (seconds: number, signal: AbortSignal | undefined) =>
    createTask(transport, body, { idempotencyKey, signal, waitSeconds: seconds })
  onProgress?.({ state: 'queued', loadedBytes: 0, totalBytes: undefined })
  return cancelingOnAbort(transport, {
    signal,
    findId: async (signal) => (await create(0, signal)).id,
    run: async (onTask) => {
      const sentAtMs = Date.now()
      const task = await create(Math.min(waitSeconds, waitMs / 1_000), signal)
      onTask(task.id)
      return finishTask(transport, task, { ...options, waitMs: waitMs - (Date.now() - sentAtMs) })
    },
  })
}

/** Waits for the task and downloads its result. */
export async function finishTask(transport: Transport, task: Task, options: RemoveOptions): Promise<Cutout> {
  try {
    return await downloadResult(transport, await waitForTask(transport, task, options), options)
  } catch (error) {
    throw withTask(error, task)
  }
}

/** Body of a creation without its image, with its fields always in the same order. */
export function buildRequest(options: RemoveOptions): Omit<TaskRequest, 'imageUrl'> {
  const { model, callbackUrl, format, crop, cropMargin, maxSide, channels } = options
  const { roi, scale, position, maxPixels, shadow } = options
  const background = options.background && expandColour(options.background)
  const fields = { format, background, crop, cropMargin, maxSide, channels, roi, scale, position, maxPixels, shadow }
  const output = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Output
  return {
    ...(model !== undefined && { modelVersion: model }),
    ...(callbackUrl !== undefined && { callbackUrl }),
    ...(Object.keys(output).length > 0 && { output }),
  }
}

/** `#rgb` and `#rgba` with each digit twice, as the service takes colours. */
export const expandColour = (colour: string): string =>
  /^#([0-9a-f]{3,4})$/i.test(colour) ? colour.replace(/[0-9a-f]/gi, '$&$&') : colour

type Cancelable<T> = {
  readonly signal: AbortSignal | undefined
  /** Finds the id of a task whose creation may have arrived: the same key gives the same task. */
  readonly findId: (signal: AbortSignal) => Promise<string | undefined>
  readonly run: (onTask: (id: string) => void) => Promise<T>
}

/** Cancels the task if the signal aborts while it is queued. The error carries its id. */
export async function cancelingOnAbort<T>(transport: Transport, { signal, findId, run }: Cancelable<T>): Promise<T> {
  if (signal?.aborted) throw aborted(signal.reason)
  let taskId: string | undefined
  try {
    return await run((id) => {
      taskId = id
    })
  } catch (error) {
    if (!signal?.aborted) throw error
    const limit = AbortSignal.timeout(cancelMs)
    const id = taskId ?? (await findId(limit).catch(() => undefined))
    if (id === undefined) throw aborted(error)
    const canceled = await cancelTask(transport, id, { signal: limit }).then(
      () => true,
      () => false,
    )
    const outcome = canceled
      ? 'Its task was canceled and is not charged.'
      : 'Its task goes on and can be fetched by its id.'
    throw new MatteError('CLIENT_ABORTED', `The call was aborted. ${outcome}`, {
      taskId: id,
      details: { canceled },
      cause: signal.reason,
    })
  }
}
