// What the installation offers, known before sign-in.
import { queryOptions } from '@tanstack/react-query'
import { MatteApp } from 'matte-client/app'
import { baseUrl } from '../session/use-session.ts'

export type ConsoleSettings = {
  readonly version: string
  readonly accounts: boolean
  readonly registration: 'open' | 'invite' | 'closed'
  readonly passwordReset: boolean
  readonly payments: 'stripe' | 'sandbox' | 'none'
  readonly uploadMaxBytes: number
  /** The service can fetch an image by its URL. */
  readonly fetchUrls: boolean
  readonly publicUrl: string
}

export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: (): Promise<ConsoleSettings> => {
    const client = new MatteApp({ baseUrl: baseUrl(), accessToken: () => undefined })
    const ask = client.request as unknown as (method: string, path: string) => Promise<ConsoleSettings>
    return ask.call(client, 'GET', '/console')
  },
  staleTime: Number.POSITIVE_INFINITY,
})
