// Lists that the service returns in pages.
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query'
import { useText } from '../text/text.ts'
import { Button } from './button.tsx'
import { uiText } from './ui-text.ts'

type PageOf<Item> = { readonly items: readonly Item[]; readonly nextCursor?: string | null }

export type Position = { readonly cursor?: string; readonly pageSize: number }

const pageSize = 25

/** Pages of a list, as one list that grows. */
export function usePages<Item>(
  queryKey: QueryKey,
  read: (position: Position, signal: AbortSignal) => Promise<PageOf<Item>>,
) {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => read({ pageSize, ...(pageParam && { cursor: pageParam }) }, signal),
    initialPageParam: '',
    getNextPageParam: (page: PageOf<Item>) => page.nextCursor ?? undefined,
  })
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = query
  return {
    data: data?.pages.flatMap(({ items }) => items),
    error,
    refetch,
    more: hasNextPage ? { isPending: isFetchingNextPage, load: () => void fetchNextPage() } : undefined,
  }
}

type MoreProps = { readonly more: { readonly isPending: boolean; readonly load: () => void } | undefined }

/** Below the list, while there is more of it. */
export function More({ more }: MoreProps) {
  const text = useText(uiText)
  if (more === undefined) return null
  return (
    <Button onPress={more.load} isPending={more.isPending}>
      {text.more}
    </Button>
  )
}
