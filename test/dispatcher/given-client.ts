// HTTP clients for tests that post to receivers; each is closed after its test.
import { createHttpClient, type HttpClient } from '@matte/dispatcher/egress/http-client'
import type { RouteOptions } from '@matte/dispatcher/egress/receiver-routes'
import { afterEach } from 'vitest'

const opened: { close(): Promise<void> }[] = []

/** Call once per file: closes clients after each test. */
export const closeAfterEach = (): void =>
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((each) => each.close()))
  })

export const given = async <T extends { close(): Promise<void> }>(starting: T | Promise<T>): Promise<T> => {
  const started = await starting
  opened.push(started)
  return started
}

export const client = (options: Partial<RouteOptions> = {}): Promise<HttpClient> =>
  given(createHttpClient({ deniedNetworks: [], timeoutMs: 30_000, ...options }))
const never = new AbortController().signal

export const post = (
  http: HttpClient,
  url: string,
  options: { allowedTargets?: string[]; signal?: AbortSignal } = {},
) =>
  http.post({
    url,
    headers: { 'content-type': 'application/json' },
    body: '{"a":1}',
    allowedTargets: [],
    signal: never,
    ...options,
  })

export const toLoopback = { allowedTargets: ['127.0.0.1:*'] }
