// The tasks of the gallery: pages by cursor, kept up to date by the stream of changes or, for API keys, by polling.
import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Task } from 'matte-client'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { type TaskChange, useTaskChanges } from '../../session/task-changes.ts'
import { type Service, useService, useSession } from '../../session/use-session.ts'
import { type GallerySearch, matches, toQuery } from './gallery-search.ts'
import { batchKey, findTask, listKey, mergeHead, pageSize, patchTask, putTask, type TaskPages } from './task-cache.ts'

export type TaskList = {
  readonly tasks: readonly Task[]
  /** Undefined while it is not known, and when only the page itself can filter. */
  readonly total: number | undefined
  readonly isLoading: boolean
  readonly isLoadingMore: boolean
  readonly error: unknown
  readonly retry: () => void
  /** Undefined at the end of the list. */
  readonly loadMore: (() => void) | undefined
  /** New tasks that are not shown yet, since the person looks further down. */
  readonly newCount: number
  readonly showNew: () => void
}

/** At the top new tasks come in at once. */
const isAtTop = (): boolean => window.scrollY < 120

export function useTasks(search: GallerySearch): TaskList {
  const service = useService()
  const queries = useQueryClient()
  const { batch: batchId } = search
  const isOfBatch = batchId !== undefined
  const key = listKey(toListSearch(search))

  const list = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => {
      const position = pageParam === undefined ? {} : { cursor: pageParam }
      return service.tasks.list({ ...toQuery(search), pageSize, ...position }, { signal }).page()
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    enabled: !isOfBatch,
    // Reading again would read every page. The head is merged instead.
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
  })
  const batch = useQuery({
    queryKey: batchKey(batchId ?? ''),
    queryFn: ({ signal }) => service.batches.get(batchId ?? '', { signal }),
    enabled: isOfBatch,
  })

  const [newCount, setNewCount] = useState(0)
  const mergeNewest = useCallback(
    async (mayAdd: boolean): Promise<ReadonlySet<string>> => {
      if (isOfBatch) {
        await queries.invalidateQueries({ queryKey: batchKey(batchId) })
        return new Set(queries.getQueryData<{ tasks: Task[] }>(batchKey(batchId))?.tasks.map(({ id }) => id))
      }
      const head = await service.tasks.list({ ...toQuery(search), pageSize }).page()
      const data = queries.getQueryData<TaskPages>(key)
      if (data !== undefined) {
        const merged = mergeHead(data, head, { mayAdd })
        queries.setQueryData<TaskPages>(key, merged.data)
        setNewCount(merged.addedCount)
      }
      return new Set(head.items.map(({ id }) => id))
    },
    [service, queries, search, key, batchId, isOfBatch],
  )
  const all = useMemo(
    () => (isOfBatch ? (batch.data?.tasks ?? []) : (list.data?.pages.flatMap(({ items }) => items) ?? [])),
    [isOfBatch, batch.data, list.data],
  )
  const tasks = useMemo(() => all.filter((task) => matches(task, search)), [all, search])
  useFreshTasks(service, mergeNewest, all)

  const { data, error, isFetchingNextPage, hasNextPage, fetchNextPage, refetch } = list
  const isFilteredHere = search.model !== undefined
  return {
    tasks,
    total: isOfBatch ? tasks.length : isFilteredHere ? undefined : data?.pages[0]?.total,
    isLoading: isOfBatch ? batch.data === undefined && batch.error === null : data === undefined && error === null,
    isLoadingMore: isFetchingNextPage,
    error: isOfBatch ? batch.error : error,
    retry: () => void (isOfBatch ? batch.refetch() : data === undefined ? refetch() : fetchNextPage()),
    loadMore: !isOfBatch && hasNextPage && !isFetchingNextPage ? () => void fetchNextPage() : undefined,
    newCount,
    showNew: () => {
      window.scrollTo({ top: 0 })
      void mergeNewest(true).catch(() => undefined)
    },
  }
}

/** The model is no filter of the service, so all models share a list. */
const toListSearch = ({ model: _model, ...search }: GallerySearch): GallerySearch => search

const flushAfterMs = 500
/** Limit of single tasks that one refresh reads in addition to the newest page. */
const singlesMax = 20
const pollOpenMs = 3_000
const pollIdleMs = 15_000
const pollBesideStreamMs = 60_000

/** Keeps the list fresh: by changes where there is a stream, and by polling, which also bridges its gaps. */
function useFreshTasks(
  service: Service,
  mergeNewest: (mayAdd: boolean) => Promise<ReadonlySet<string>>,
  tasks: readonly Task[],
): void {
  const queries = useQueryClient()
  const { kind } = useSession()
  const latest = useRef({ mergeNewest, tasks })
  latest.current = { mergeNewest, tasks }
  const changed = useRef(new Set<string>())
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)

  const refresh = useCallback(async (): Promise<void> => {
    const ids = new Set(changed.current)
    changed.current.clear()
    const { mergeNewest, tasks } = latest.current
    try {
      const seen = await mergeNewest(isAtTop())
      const open = kind === 'key' ? tasks.filter(isOpen).map(({ id }) => id) : []
      const rest = [...ids, ...open].filter((id) => !seen.has(id) && findTask(queries, id) !== undefined)
      await Promise.all(rest.slice(0, singlesMax).map(async (id) => putTask(queries, await service.tasks.get(id))))
    } catch {
      // The next refresh comes soon; the page says itself when the browser is offline.
    }
  }, [queries, service, kind])

  const schedule = useCallback(() => {
    timer.current ??= setTimeout(() => {
      void refresh().finally(() => {
        timer.current = undefined
        if (changed.current.size > 0) schedule()
      })
    }, flushAfterMs)
  }, [refresh])

  useTaskChanges((change) => {
    const status = statusAfter(change)
    if (status !== undefined) patchTask(queries, change.taskId, (task) => ({ ...task, status }))
    changed.current.add(change.taskId)
    schedule()
  })

  const hasOpen = tasks.some(isOpen)
  useEffect(() => {
    const everyMs = kind === 'member' ? pollBesideStreamMs : hasOpen ? pollOpenMs : pollIdleMs
    const interval = setInterval(() => {
      if (document.visibilityState === 'visible' && navigator.onLine) schedule()
    }, everyMs)
    return () => clearInterval(interval)
  }, [kind, hasOpen, schedule])
  useEffect(() => {
    // A list from the cache may be minutes old.
    if (latest.current.tasks.length > 0) schedule()
    return () => {
      clearTimeout(timer.current)
      timer.current = undefined
    }
  }, [schedule])
}

export const isOpen = ({ status }: Pick<Task, 'status'>): boolean => status === 'queued' || status === 'processing'

/** Undefined: the task must be read for the rest, such as the link to its result. */
function statusAfter({ event_type: type }: TaskChange): Task['status'] | undefined {
  if (type === 'queued' || type === 'retried') return 'queued'
  return type === 'processing' || type === 'canceled' ? type : undefined
}
