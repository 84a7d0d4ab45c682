// Lists of the service, read page by page.
import type { Page } from '../schema.ts'

/** Iterates over all records by cursor: `for await (const task of matte.tasks.list())`. */
export type Listing<T> = AsyncIterable<T> & {
  /** One page, as the query asks. */
  page(): Promise<Page<T>>
  /** All records in one array. */
  all(): Promise<T[]>
}

type Query = Readonly<Record<string, string | number | undefined>>

const pageSizeMax = 100

export function listing<T>(read: (query: Query) => Promise<Page<T>>, query: Query): Listing<T> {
  async function* iterate(): AsyncGenerator<T> {
    let next: Query = { pageSize: pageSizeMax, ...query }
    for (;;) {
      const { items, nextCursor } = await read(next)
      yield* items
      if (nextCursor === null || nextCursor === next.cursor) return
      const { page: _page, ...rest } = next
      next = { ...rest, cursor: nextCursor }
    }
  }
  return {
    [Symbol.asyncIterator]: iterate,
    page: () => read(query),
    all: async () => {
      const all: T[] = []
      for await (const one of iterate()) all.push(one)
      return all
    },
  }
}
