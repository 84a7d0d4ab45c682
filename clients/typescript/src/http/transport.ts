// Requests to the service: credential, deadline, retries, errors. Requests to the store do not use `request`, so the
// API key cannot reach it.
import type { Config } from '../config.ts'
import { MatteError } from '../error.ts'
import type { RequestOptions } from '../options.ts'
import { isProofRequired } from '../proof.ts'
import { aborted, connectionError, foreign, readEnvelope, toServiceError } from './answer-errors.ts'
import { sleep, withDeadline } from './deadline.ts'
import { type RateWindow, retryDelayMs } from './retry.ts'

export type Transport = {
  readonly config: Config
  request<T>(method: string, path: string, options?: TransportOptions): Promise<T>
  /** Runs attempts of any request until one succeeds, its error is final, or `retriesMax` is reached. */
  retrying<T>(attempt: (retry: number) => Promise<T>, options: RetryOptions): Promise<T>
  /** The rate limit as of the latest answer. */
  rateWindow(): RateWindow | undefined
  /** Tasks that are polled now; they share the limit. */
  readonly polls: { open: number }
}

export type RetryOptions = {
  /** Named in the error of a failed connection. */
  readonly url: string
  readonly signal?: AbortSignal | undefined
  /** Called for each refusal that asks to slow down. */
  readonly onThrottled?: ((retryAfterMs: number | undefined) => void) | undefined
  /** False: an attempt may have had its effect, so only a refusal is retried. */
  readonly repeatable?: boolean | undefined
}

export type TransportOptions = RequestOptions &
  Pick<RetryOptions, 'onThrottled'> & {
    /** Sent as it is, in place of `body`. */
    readonly content?: Blob
  }

/** POST requests that create or charge. The service remembers their Idempotency-Key for 24 hours. */
const keyed = /^\/open\/developer\/(tasks|tasks\/[^/]+\/retry|cut-outs|batch-tasks|webhooks)$/
/** POST requests whose repetition does no harm. */
const harmless = /\/presign$/

export function createTransport(config: Config): Transport {
  let seen: { readonly remaining: number; readonly resetAtMs: number } | undefined

  async function request<T>(method: string, path: string, options: TransportOptions = {}): Promise<T> {
    const url = buildUrl(config.baseUrl, config.toPath(path), options)
    const key = options.idempotencyKey ?? (method === 'POST' && keyed.test(path) ? crypto.randomUUID() : undefined)
    const init = { method, headers: buildHeaders(config, options, key), ...bodyOf(options) }
    const repeatable = method !== 'POST' || key !== undefined || harmless.test(path)
    return retrying(() => sendProven<T>(url, init, options.signal), { ...options, url, repeatable })
  }

  /** Sends the request once more after a proof. No deadline runs while the person gives it. */
  async function sendProven<T>(url: string, init: SentRequest, outer: AbortSignal | undefined): Promise<T> {
    try {
      return await send<T>(url, init, outer)
    } catch (error) {
      if (!isProofRequired(error) || !(await config.prove?.(error))) throw error
      return send<T>(url, init, outer)
    }
  }

  async function send<T>(url: string, init: SentRequest, outer: AbortSignal | undefined): Promise<T> {
    return withDeadline(config.timeoutMs, outer, async ({ signal }) => {
      const response = await sendAuthorized(config, url, { ...init, signal })
      seen = readRateWindow(response.headers) ?? seen
      const text = await response.text()
      if (!response.ok) throw toServiceError(response, text, config.baseUrl)
      const { data } = readEnvelope(text)
      if (data === undefined) throw isCut(text) ? new TypeError('the answer was cut short') : foreign(response.status)
      return data as T // as the operation's schema says
    })
  }

  async function retrying<T>(attempt: (retry: number) => Promise<T>, options: RetryOptions): Promise<T> {
    const { url, signal, onThrottled, repeatable = true } = options
    for (let retry = 0; ; retry++) {
      try {
        if (signal?.aborted) throw signal.reason
        return await attempt(retry)
      } catch (cause) {
        if (signal?.aborted) throw aborted(cause)
        const error = cause instanceof MatteError ? cause : connectionError(cause, url)
        if (error.status === 429) onThrottled?.(error.retryAfterMs)
        const mayRepeat = repeatable || error.status === 429 || error.status === 503
        const delayMs = error.retryable && mayRepeat ? retryDelayMs(retry, error.retryAfterMs) : undefined
        if (delayMs === undefined || retry >= config.retriesMax) throw error
        await sleep(delayMs, signal).catch((reason) => Promise.reject(aborted(reason)))
      }
    }
  }

  return {
    config,
    request,
    retrying,
    polls: { open: 0 },
    rateWindow: () => seen && { remaining: seen.remaining, resetMs: Math.max(0, seen.resetAtMs - Date.now()) },
  }
}

type SentRequest = RequestInit & { readonly headers: Readonly<Record<string, string>> }

/** Sends the request once more with a renewed credential after a 401. */
export async function sendAuthorized(config: Config, url: string, init: SentRequest): Promise<Response> {
  const sendOnce = () => {
    const headers = { ...init.headers, ...config.authorize() }
    // A redirect is not followed: it would carry the credential to another host.
    return config.fetch(url, { ...init, headers, redirect: 'manual' })
  }
  const response = await sendOnce()
  if (response.status !== 401 || !(await config.renew?.())) return response
  await response.body?.cancel()
  return sendOnce()
}

export function buildUrl(baseUrl: string, path: string, { path: values = {}, query = {} }: RequestOptions): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name]
    // An empty id would turn the path of one record into the path of the list.
    if (!value) throw new MatteError('CLIENT_INPUT', `The value of ${name} is missing.`)
    return encodeURIComponent(value)
  })
  const url = new URL(baseUrl + filled)
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value))
  return url.href
}

function buildHeaders({ userAgent }: Config, { headers, body, content }: TransportOptions, key: string | undefined) {
  return {
    accept: 'application/json',
    ...(userAgent !== undefined && { 'user-agent': userAgent }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(content !== undefined && { 'content-type': content.type }),
    ...(key !== undefined && { 'idempotency-key': key }),
    ...headers,
  }
}

function bodyOf({ body, content }: TransportOptions): { body?: string | Blob } {
  if (content !== undefined) return { body: content }
  return body === undefined ? {} : { body: JSON.stringify(body) }
}

function readRateWindow(headers: Headers) {
  // `RateLimit` counts from now, so the clocks of both sides do not matter.
  const [, remaining, seconds] = /;r=(\d+);t=(\d+)/.exec(headers.get('ratelimit') ?? '') ?? []
  if (remaining === undefined) return undefined
  return { remaining: Number(remaining), resetAtMs: Date.now() + Number(seconds) * 1_000 }
}

/** JSON without its end; a page of HTML is no answer of the service. */
const isCut = (text: string): boolean => text === '' || text.trimStart().startsWith('{')
