// Changes of the workspace's tasks as they happen, for members. Pages share one stream per tab: a browser has six
// connections per host over HTTP/1.1. It is open while a visible page listens, and resumes after its last change.
import type { MatteApp, TaskChange } from 'matte-client/app'
import { createContext, useContext, useEffect, useRef } from 'react'
import { useSession } from './use-session.ts'

export type { TaskChange }

export type TaskChanges = {
  readonly subscribe: (listener: (change: TaskChange) => void) => () => void
  /** Forgets the position, which belongs to one workspace. */
  readonly reset: () => void
}

export function createTaskChanges(app: MatteApp): TaskChanges {
  const listeners = new Set<(change: TaskChange) => void>()
  let open: AbortController | undefined
  let lastEventId: string | undefined

  const read = async (signal: AbortSignal): Promise<void> => {
    for await (const change of app.taskChanges({ signal, lastEventId })) {
      lastEventId = change.id
      for (const listener of listeners) listener(change)
    }
  }
  const adjust = (): void => {
    const isWanted = listeners.size > 0 && document.visibilityState === 'visible'
    if (isWanted && open === undefined) {
      const opened = new AbortController()
      open = opened
      // Pages poll as well, so a stream that is refused for good only makes them slower.
      read(opened.signal).catch(() => undefined)
    } else if (!isWanted && open !== undefined) {
      open.abort()
      open = undefined
    }
  }
  document.addEventListener('visibilitychange', adjust)

  return {
    subscribe: (listener) => {
      listeners.add(listener)
      adjust()
      return () => {
        listeners.delete(listener)
        adjust()
      }
    },
    reset: () => {
      lastEventId = undefined
      open?.abort()
      open = undefined
      adjust()
    },
  }
}

export const TaskChangesContext = createContext<TaskChanges | undefined>(undefined)

/** Calls the listener for each change of any task. Sessions by key have no stream: they must poll. */
export function useTaskChanges(listener: (change: TaskChange) => void): void {
  const changes = useContext(TaskChangesContext)
  const { kind } = useSession()
  const latest = useRef(listener)
  useEffect(() => {
    latest.current = listener
  })
  useEffect(() => {
    if (kind !== 'member') return
    return changes?.subscribe((change) => latest.current(change))
  }, [kind, changes])
}
