// One of many images: continues from its entry in the manifest, or begins with an upload.
import type { Cutout } from '../cutout.ts'
import { MatteError } from '../error.ts'
import type { Transport } from '../http/transport.ts'
import { hash } from '../input/blob.ts'
import { openInput } from '../input/input.ts'
import { listing } from '../operations/listing.ts'
import { createTask, getTask, taskRoot } from '../operations/task-requests.ts'
import type { NamedInput, RemoveOptions } from '../options.ts'
import { buildRequest, cancelingOnAbort, finishTask } from '../remove-background.ts'
import type { Page, Task, TaskRequest } from '../schema.ts'
import type { Source } from '../source.ts'
import { upload } from '../upload/upload.ts'
import type { Entry, OpenManifest } from './manifest.ts'
import type { InTurn } from './turns.ts'

export type OneDeps = {
  readonly transport: Transport
  readonly manifest: OpenManifest | undefined
  readonly isDoneSkipped: boolean
  readonly inTurn: InTurn
}

export type OneResult = { readonly cutout: Cutout; readonly resumed: boolean; readonly entry: Entry }

/** The service remembers a key for 24 hours. */
const keyLifeMs = 23 * 60 * 60 * 1_000
const waitSeconds = 20

/** Undefined: the manifest records it as done. */
export async function removeOne(
  deps: OneDeps,
  { key, input, fileName }: NamedInput,
  options: RemoveOptions,
): Promise<OneResult | undefined> {
  const { transport, manifest, isDoneSkipped } = deps
  const source = await openInput(transport, input, { ...options, fileName })
  const request = buildRequest(options)
  const print = manifest ? await fingerprint(source, request) : ''
  const known = manifest?.find(key, print)
  if (known?.state === 'done' && isDoneSkipped) return undefined
  const earlier = known && (await findEarlier(deps, known, { ...options, request }))
  if (known && earlier) {
    const cutout = await waitCancelably(deps, earlier, options)
    return { cutout, resumed: true, entry: { ...known, taskId: earlier.id } }
  }
  const { objectKey } = await upload(transport, source, options)
  const entry: Entry = {
    key,
    input: print,
    state: 'creating',
    idempotencyKey: crypto.randomUUID(),
    objectKey,
    at: new Date().toISOString(),
  }
  await manifest?.record(entry)
  return { ...(await createAndFinish(deps, entry, { ...options, request })), resumed: false }
}

type Request = { readonly request: Omit<TaskRequest, 'imageUrl'> }

async function createAndFinish(deps: OneDeps, entry: Entry, options: RemoveOptions & Request) {
  const { transport, manifest, inTurn } = deps
  const { signal, onProgress } = options
  let mayExist = false
  const create = async (isContended: boolean, signal: AbortSignal | undefined) => {
    const wanted = { request: options.request, signal, waitSeconds: isContended ? 0 : waitSeconds }
    mayExist = true
    try {
      return await sendCreation(transport, entry, wanted)
    } catch (error) {
      if (error instanceof MatteError && error.status !== undefined) mayExist = false
      throw error
    }
  }
  onProgress?.({ state: 'queued', loadedBytes: 0, totalBytes: undefined })
  return cancelingOnAbort(transport, {
    signal,
    findId: async (signal) => (mayExist ? (await create(true, signal)).id : undefined),
    run: async (onTask) => {
      const task = await inTurn((isContended) => create(isContended, signal))
      onTask(task.id)
      const created: Entry = { ...entry, state: 'created', taskId: task.id }
      await manifest?.record(created)
      return { cutout: await finishTask(transport, task, options), entry: created }
    },
  })
}

const waitCancelably = ({ transport }: OneDeps, task: Task, options: RemoveOptions): Promise<Cutout> =>
  cancelingOnAbort(transport, {
    signal: options.signal,
    findId: async () => task.id,
    run: () => finishTask(transport, task, options),
  })

const sendCreation = (
  transport: Transport,
  { objectKey, idempotencyKey }: Entry,
  { request, ...options }: Request & { readonly signal: AbortSignal | undefined; readonly waitSeconds: number },
): Promise<Task> => createTask(transport, { imageUrl: objectKey, ...request }, { ...options, idempotencyKey })

/** The task of an earlier run, unless it is gone or has ended without a result. */
async function findEarlier(
  { transport, inTurn }: OneDeps,
  entry: Entry,
  { request, signal }: Request & Pick<RemoveOptions, 'signal'>,
): Promise<Task | undefined> {
  const isRemembered = Date.now() - Date.parse(entry.at) < keyLifeMs
  const find = () => {
    if (entry.taskId !== undefined) return getTask(transport, entry.taskId, { signal })
    if (!isRemembered) return findByObject(transport, entry, signal)
    return inTurn(() => sendCreation(transport, entry, { request, signal, waitSeconds: 0 }))
  }
  const task = await find().catch((error) => {
    // The task or its unused upload was deleted.
    if (error instanceof MatteError && (error.status === 404 || error.code === 'TASK_INPUT_FORBIDDEN')) return undefined
    throw error
  })
  return task?.status === 'failed' || task?.status === 'canceled' ? undefined : task
}

/** Looks for the task of an upload that was created on the day after the entry. */
async function findByObject(transport: Transport, { at, objectKey }: Entry, signal: AbortSignal | undefined) {
  const dayAfter = new Date(Date.parse(at) + 2 * keyLifeMs).toISOString()
  const query = { startDate: at, endDate: dayAfter }
  const read = (page: object) => transport.request<Page<Task>>('GET', taskRoot, { query: { ...page }, signal })
  for await (const task of listing(read, query)) if (task.sourceUrl === objectKey) return task
  return undefined
}

async function fingerprint(source: Source, request: object): Promise<string> {
  return hash(new TextEncoder().encode(`${await source.fingerprint()} ${JSON.stringify(request)}`))
}
