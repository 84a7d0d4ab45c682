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
  /** True for an item that changes without the person. The list is then read again every five seconds. */
  readonly isOpen?: (item: T) => boolean
  /** True for a list that gains items without the person. It is read again every five seconds. */
  readonly isLive?: boolean
}

const openMs = 5_000

export function Paged<T>(props: PagedProps<T>) {
  const { queryKey, read, children, empty, isOpen = () => false, isLive = false } = props
  const text = useText(uiText)
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: ({ state }) =>
      (isLive || state.data?.pages.some((page) => page.items.some(isOpen)) === true) && openMs,
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
