// Lists of tasks (D36): the query as a filter and a position, and the page with its cursor. A cursor is opaque to
// callers; inside are the position of the last item and the number of the page that follows.
import type { ListPosition, ListTotal } from '@matte/core/db/page'
import { type Issue, invalidParams } from '@matte/core/invalid-params'
import type { TaskStatus } from '@matte/core/task/task'
import { pageSizeDefault } from '../schemas/page.ts'
import { isUuid } from '../uuid.ts'

type TaskQuery = {
  readonly page?: number | undefined
  readonly pageSize?: number | undefined
  readonly cursor?: string | undefined
  readonly status?: TaskStatus | undefined
  readonly startDate?: string | undefined
  readonly endDate?: string | undefined
}

type TaskPageRequest = {
  readonly page: number
  readonly pageSize: number
  readonly offset: number
  readonly after?: ListPosition
  readonly from?: Date
  readonly before?: Date
}

/** Ids of ledger entries, which are numbers. */
export const isEntryId = (text: string): boolean => /^\d{1,18}$/.test(text)

/**
 * `isId`: what ids in the list look like, lest a cursor that somebody made up reaches the database.
 * @throws MatteError INVALID_PARAMS naming every invalid parameter
 */
export function readTaskQuery(query: TaskQuery, isId = isUuid): TaskPageRequest {
  const issues: Issue[] = []
  const { cursor, pageSize = pageSizeDefault } = query
  const start = query.startDate === undefined ? undefined : parseDay(query.startDate)
  const end = query.endDate === undefined ? undefined : parseDay(query.endDate)
  const position = cursor === undefined ? undefined : decodeCursor(cursor, isId)
  if (start === null) issues.push({ path: '/query/startDate', message: dateMessage })
  if (end === null) issues.push({ path: '/query/endDate', message: dateMessage })
  if (start && end && start.from >= end.before)
    issues.push({ path: '/query/endDate', message: 'must not lie before startDate' })
  if (position === null) issues.push({ path: '/query/cursor', message: 'must be the nextCursor of a page' })
  if (cursor !== undefined && query.page !== undefined) {
    issues.push({ path: '/query/cursor', message: 'must not come together with page' })
  }
  if (issues.length > 0) throw invalidParams(issues)
  const page = position?.page ?? query.page ?? 1
  return {
    page,
    pageSize,
    // Past 2^53 a number is no longer exact; any list ends long before.
    offset: Math.min((page - 1) * pageSize, Number.MAX_SAFE_INTEGER),
    ...(position && { after: position }),
    ...(start && { from: start.from }),
    ...(end && { before: end.before }),
  }
}

export type Page<T> = {
  readonly items: T[]
  readonly page: number
  readonly pageSize: number
  readonly total: number
  /** There are more than `total`; absent when it is exact. */
  readonly totalIsMinimum?: true
  readonly totalPages: number
  readonly nextCursor: string | null
}

/** `next` is the position of the last item, when more follow. */
export function buildPage<T>(
  items: T[],
  { page, pageSize }: TaskPageRequest,
  { total: { total, isMinimum }, next }: { readonly total: ListTotal; readonly next?: ListPosition | undefined },
): Page<T> {
  const nextCursor = next === undefined ? null : encodeCursor(next, page + 1)
  return {
    items,
    page,
    pageSize,
    total,
    ...(isMinimum && { totalIsMinimum: true }),
    totalPages: Math.ceil(total / pageSize),
    nextCursor,
  }
}

const dateMessage = 'must be a date, YYYY-MM-DD, or an ISO 8601 timestamp'
const dateForm = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/i
const dayMs = 24 * 60 * 60 * 1_000

/**
 * The time span that a date means: a whole day (UTC), or one millisecond, which is as exact as times are answered.
 * Null: no such date. A timestamp without an offset is UTC; a `+` that a query turned into a space is read as one.
 */
export function parseDay(text: string): { from: Date; before: Date } | null {
  const [, day, time, offset = 'Z'] = dateForm.exec(text.trim().replace(/ (?=\d{2}:?\d{2}$)/, '+')) ?? []
  // The engine takes the 30th of February for the 2nd of March.
  if (day === undefined || new Date(`${day}T00:00:00Z`).toJSON()?.slice(0, 10) !== day) return null
  const zone = offset.toUpperCase().replace(/^([+-]\d{2})(\d{2})$/, '$1:$2')
  const from = new Date(time === undefined ? `${day}T00:00:00Z` : `${day}T${time.replace(',', '.')}${zone}`)
  if (Number.isNaN(from.getTime())) return null
  return { from, before: new Date(from.getTime() + (time === undefined ? dayMs : 1)) }
}

const encodeCursor = ({ createdAtMicros, id }: ListPosition, page: number): string =>
  Buffer.from([createdAtMicros, id, page].join('.')).toString('base64url')

function decodeCursor(cursor: string, isId: (text: string) => boolean): (ListPosition & { page: number }) | null {
  const [createdAtMicros = '', id = '', page = '', ...rest] = Buffer.from(cursor, 'base64url')
    .toString('latin1')
    .split('.')
  const sound = /^\d{1,17}$/.test(createdAtMicros) && isId(id) && /^\d{1,15}$/.test(page) && rest.length === 0
  return sound ? { createdAtMicros, id, page: Number(page) } : null
}
