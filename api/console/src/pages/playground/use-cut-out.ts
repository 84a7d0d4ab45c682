import type { Cutout, Progress } from 'matte-client'
import { MatteError } from 'matte-client/app'
import { useCallback, useEffect, useRef, useState } from 'react'
import { type Service, useApp, useService, useSession } from '../../session/use-session.ts'

/** A photo of the person, or a sample. `url` is undefined while only the service has it. */
export type Photo = { readonly blob: Blob | undefined; readonly name: string; readonly url: string | undefined }

export type CutOut = {
  readonly url: string
  readonly blob: Blob
  readonly task: Cutout['task']
  /** From the choice of the photo to the result on the page. */
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

  const start = useCallback(
    async (blob: Blob, name: string): Promise<void> => {
      current.current?.abort()
      const aborting = new AbortController()
      current.current = aborting
      const photo = { blob, name, url: URL.createObjectURL(blob) }
      const set = (next: Run): void => {
        if (!aborting.signal.aborted) setRun(next)
      }
      set({ state: 'running', photo, progress: started })
      try {
        const onProgress = (progress: Progress): void => set({ state: 'running', photo, progress })
        set({
          state: 'done',
          photo,
          cutOut: await cutOut(service, blob, name, { signal: aborting.signal, onProgress }),
        })
      } catch (error) {
        set({ state: 'failed', photo, error })
      }
    },
    [service],
  )

  /** Cuts out a photo that the service has fetched by its URL. */
  const startUploaded = useCallback(
    async (objectKey: string, name: string): Promise<void> => {
      current.current?.abort()
      const aborting = new AbortController()
      current.current = aborting
      const { signal } = aborting
      let photo: Photo = { blob: undefined, name, url: undefined }
      const set = (next: Run): void => {
        if (!signal.aborted) setRun(next)
      }
      const onProgress = (progress: Progress): void => set({ state: 'running', photo, progress })
      onProgress({ ...started, state: 'queued' })
      try {
        const startedAt = performance.now()
        const { id } = await service.tasks.create({ imageUrl: objectKey }, { signal })
        if (isMember) {
          const { url } = await app.request('GET', '/app/tasks/images/{taskId}/input', { path: { taskId: id }, signal })
          photo = { ...photo, url }
        }
        const task = await service.tasks.wait(id, { signal, onProgress })
        const result = await service.tasks.download(task, { signal, onProgress })
        set({ state: 'done', photo, cutOut: await toCutOut(result, startedAt) })
      } catch (error) {
        set({ state: 'failed', photo, error })
      }
    },
    [service, app, isMember],
  )

  const cancel = useCallback((): void => {
    current.current?.abort()
    setRun({ state: 'idle' })
  }, [])

  return { run, start, startUploaded, cancel }
}

type Options = { readonly signal: AbortSignal; readonly onProgress: (progress: Progress) => void }

async function cutOut(service: Service, blob: Blob, name: string, options: Options): Promise<CutOut> {
  const startedAt = performance.now()
  return toCutOut(await service.removeBackground(blob, { ...options, fileName: name }), startedAt)
}

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
