import { QueryClient } from '@tanstack/react-query'
import { identityOf, type SessionStore } from '../session/session.ts'

/** The client of the service retries by itself, so a query does not. */
export const createQueries = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: { retry: false, staleTime: 10_000, throwOnError: false, networkMode: 'always' },
      mutations: { retry: false, networkMode: 'always' },
    },
  })

/** Data of one person or workspace is never shown to the next. */
export function followSession(queries: QueryClient, store: SessionStore): void {
  let last = store.get()
  store.subscribe(() => {
    const session = store.get()
    const isContinued = last.kind === 'member' && last.isExpired === true
    const isOther = identityOf(session) !== identityOf(last)
    last = session
    if (isOther && session.kind === 'member') {
      void queries.cancelQueries()
      queries.removeQueries({ type: 'inactive' })
      // The frame stays, so its queries start again.
      void queries.resetQueries()
    } else if (isOther) queries.clear()
    else if (isContinued && session.kind === 'member' && !session.isExpired) void queries.invalidateQueries()
  })
}
