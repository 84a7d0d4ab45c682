import { useQueryClient } from '@tanstack/react-query'
import type { Task } from 'matte-client'
import { useEffect, useRef, useState } from 'react'
import { useApp, useService, useSession } from '../../session/use-session.ts'
import { useText } from '../../text/text.ts'
import { galleryText } from './gallery-text.ts'
import { putTask } from './task-cache.ts'
import { sourceName } from './task-names.ts'
import styles from './task-picture.module.css'

type PictureProps = { readonly task: Task; readonly isLarge?: boolean }

/** The result on a checkerboard: whole, or as the preview that the service makes for members. */
export function TaskPicture({ task, isLarge = false }: PictureProps) {
  const { resultUrl } = task
  const isMember = useSession().kind === 'member'
  const [hasPreview, setHasPreview] = useState(isMember && !isLarge)
  return (
    <div className={`${styles.picture} ${isLarge ? styles.large : ''} ${resultUrl === null ? '' : styles.checker}`}>
      {resultUrl === null ? (
        <Placeholder task={task} />
      ) : hasPreview ? (
        <Preview task={task} onFailure={() => setHasPreview(false)} />
      ) : (
        <Result task={task} url={resultUrl} isLarge={isLarge} />
      )}
    </div>
  )
}

type PreviewProps = { readonly task: Task; readonly onFailure: () => void }

function Preview({ task, onFailure }: PreviewProps) {
  const { id: taskId } = task
  const app = useApp()
  const text = useText(galleryText)
  const image = useRef<HTMLImageElement>(null)
  const isNear = useIsNear(image, false)
  const [url, setUrl] = useState<string>()
  const latest = useRef(onFailure)
  latest.current = onFailure
  useEffect(() => {
    if (!isNear) return
    const left = new AbortController()
    let made: string | undefined
    const read = async (): Promise<void> => {
      const path = '/app/tasks/images/{taskId}/preview'
      const preview = await app.blob(path, { path: { taskId }, signal: left.signal })
      if (left.signal.aborted) return
      made = URL.createObjectURL(preview)
      setUrl(made)
    }
    void read().catch(() => !left.signal.aborted && latest.current())
    return () => {
      left.abort()
      if (made !== undefined) URL.revokeObjectURL(made)
    }
  }, [app, taskId, isNear])
  return <img ref={image} src={url} alt={text.resultOf(sourceName(task))} {...sidesOf(task)} draggable={false} />
}

const sidesOf = ({ width, height }: Task) => (width === null || height === null ? {} : { width, height })

type ResultProps = { readonly task: Task; readonly url: string; readonly isLarge: boolean }

/** The link expires, so the first failure reads the task again for a new one. */
function Result({ task, url, isLarge }: ResultProps) {
  const service = useService()
  const queries = useQueryClient()
  const text = useText(galleryText)
  // A read task has a new link each time, so a link that works stays.
  const [shownUrl, setShownUrl] = useState(url)
  const [failures, setFailures] = useState(0)
  const renew = async (): Promise<void> => {
    setFailures(failures + 1)
    if (failures > 0) return
    const fresh = await service.tasks.get(task.id)
    putTask(queries, fresh)
    if (fresh.resultUrl !== null) setShownUrl(fresh.resultUrl)
  }
  const image = useRef<HTMLImageElement>(null)
  const isNear = useIsNear(image, isLarge)
  if (failures > 1) return <p className={styles.note}>{text.broken}</p>
  return (
    <img
      ref={image}
      src={isNear ? shownUrl : undefined}
      alt={text.resultOf(sourceName(task))}
      decoding="async"
      draggable={false}
      {...sidesOf(task)}
      onError={() => void renew().catch(() => setFailures(2))}
    />
  )
}

/** A browser's own lazy loading would fetch the pictures of the next three screens. */
function useIsNear(image: { readonly current: Element | null }, isAlways: boolean): boolean {
  const [isNear, setIsNear] = useState(isAlways)
  useEffect(() => {
    const element = image.current
    if (isNear || element === null) return
    const look = (entries: readonly IntersectionObserverEntry[]): void => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setIsNear(true)
    }
    const observer = new IntersectionObserver(look, { rootMargin: '0px 0px 25%' })
    observer.observe(element)
    return () => observer.disconnect()
  }, [image, isNear])
  return isNear
}

const signs: Readonly<Record<Task['status'], string>> = {
  queued: 'M12 7v5l3 2 M12 4a8 8 0 1 0 .01 0',
  processing: 'M12 7v5l3 2 M12 4a8 8 0 1 0 .01 0',
  succeeded: 'M5 13l4 4L19 7',
  failed: 'M12 7v6 M12 16v.5 M12 3.5a8.5 8.5 0 1 0 .01 0',
  canceled: 'M6 6l12 12 M12 3.5a8.5 8.5 0 1 0 .01 0',
}

/** A picture, struck through. */
const erasedSign = 'M4 5h16v14H4z M4 15l4-4 8 8 M3 21L21 3'

const Placeholder = ({ task: { status, erasedAt } }: { readonly task: Task }) => (
  <span className={`${styles.placeholder} ${erasedAt === null ? styles[status] : ''}`}>
    <svg viewBox="0 0 24 24" width="36" height="36" aria-hidden="true" fill="none" stroke="currentColor">
      <path
        d={erasedAt === null ? signs[status] : erasedSign}
        strokeWidth="1.6"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  </span>
)
