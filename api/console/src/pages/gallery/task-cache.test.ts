import type { Page, Task } from 'matte-client'
import { describe, expect, it } from 'vitest'
import { mergeHead, patchPages, type TaskPages } from './task-cache.ts'

/** Task `n` was created at second `n`. */
const task = (n: number, status: Task['status'] = 'succeeded'): Task =>
  ({ id: String(n), status, createdAt: new Date(n * 1_000).toISOString() }) as Task

const page = (ids: readonly number[], nextCursor: string | null = null): Page<Task> =>
  ({ items: ids.map((id) => task(id)), nextCursor, total: ids.length }) as Page<Task>

const given = (...pages: readonly Page<Task>[]): TaskPages => ({
  pages: [...pages],
  pageParams: pages.map(() => undefined),
})

const idsOf = ({ pages }: TaskPages) => pages.map(({ items }) => items.map(({ id }) => Number(id)))

describe('a list and its newest page', () => {
  const list = given(page([5, 4], 'c'), page([3, 2, 1]))

  it('takes new tasks in at the top', () => {
    expect(idsOf(mergeHead(list, page([7, 6, 5], 'd'), { mayAdd: true }).data)).toEqual([
      [7, 6, 5, 4],
      [3, 2, 1],
    ])
  })

  it('counts new tasks while a person looks further down', () => {
    const { data, addedCount } = mergeHead(list, page([7, 6, 5], 'd'), { mayAdd: false })
    expect(addedCount).toBe(2)
    expect(idsOf(data)).toEqual(idsOf(list))
  })

  it('starts again when there may be a gap', () => {
    expect(idsOf(mergeHead(list, page([9, 8], 'd'), { mayAdd: true }).data)).toEqual([[9, 8]])
  })

  it('updates tasks on every page', () => {
    const head = { ...page([5, 4, 3]), items: [task(5), task(4), task(3, 'failed')] }
    const { data } = mergeHead(list, head, { mayAdd: false })
    expect(data.pages[1]?.items[0]?.status).toBe('failed')
  })
})

describe('a change of one task', () => {
  it('leaves the other pages as they are', () => {
    const list = given(page([5, 4], 'c'), page([3, 2, 1]))
    const data = patchPages(list, '2', (one) => ({ ...one, status: 'canceled' }))
    expect(data.pages[1]?.items[1]?.status).toBe('canceled')
    expect(data.pages[0]).toBe(list.pages[0])
    expect(patchPages(list, '9', (one) => one)).toBe(list)
  })
})
