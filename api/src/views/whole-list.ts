import { pageSizeDefault } from '../schemas/page.ts'
import type { Page } from './task-page.ts'

/**
 * A list that is always answered whole, in the shape of a page (D36): `total` says how many items there are, and the
 * page is never smaller.
 */
export const toWholeList = <T>(items: T[]): Page<T> => ({
  items,
  page: 1,
  pageSize: Math.max(pageSizeDefault, items.length),
  total: items.length,
  totalPages: items.length === 0 ? 0 : 1,
  nextCursor: null,
})
