// Pages of lists. A cursor is opaque to callers: it holds the position of the last item, the number of the next page,
// and whether the list has more records than are counted, so the pages of a long list count nothing.
import {
  type ListPosition,
  type PageRequest as ListRange,
  type ListTotal,
  longTotal,
  pageSizeDefault,
} from '@matte/core/db/page'
import { type Issue, invalidParams } from '@matte/core/invalid-params'
import { firstPage } from './schemas/page.ts'
import { isUuid } from './uuid.ts'

type ListQuery = {
  readonly page: number
  readonly pageSize: number
  readonly cursor?: string | undefined
  readonly startDate?: string | undefined
  readonly endDate?: string | undefined
  readonly minConfidence?: number | undefined
  readonly maxConfidence?: number | undefined
}

type PageRequest = {
  readonly page: number
  readonly pageSize: number
  readonly offset: number
  readonly after?: ListPosition
  readonly total?: ListTotal
  readonly from?: Date
  readonly before?: Date
}

/** Ids of ledger entries are numbers. */
export const isEntryId = (text: string): boolean => /^\d{1,18}$/.test(text)

/** `isId` checks the id inside a cursor. @throws MatteError INVALID_PARAMS naming every invalid parameter */
export function readListQuery(query: ListQuery, isId = isUuid): PageRequest {
  const issues: Issue[] = []
  const { cursor, pageSize, minConfidence = 0, maxConfidence = 1 } = query
  const start = query.startDate === undefined ? undefined : parseDay(query.startDate)
  const end = query.endDate === undefined ? undefined : parseDay(query.endDate)
  const position = cursor === undefined ? undefined : decodeCursor(cursor, isId)
  if (start === null) issues.push({ path: '/query/startDate', message: dateMessage })
  if (end === null) issues.push({ path: '/query/endDate', message: dateMessage })
  if (start && end && start.from >= end.before)
    issues.push({ path: '/query/endDate', message: 'must not be before startDate' })
  if (minConfidence > maxConfidence)
    issues.push({ path: '/query/maxConfidence', message: 'must not be below minConfidence' })
  if (position === null) issues.push({ path: '/query/cursor', message: 'must be the nextCursor of a page' })
  if (cursor !== undefined && query.page !== firstPage) {
    issues.push({ path: '/query/cursor', message: 'cannot be combined with page' })
  }
  if (issues.length > 0) throw invalidParams(issues)
  const page = position?.page ?? query.page
  return {
    page,
    pageSize,
    // Past 2^53 a number is no longer exact; any list ends long before.
    offset: Math.min((page - 1) * pageSize, Number.MAX_SAFE_INTEGER),
    ...(position && { after: position }),
    ...(position?.isLong && { total: longTotal }),
    ...(start && { from: start.from }),
    ...(end && { before: end.before }),
  }
}

type Page<T> = {
  readonly items: T[]
  readonly page: number
  readonly pageSize: number
  readonly total: number
  readonly totalIsMinimum?: true
  readonly totalPages: number
  readonly nextCursor: string | null
}

type ListSource<Row, View> = {
  /** Rows in the range, newest first, and the total. */
  readonly read: (range: ListRange) => Promise<readonly [readonly Row[], ListTotal]>
  /** Sort key of the list: a time in microseconds. */
  readonly micros: (row: Row) => string
  readonly view: (row: Row) => View
}

/** Reads one row more than the page shows, to learn whether another page follows. */
export async function readPage<Row extends { readonly id: string }, View>(
  { page, pageSize, offset, after, total: known }: PageRequest,
  { read, micros, view }: ListSource<Row, View>,
): Promise<Page<View>> {
  const [rows, { total, isMinimum }] = await read({ limit: pageSize + 1, offset, after, total: known })
  const shown = rows.slice(0, pageSize)
  const last = rows.length > pageSize ? shown.at(-1) : undefined
  return {
    items: shown.map((row) => view(row)),
    page,
    pageSize,
    total,
    ...(isMinimum && { totalIsMinimum: true }),
    totalPages: Math.ceil(total / pageSize),
    nextCursor:
      last === undefined
        ? null
        : encodeCursor({ createdAtMicros: micros(last), id: last.id, page: page + 1, isLong: isMinimum }),
  }
}

/** An unpaged list in the shape of a page: `pageSize` is never smaller than `total`. */
export const toWholeList = <T>(items: T[]): Page<T> => ({
  items,
  page: 1,
  pageSize: Math.max(pageSizeDefault, items.length),
  total: items.length,
  totalPages: items.length === 0 ? 0 : 1,
  nextCursor: null,
})

const dateMessage = 'must be a date, YYYY-MM-DD, or an ISO 8601 timestamp'
const dateForm = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/i
const dayMs = 24 * 60 * 60 * 1_000

/** A date (UTC day) or a timestamp (1 ms, UTC by default); restores a `+` that the query decoded to a space. */
export function parseDay(text: string): { from: Date; before: Date } | null {
  const [, day, time, offset = 'Z'] = dateForm.exec(text.trim().replace(/ (?=\d{2}:?\d{2}$)/, '+')) ?? []
  // JavaScript parses 30 February as 2 March.
  if (day === undefined || new Date(`${day}T00:00:00Z`).toJSON()?.slice(0, 10) !== day) return null
  const zone = offset.toUpperCase().replace(/^([+-]\d{2})(\d{2})$/, '$1:$2')
  const from = new Date(time === undefined ? `${day}T00:00:00Z` : `${day}T${time.replace(',', '.')}${zone}`)
  if (Number.isNaN(from.getTime())) return null
  return { from, before: new Date(from.getTime() + (time === undefined ? dayMs : 1)) }
}

type Cursor = ListPosition & { readonly page: number; readonly isLong: boolean }

const longMark = 'long'

const encodeCursor = ({ createdAtMicros, id, page, isLong }: Cursor): string =>
  Buffer.from([createdAtMicros, id, page, ...(isLong ? [longMark] : [])].join('.')).toString('base64url')

function decodeCursor(cursor: string, isId: (text: string) => boolean): Cursor | null {
  const [createdAtMicros = '', id = '', page = '', ...rest] = Buffer.from(cursor, 'base64url')
    .toString('latin1')
    .split('.')
  const isLong = rest.length === 1 && rest[0] === longMark
  const valid = /^\d{1,17}$/.test(createdAtMicros) && isId(id) && /^\d{1,15}$/.test(page)
  return valid && (isLong || rest.length === 0) ? { createdAtMicros, id, page: Number(page), isLong } : null
}
