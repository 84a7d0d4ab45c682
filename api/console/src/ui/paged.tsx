// A list that is read page by page, as far as the person asks for.
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useText } from '../text/text.ts'
import { Button } from './button.tsx'
import { ErrorNote, Skeleton } from './states.tsx'
import { uiText } from './ui-text.ts'

type PageOf<T> = { readonly items: readonly T[]; readonly nextCursor: string | null }

type PagedProps<T> = {
  readonly queryKey: QueryKey
  readonly read: (cursor: string | undefined) => Promise<PageOf<T>>
  readonly children: (items: readonly T[]) => ReactNode
  /** Shown in place of an empty list. */
  readonly empty: ReactNode
}

export function Paged<T>({ queryKey, read, children, empty }: PagedProps<T>) {
  const text = useText(uiText)
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  })
  const items = query.data?.pages.flatMap((page) => page.items)
  return (
    <>
      {query.error !== null && <ErrorNote error={query.error} onRetry={() => void query.refetch()} />}
      {items === undefined && query.error === null && <Skeleton lines={5} />}
      {items !== undefined && (items.length === 0 ? empty : children(items))}
      {query.hasNextPage && (
        <div className="centered">
          <Button isPending={query.isFetchingNextPage} onPress={() => void query.fetchNextPage()}>
            {text.more}
          </Button>
        </div>
      )}
    </>
  )
}
