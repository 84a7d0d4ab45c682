/** All error codes of the interface. `http-status.ts` of the API has their HTTP statuses. */
export const errorCodes = [
  'INVALID_PARAMS',
  'API_KEY_MISSING',
  'API_KEY_INVALID',
  'AUTH_INVALID_TOKEN',
  'CREDITS_INSUFFICIENT',
  'API_KEY_INSUFFICIENT_SCOPE',
  'AUTH_FORBIDDEN',
  'DEVELOPER_API_ACCESS_DENIED',
  'TASK_MAINTENANCE',
  'TASK_BATCH_DISABLED',
  'TASK_BATCH_NOT_SUPPORTED',
  'TASK_BATCH_SIZE_EXCEEDED',
  'TASK_INPUT_FORBIDDEN',
  'TASK_FILE_SIZE_EXCEEDED',
  'TASK_FORMAT_NOT_SUPPORTED',
  'TASK_OUTPUT_FORMAT_NOT_SUPPORTED',
  'TASK_CONCURRENT_LIMIT',
  'TASK_NOT_RETRYABLE',
  'TASK_RETRY_LIMIT_EXCEEDED',
  'TASK_STORAGE_UNAVAILABLE',
  'DEVELOPER_TASK_NOT_FOUND',
  'DEVELOPER_BATCH_NOT_FOUND',
  'NOT_FOUND',
  'CONFLICT',
  'TASK_CANNOT_CANCEL',
  'RATE_LIMIT_EXCEEDED',
  'DEVELOPER_API_QUOTA_EXCEEDED',
  'SYSTEM_INTERNAL_ERROR',
] as const

export type ErrorCode = (typeof errorCodes)[number]

/** Codes that `publicCode` of the API maps to the code of each surface. */
type MappedCode = 'TASK_NOT_FOUND' | 'BATCH_NOT_FOUND' | 'QUOTA_EXCEEDED'

export type MatteCode = ErrorCode | MappedCode

export type Details = Record<string, unknown>

type Given = { readonly details?: Details; readonly cause?: unknown; readonly retryAfterSeconds?: number }

/** The error class of the domain. `message` and `details` go to the caller; `cause` is logged only. */
export class MatteError extends Error {
  override name = 'MatteError'
  readonly code: MatteCode
  readonly details: Details
  readonly retryAfterSeconds: number | undefined
  constructor(code: MatteCode, message: string, { details = {}, cause, retryAfterSeconds }: Given = {}) {
    super(message, { cause })
    this.code = code
    this.details = details
    this.retryAfterSeconds = retryAfterSeconds
  }
}
