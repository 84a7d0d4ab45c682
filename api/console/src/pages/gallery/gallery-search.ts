// Filters of the gallery in the search parameters of its address.
import type { Task, TaskQuery, TaskStatus } from 'matte-client'

export const statuses = ['queued', 'processing', 'succeeded', 'failed', 'canceled'] as const satisfies TaskStatus[]

export type GallerySearch = {
  readonly status?: TaskStatus | undefined
  /** Days as YYYY-MM-DD, inclusive. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly batch?: string | undefined
  readonly model?: string | undefined
  /** Only results that are worth a check. */
  readonly check?: true | undefined
}

const day = /^\d{4}-\d{2}-\d{2}$/
const word = /^[\w.:-]{1,100}$/

const read = (value: unknown, pattern: RegExp): string | undefined =>
  typeof value === 'string' && pattern.test(value) ? value : undefined

/** Keeps valid filters and ignores the rest, so an address edited by hand still opens. */
export const parseSearch = (given: Readonly<Record<string, unknown>>): GallerySearch =>
  compact({
    status: statuses.find((status) => status === given.status),
    from: isDay(given.from) ? given.from : undefined,
    to: isDay(given.to) ? given.to : undefined,
    batch: read(given.batch, word),
    model: read(given.model, word),
    check: given.check === true ? true : undefined,
  })

const isDay = (value: unknown): value is string =>
  typeof value === 'string' && day.test(value) && !Number.isNaN(Date.parse(value))

const compact = (search: GallerySearch): GallerySearch =>
  Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined))

/** Confidence from which at least 95 % of the results are right (docs/quality.md), less one step. */
const uncheckedMax = 0.89

export const isToCheck = ({ confidence }: Task): boolean => confidence !== undefined && confidence <= uncheckedMax

/** Filters that the service applies. */
export const toQuery = ({ status, from, to, check }: GallerySearch): TaskQuery => ({
  ...(check && { maxConfidence: uncheckedMax }),
  ...(status !== undefined && { status }),
  ...(from !== undefined && { startDate: from }),
  ...(to !== undefined && { endDate: to }),
})

/** Applies every filter again, because a listed task may have changed. Days are in UTC, as in the service. */
export function matches(task: Task, { status, from, to, batch, model, check }: GallerySearch): boolean {
  const createdOn = task.createdAt.slice(0, 10)
  return (
    (status === undefined || task.status === status) &&
    (from === undefined || createdOn >= from) &&
    (to === undefined || createdOn <= to) &&
    (batch === undefined || task.batchId === batch) &&
    (model === undefined || task.modelVersion === model) &&
    (check === undefined || isToCheck(task))
  )
}
