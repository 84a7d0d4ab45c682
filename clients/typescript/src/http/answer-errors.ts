// Errors of answers, and of requests without one.
import { MatteError } from '../error.ts'
import { DeadlinePassed } from './deadline.ts'
import { readRetryAfterMs } from './retry.ts'

export const isRetryableStatus = (status: number): boolean => [408, 429, 500, 502, 503, 504].includes(status)

type Envelope = {
  readonly request_id?: string
  readonly data?: unknown
  readonly error?: { readonly code?: string; readonly message?: string; readonly details?: Record<string, unknown> }
}

export function toServiceError(response: Response, text: string, baseUrl: string): MatteError {
  const { status, headers, type } = response
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) return redirected(response)
  const { request_id: requestId, error } = readEnvelope(text)
  const retryAfterMs = readRetryAfterMs(headers.get('retry-after'), Date.now())
  if (error?.code === undefined) return foreign(status, retryAfterMs)
  const { code, details } = error
  return new MatteError(code, messageOf(error, baseUrl), {
    status,
    details,
    requestId: requestId ?? headers.get('x-request-id') ?? undefined,
    retryable: isRetryable(status, code, retryAfterMs),
    docs: `${new URL(baseUrl).origin}/docs/errors/${encodeURIComponent(code)}`,
    retryAfterMs,
  })
}

/** Adds what the service says elsewhere: most programs print the message alone. */
function messageOf({ code = '', message = code, details }: NonNullable<Envelope['error']>, baseUrl: string): string {
  if (code === 'NOT_FOUND' && !baseUrl.endsWith('/api/v1')) return `${message} The base URL usually ends in /api/v1.`
  const issues = Array.isArray(details?.issues) ? details.issues.map(toText).join('; ') : ''
  return issues === '' ? message : `${message.replace(/; see details\.issues\.$/, ':')} ${issues}.`
}

/** `output.background must be …` */
function toText(issue: { readonly path?: unknown; readonly message?: unknown }): string {
  const [, , ...names] = String(issue.path).split('/')
  return `${names.join('.')} ${issue.message}`.trim()
}

/** An answer that is not the service's own, such as that of a gateway. */
export function foreign(status: number, retryAfterMs?: number): MatteError {
  const fields = { status, retryAfterMs, retryable: isRetryableStatus(status) }
  if (fields.retryable)
    return new MatteError('CLIENT_CONNECTION', `A gateway answered ${status} for the service.`, fields)
  const hint = `Check the base URL, which ends in the version path, like https://matte.example.com/api/v1.`
  return new MatteError(
    'CLIENT_CONFIG',
    `The answer, with status ${status}, is not that of the service. ${hint}`,
    fields,
  )
}

/** A quota refills next month. A creation with the same key in progress answers CONFLICT with Retry-After. */
function isRetryable(status: number, code: string, retryAfterMs: number | undefined): boolean {
  if (code === 'DEVELOPER_API_QUOTA_EXCEEDED') return false
  return isRetryableStatus(status) || (code === 'CONFLICT' && retryAfterMs !== undefined)
}

const redirected = ({ status, headers }: Response) =>
  new MatteError('CLIENT_CONFIG', 'The base URL redirects. Pass the address that it redirects to.', {
    status: status || undefined,
    details: { location: headers.get('location') },
  })

/** Empty if the answer is not the service's own. */
export function readEnvelope(text: string): Envelope {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

/** Refusal by the store of an upload or a download. */
export const storeError = (what: 'upload' | 'download', status: number): MatteError =>
  new MatteError('TASK_STORAGE_UNAVAILABLE', `The store answered ${status} to the ${what}.`, {
    status,
    retryable: isRetryableStatus(status),
  })

/** Failure of a connection. Fetch hides its reason in the cause. */
export function connectionError(cause: unknown, url?: string): MatteError {
  const host = url === undefined ? 'the service' : new URL(url).host
  const fields = { retryable: true, cause }
  if (cause instanceof DeadlinePassed)
    return new MatteError('CLIENT_TIMEOUT', `There is no answer of ${host} in time.`, fields)
  const { code, message } = Object((cause as Error).cause ?? cause) as { code?: string; message?: string }
  return new MatteError('CLIENT_CONNECTION', `The connection to ${host} failed: ${code ?? message}.`, fields)
}

export const aborted = (cause: unknown, taskId?: string): MatteError =>
  new MatteError('CLIENT_ABORTED', 'The call was aborted.', { cause, taskId })
