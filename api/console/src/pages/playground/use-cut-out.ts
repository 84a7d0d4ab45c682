import type { Cutout, Progress, Task } from 'matte-client'
import { MatteError } from 'matte-client/app'
import { useCallback, useEffect, useRef, useState } from 'react'
import { type Service, useApp, useService, useSession } from '../../session/use-session.ts'

/** A photo of the person, or a sample. */
export type Photo = {
  readonly name: string
  /** Undefined: the service has fetched it by its URL. */
  readonly blob: Blob | undefined
  /** Address of the photo; undefined while only the service has it. */
  readonly url: string | undefined
  /** Undefined until it is uploaded. */
  readonly objectKey: string | undefined
  /** The same for each attempt, so an attempt after a lost answer creates no second task. */
  readonly idempotencyKey: string
}

export type CutOut = {
  readonly url: string
  readonly blob: Blob
  readonly task: Cutout['task']
  /** Time between the choice of the photo and its result. */
  readonly tookMs: number
}

export type Run =
  | { readonly state: 'idle' }
  | { readonly state: 'running'; readonly photo: Photo; readonly progress: Progress }
  | { readonly state: 'done'; readonly photo: Photo; readonly cutOut: CutOut }
  | { readonly state: 'failed'; readonly photo: Photo; readonly error: unknown }

const started: Progress = { state: 'uploading', loadedBytes: 0, totalBytes: undefined }

/** Removes the background of one photo at a time. A new photo replaces the running one, whose task is then canceled. */
export function useCutOut() {
  const service = useService()
  const app = useApp()
  const isMember = useSession().kind === 'member'
  const [run, setRun] = useState<Run>({ state: 'idle' })
  const current = useRef<AbortController>(undefined)
  useReleasedUrls(run)
  useEffect(() => () => current.current?.abort(), [])

  const attempt = useCallback(
    async (given: Photo): Promise<void> => {
      current.current?.abort()
      const aborting = new AbortController()
      current.current = aborting
      const { signal } = aborting
      let photo = given
      const set = (next: Run): void => {
        if (!signal.aborted) setRun(next)
      }
      const onProgress = (progress: Progress): void => set({ state: 'running', photo, progress })
      const findInput = async (taskId: string): Promise<string | undefined> => {
        if (!isMember) return undefined
        const input = await app.request('GET', '/app/tasks/images/{taskId}/input', { path: { taskId }, signal })
        return input.url
      }
      onProgress(started)
      try {
        const startedAt = performance.now()
        photo = { ...photo, objectKey: await upload(service, photo, { signal, onProgress }) }
        const task = await createTask(service, photo, signal)
        photo = { ...photo, url: photo.url ?? (await findInput(task.id)) }
        const result = await finishTask(service, task, { signal, onProgress })
        set({ state: 'done', photo, cutOut: await toCutOut(result, startedAt) })
      } catch (error) {
        set({ state: 'failed', photo, error })
      }
    },
    [service, app, isMember],
  )

  const start = useCallback(
    (blob: Blob, name: string) => attempt({ ...newPhoto(name), blob, url: URL.createObjectURL(blob) }),
    [attempt],
  )
  /** Cuts out a photo that the service has fetched by its URL. */
  const startUploaded = useCallback(
    (objectKey: string, name: string) => attempt({ ...newPhoto(name), objectKey }),
    [attempt],
  )
  /** Continues after an error: with the task that exists, or with a new one if that has failed. */
  const repeat = useCallback(
    ({ photo, error }: Extract<Run, { readonly state: 'failed' }>) =>
      attempt(hasFailedTask(error) ? { ...photo, idempotencyKey: crypto.randomUUID() } : photo),
    [attempt],
  )
  const cancel = useCallback((): void => {
    current.current?.abort()
    setRun({ state: 'idle' })
  }, [])

  return { run, start, startUploaded, repeat, cancel }
}

const newPhoto = (name: string): Photo => ({
  name,
  blob: undefined,
  url: undefined,
  objectKey: undefined,
  idempotencyKey: crypto.randomUUID(),
})

type Options = { readonly signal: AbortSignal; readonly onProgress: (progress: Progress) => void }

async function upload(service: Service, { blob, name, objectKey }: Photo, options: Options): Promise<string> {
  if (objectKey !== undefined) return objectKey
  if (blob === undefined) throw new Error('a photo has neither bytes nor an upload')
  return (await service.uploads.put(blob, { ...options, fileName: name })).objectKey
}

/** The creation itself is not aborted, so the task is known and can be canceled. */
async function createTask(service: Service, photo: Photo, signal: AbortSignal): Promise<Task> {
  const { objectKey: imageUrl = '', idempotencyKey } = photo
  const task = await service.tasks.create({ imageUrl }, { idempotencyKey })
  if (signal.aborted) await cancelQuietly(service, task)
  signal.throwIfAborted()
  return task
}

async function finishTask(service: Service, task: Task, options: Options): Promise<Cutout> {
  try {
    return await service.tasks.download(await service.tasks.wait(task.id, options), options)
  } catch (error) {
    if (options.signal.aborted) await cancelQuietly(service, task)
    throw error
  }
}

/** A task that a worker has started cannot be canceled; it stays in the gallery. */
const cancelQuietly = (service: Service, { id }: Task): Promise<unknown> =>
  service.tasks.cancel(id).catch(() => undefined)

const hasFailedTask = (error: unknown): boolean => error instanceof MatteError && error.details?.task !== undefined

async function toCutOut(result: Cutout, startedAt: number): Promise<CutOut> {
  const resultBlob = await result.blob()
  return {
    url: URL.createObjectURL(resultBlob),
    blob: resultBlob,
    task: result.task,
    tookMs: performance.now() - startedAt,
  }
}

/** Frees the images of a run once another one has replaced it. */
function useReleasedUrls(run: Run): void {
  // A link of the store is not an object URL; releasing it does nothing.
  const photoUrl = run.state === 'idle' ? undefined : run.photo.url
  const resultUrl = run.state === 'done' ? run.cutOut.url : undefined
  useEffect(() => () => void (photoUrl && URL.revokeObjectURL(photoUrl)), [photoUrl])
  useEffect(() => () => void (resultUrl && URL.revokeObjectURL(resultUrl)), [resultUrl])
}

/** The photo is still there after a failure, unless the service cannot read it. */
export const canRepeat = (error: unknown): boolean => !(error instanceof MatteError) || error.retryable
