import type { Cutout } from '../cutout.ts'
import { downloadResult } from '../download.ts'
import type { Transport } from '../http/transport.ts'
import type { CallOptions, ImageInput, WaitOptions } from '../options.ts'
import type { CutOutRequest, Page, Task, TaskQuery, TaskRequest } from '../schema.ts'
import { waitForTask } from '../wait.ts'
import { listing } from './listing.ts'
import { cancelTask, createTask, cutOut, getTask, taskRoot } from './task-requests.ts'

export const createTaskOperations = (transport: Transport) => ({
  /** Creates a task for an uploaded image. `waitSeconds`: the answer waits so long for the task to end. */
  create: (body: TaskRequest, options?: CallOptions & { waitSeconds?: number }): Promise<Task> =>
    createTask(transport, body, options),

  /**
   * Uploads an image and creates its task in one request, for images of a few MB. The answer waits `waitSeconds` for
   * the task to end, by default as long as the service allows.
   */
  cutOut: (input: ImageInput, body?: CutOutRequest, options?: CallOptions & { waitSeconds?: number }): Promise<Task> =>
    cutOut(transport, input, body, options),

  get: (id: string, options?: CallOptions): Promise<Task> => getTask(transport, id, options),

  list: (query: TaskQuery = {}, options?: CallOptions) =>
    listing((page) => transport.request<Page<Task>>('GET', taskRoot, { ...options, query: page }), query),

  /** Cancels a task that is still queued. */
  cancel: (id: string, options?: CallOptions): Promise<Task> => cancelTask(transport, id, options),

  /**
   * Erases photo, result and previews of an ended task within a minute; links to them end. The task stays in the
   * history without the file name.
   */
  eraseImages: (id: string, options?: CallOptions): Promise<Task> =>
    transport.request('DELETE', `${taskRoot}/{id}/images`, { ...options, path: { id } }),

  /** Queues a failed task again. It is charged like a new one. */
  retry: (id: string, options?: CallOptions): Promise<Task> =>
    transport.request('POST', `${taskRoot}/{id}/retry`, { ...options, path: { id } }),

  /** Resolves with the succeeded task; rejects with the failure's reason as code. */
  wait: (id: string, options?: WaitOptions): Promise<Task> => waitForTask(transport, id, options),

  /** Downloads the result of a succeeded task. */
  download: async (idOrTask: string | Task, options?: Omit<WaitOptions, 'waitMs'>): Promise<Cutout> => {
    const task = typeof idOrTask === 'string' ? await getTask(transport, idOrTask, options) : idOrTask
    return downloadResult(transport, task, options)
  },
})
