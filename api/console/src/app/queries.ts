import { QueryClient } from '@tanstack/react-query'
import { MatteError } from 'matte-client/app'

/** The client of the service retries by itself, so a query does not. */
export const createQueries = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: { retry: false, staleTime: 10_000, throwOnError: false, networkMode: 'always' },
      mutations: { retry: false, networkMode: 'always' },
    },
  })

export const toMatteError = (error: unknown): MatteError =>
  error instanceof MatteError ? error : new MatteError('CLIENT_INTERNAL', String(error), { cause: error })
