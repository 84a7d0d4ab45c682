// Settings of the installation, known before sign-in: the API writes them into the page.
import { queryOptions } from '@tanstack/react-query'

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

/** Without the API in front, as for the sources in development. */
const assumed: ConsoleSettings = {
  version: '',
  accounts: true,
  registration: 'open',
  passwordReset: true,
  payments: 'sandbox',
  uploadMaxBytes: 20_971_520,
  fetchUrls: false,
  publicUrl: location.origin,
}

function readSettings(): ConsoleSettings {
  const content = document.querySelector<HTMLMetaElement>('meta[name="matte-settings"]')?.content
  return content ? { ...assumed, ...JSON.parse(content) } : assumed
}

export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: readSettings,
  initialData: readSettings,
  staleTime: Number.POSITIVE_INFINITY,
})
