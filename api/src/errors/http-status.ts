// Maps domain codes to the codes of each surface.
import type { ErrorCode, MatteCode } from '@matte/core/error'
import type { Surface } from '../access.ts'

/** A code without a status does not compile. */
export const httpStatus = {
  INVALID_PARAMS: 400,
  API_KEY_MISSING: 401,
  API_KEY_INVALID: 401,
  AUTH_INVALID_TOKEN: 401,
  CREDITS_INSUFFICIENT: 400,
  API_KEY_INSUFFICIENT_SCOPE: 403,
  AUTH_FORBIDDEN: 403,
  DEVELOPER_API_ACCESS_DENIED: 403,
  TASK_MAINTENANCE: 503,
  TASK_BATCH_DISABLED: 400,
  TASK_BATCH_NOT_SUPPORTED: 400,
  TASK_BATCH_SIZE_EXCEEDED: 400,
  TASK_INPUT_FORBIDDEN: 403,
  TASK_FILE_SIZE_EXCEEDED: 400,
  TASK_FORMAT_NOT_SUPPORTED: 400,
  TASK_OUTPUT_FORMAT_NOT_SUPPORTED: 400,
  TASK_CONCURRENT_LIMIT: 400,
  TASK_NOT_RETRYABLE: 400,
  TASK_RETRY_LIMIT_EXCEEDED: 400,
  TASK_STORAGE_UNAVAILABLE: 503,
  DEVELOPER_TASK_NOT_FOUND: 404,
  DEVELOPER_BATCH_NOT_FOUND: 404,
  NOT_FOUND: 404,
  CONFLICT: 409,
  TASK_CANNOT_CANCEL: 409,
  RATE_LIMIT_EXCEEDED: 429,
  DEVELOPER_API_QUOTA_EXCEEDED: 429,
  SYSTEM_INTERNAL_ERROR: 500,
} as const satisfies Record<ErrorCode, number>

const developerCodes = {
  TASK_NOT_FOUND: 'DEVELOPER_TASK_NOT_FOUND',
  BATCH_NOT_FOUND: 'DEVELOPER_BATCH_NOT_FOUND',
  QUOTA_EXCEEDED: 'DEVELOPER_API_QUOTA_EXCEEDED',
} as const satisfies Record<Exclude<MatteCode, ErrorCode>, ErrorCode>

/** The interface has one code for an exceeded quota, so both surfaces return it. */
const appCodes: typeof developerCodes | Record<keyof typeof developerCodes, ErrorCode> = {
  TASK_NOT_FOUND: 'NOT_FOUND',
  BATCH_NOT_FOUND: 'NOT_FOUND',
  QUOTA_EXCEEDED: 'DEVELOPER_API_QUOTA_EXCEEDED',
}

const codesOf: Readonly<Record<Surface, Readonly<Record<string, ErrorCode>>>> = {
  developer: developerCodes,
  app: appCodes,
}

export const publicCode = (code: MatteCode, surface: Surface): ErrorCode =>
  codesOf[surface][code] ?? (code as ErrorCode)

export const publicCodes = (codes: readonly MatteCode[], surface: Surface): ErrorCode[] =>
  codes.map((code) => publicCode(code, surface))
