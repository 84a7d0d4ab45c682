import type { Page } from './task-page.ts'

/**
 * A list that is always answered whole, in the shape of a page (D36). `max` is the most that it can usually hold.
 */
export const toWholeList = <T>(items: T[], max: number): Page<T> => ({
  items,
  page: 1,
  pageSize: Math.max(max, items.length),
  total: items.length,
  totalPages: items.length === 0 ? 0 : 1,
  nextCursor: null,
})
