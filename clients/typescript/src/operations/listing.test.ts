import { expect, it } from 'vitest'
import { listing } from './listing.ts'

function given(pages: number) {
  const queries: object[] = []
  const read = async (query: Readonly<Record<string, unknown>>) => {
    queries.push(query)
    const page = Number(query.cursor ?? 1)
    const nextCursor = page < pages ? String(page + 1) : null
    return { items: [page * 2 - 1, page * 2], page, pageSize: 2, total: pages * 2, totalPages: pages, nextCursor }
  }
  return { queries, read }
}

it('follows the cursor over all pages, and keeps the filter', async () => {
  const { queries, read } = given(3)
  expect(await listing(read, { status: 'failed', page: 1 }).all()).toEqual([1, 2, 3, 4, 5, 6])
  expect(queries).toEqual([
    { status: 'failed', page: 1, pageSize: 100 },
    { status: 'failed', pageSize: 100, cursor: '2' },
    { status: 'failed', pageSize: 100, cursor: '3' },
  ])
})

it('reads no page before it is asked for, and no page after the loop ends', async () => {
  const { queries, read } = given(1_000)
  const list = listing(read, {})
  expect(queries).toHaveLength(0)
  for await (const one of list) if (one === 3) break
  expect(queries).toHaveLength(2)
})

it('reads one page as the query asks', async () => {
  const { queries, read } = given(3)
  expect(await listing(read, { cursor: '2' }).page()).toMatchObject({ items: [3, 4], nextCursor: '3' })
  expect(queries).toEqual([{ cursor: '2' }])
})

it('ends when a cursor leads to itself', async () => {
  const page = { items: [1], page: 1, pageSize: 1, total: 1, totalPages: 1, nextCursor: 'same' }
  expect(await listing(async () => page, {}).all()).toEqual([1, 1])
})
