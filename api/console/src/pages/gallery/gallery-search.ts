// Filters of the gallery, as they stand in the address of the page.
import type { Task, TaskQuery, TaskStatus } from 'matte-client'

export const statuses = ['queued', 'processing', 'succeeded', 'failed', 'canceled'] as const satisfies TaskStatus[]

export type GallerySearch = {
  readonly status?: TaskStatus | undefined
  /** Days as YYYY-MM-DD, inclusive. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly batch?: string | undefined
  readonly model?: string | undefined
}

const day = /^\d{4}-\d{2}-\d{2}$/
const word = /^[\w.:-]{1,100}$/

const read = (value: unknown, pattern: RegExp): string | undefined =>
  typeof value === 'string' && pattern.test(value) ? value : undefined

/** Takes what is valid, so an address that was edited by hand opens all the same. */
export const parseSearch = (given: Readonly<Record<string, unknown>>): GallerySearch =>
  compact({
    status: statuses.find((status) => status === given.status),
    from: isDay(given.from) ? given.from : undefined,
    to: isDay(given.to) ? given.to : undefined,
    batch: read(given.batch, word),
    model: read(given.model, word),
  })

const isDay = (value: unknown): value is string =>
  typeof value === 'string' && day.test(value) && !Number.isNaN(Date.parse(value))

const compact = (search: GallerySearch): GallerySearch =>
  Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined))

/** What the service filters by itself. */
export const toQuery = ({ status, from, to }: GallerySearch): TaskQuery => ({
  ...(status !== undefined && { status }),
  ...(from !== undefined && { startDate: from }),
  ...(to !== undefined && { endDate: to }),
})

/** The rest, and all of it for a task that has changed since it was listed. Days are those of UTC, as in the service. */
export function matches(task: Task, { status, from, to, batch, model }: GallerySearch): boolean {
  const createdOn = task.createdAt.slice(0, 10)
  return (
    (status === undefined || task.status === status) &&
    (from === undefined || createdOn >= from) &&
    (to === undefined || createdOn <= to) &&
    (batch === undefined || task.batchId === batch) &&
    (model === undefined || task.modelVersion === model)
  )
}
