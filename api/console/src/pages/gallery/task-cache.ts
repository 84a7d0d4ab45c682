// Tasks in the cache of queries: lists by cursor, single tasks, and the tasks of a batch.
import type { InfiniteData, QueryClient } from '@tanstack/react-query'
import type { Batch, Page, Task } from 'matte-client'
import type { GallerySearch } from './gallery-search.ts'

export type TaskPages = InfiniteData<Page<Task>, string | undefined>

export const listKey = (search: GallerySearch) => ['tasks', 'list', search] as const
export const taskKey = (id: string) => ['tasks', 'one', id] as const
export const eventsKey = (id: string) => ['tasks', 'events', id] as const
export const batchKey = (id: string) => ['batches', 'one', id] as const

/** Largest page of the service. */
export const pageSize = 100

type Change = (task: Task) => Task

/** Applies a change to a task wherever it is shown. */
export function patchTask(queries: QueryClient, id: string, change: Change): void {
  queries.setQueryData<Task>(taskKey(id), (task) => task && change(task))
  queries.setQueriesData<TaskPages>({ queryKey: ['tasks', 'list'] }, (data) => data && patchPages(data, id, change))
  queries.setQueriesData<Batch>({ queryKey: ['batches', 'one'] }, (batch) => batch && patchBatch(batch, id, change))
}

export const putTask = (queries: QueryClient, task: Task): void => patchTask(queries, task.id, () => task)

/** The task as some list or page last showed it. */
export function findTask(queries: QueryClient, id: string): Task | undefined {
  const one = queries.getQueryData<Task>(taskKey(id))
  if (one !== undefined) return one
  const lists = queries.getQueriesData<TaskPages>({ queryKey: ['tasks', 'list'] })
  const batches = queries.getQueriesData<Batch>({ queryKey: ['batches', 'one'] })
  const tasks = [
    ...lists.flatMap(([, data]) => data?.pages.flatMap(({ items }) => items) ?? []),
    ...batches.flatMap(([, batch]) => batch?.tasks ?? []),
  ]
  return tasks.find((task) => task.id === id)
}

const patchItems = (items: readonly Task[], id: string, change: Change): Task[] | undefined => {
  const at = items.findIndex((task) => task.id === id)
  const task = items[at]
  return task && items.with(at, change(task))
}

/** Pages without the task stay the same objects, so they are not drawn again. */
export function patchPages(data: TaskPages, id: string, change: Change): TaskPages {
  let isFound = false
  const pages = data.pages.map((page) => {
    const items = isFound ? undefined : patchItems(page.items, id, change)
    isFound ||= items !== undefined
    return items === undefined ? page : { ...page, items }
  })
  return isFound ? { ...data, pages } : data
}

function patchBatch(batch: Batch, id: string, change: Change): Batch {
  const tasks = patchItems(batch.tasks, id, change)
  return tasks === undefined ? batch : { ...batch, ...countTasks(tasks), tasks }
}

export const countTasks = (tasks: readonly Task[]) => {
  const count = (status: Task['status']): number => tasks.filter((task) => task.status === status).length
  return { succeededCount: count('succeeded'), failedCount: count('failed'), canceledCount: count('canceled') }
}

export type Merged = { readonly data: TaskPages; readonly addedCount: number }

/**
 * Brings a list up to date with its newest page, without reading the older ones again. `mayAdd`: new tasks come in at
 * the top; otherwise they are only counted, so what a person looks at does not move.
 */
export function mergeHead(data: TaskPages, head: Page<Task>, { mayAdd }: { readonly mayAdd: boolean }): Merged {
  const known = new Set(data.pages.flatMap(({ items }) => items.map(({ id }) => id)))
  const fresh = head.items.filter(({ id }) => !known.has(id))
  if (mayAdd && fresh.length === head.items.length && head.nextCursor !== null) {
    // More new tasks than one page holds: the list restarts at this page.
    return { data: { pages: [head], pageParams: [undefined] }, addedCount: 0 }
  }
  const updates = new Map(head.items.map((task) => [task.id, task]))
  const pages = data.pages.map((page, at) => {
    const items = page.items.map((task) => updates.get(task.id) ?? task)
    const isHead = at === 0 && mayAdd && fresh.length > 0
    const all = isHead ? [...fresh, ...items].sort((a, b) => b.createdAt.localeCompare(a.createdAt)) : items
    return { ...page, items: all, ...(head.total !== undefined && { total: head.total }) }
  })
  return { data: { ...data, pages }, addedCount: mayAdd ? 0 : fresh.length }
}

export type Neighbours = { readonly newer: string | undefined; readonly older: string | undefined }

/** Tasks beside this one in the list that was shown last. */
export function findNeighbours(queries: QueryClient, id: string): Neighbours {
  const cached = queries.getQueryCache().findAll({ queryKey: ['tasks', 'list'] })
  const lists = cached.toSorted((a, b) => b.state.dataUpdatedAt - a.state.dataUpdatedAt)
  for (const { state } of lists) {
    const ids = (state.data as TaskPages | undefined)?.pages.flatMap(({ items }) => items.map((task) => task.id)) ?? []
    const at = ids.indexOf(id)
    if (at !== -1) return { newer: ids[at - 1], older: ids[at + 1] }
  }
  return { newer: undefined, older: undefined }
}
