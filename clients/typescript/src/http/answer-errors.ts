// Errors of answers, and of requests without one.
import { MatteError } from '../error.ts'
import { readRetryAfterMs } from './retry.ts'

export const isRetryableStatus = (status: number): boolean => [408, 429, 500, 502, 503, 504].includes(status)

/** Codes of answers that are not the service's own, such as those of a proxy. */
const codesByStatus: Readonly<Record<number, string>> = {
  404: 'NOT_FOUND',
  429: 'RATE_LIMIT_EXCEEDED',
}

type Envelope = {
  readonly request_id?: string
  readonly data?: unknown
  readonly error?: { readonly code?: string; readonly message?: string; readonly details?: Record<string, unknown> }
}

export function toServiceError(response: Response, text: string, baseUrl: string): MatteError {
  const { status, headers, type } = response
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) return redirected(response)
  const { request_id: requestId, error } = readEnvelope(text)
  const code = error?.code ?? codesByStatus[status] ?? (status >= 500 ? 'SYSTEM_INTERNAL_ERROR' : 'CLIENT_CONNECTION')
  const retryAfterMs = readRetryAfterMs(headers.get('retry-after'), Date.now())
  return new MatteError(
    code,
    error?.message ?? `The answer is ${status} and not the service's own. Check the base URL.`,
    {
      status,
      details: error?.details,
      requestId: requestId ?? headers.get('x-request-id') ?? undefined,
      retryable: isRetryable(status, code, retryAfterMs),
      docs: `${baseUrl}/docs#${code}`,
      retryAfterMs,
    },
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

export const unreadableAnswer = ({ status, headers }: Response, baseUrl: string): MatteError =>
  new MatteError('CLIENT_CONNECTION', `The answer is ${status} and not the service's own. Check the base URL.`, {
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryable: true,
    docs: `${baseUrl}/docs`,
  })

/** Refusal by the store of an upload or a download. */
export const storeError = (what: 'upload' | 'download', status: number): MatteError =>
  new MatteError('TASK_STORAGE_UNAVAILABLE', `The store answered ${status} to the ${what}.`, {
    status,
    retryable: isRetryableStatus(status),
  })

export const connectionError = (cause: unknown, isTimeout = false): MatteError =>
  isTimeout
    ? new MatteError('CLIENT_TIMEOUT', 'There was no answer in time.', { retryable: true, cause })
    : new MatteError('CLIENT_CONNECTION', 'The connection failed.', { retryable: true, cause })

export const aborted = (cause: unknown, taskId?: string): MatteError =>
  new MatteError('CLIENT_ABORTED', 'The call was aborted.', { cause, taskId })
