// The domain names some errors by their noun; each surface of the interface has a code of its own for them.
import type { ErrorCode, MatteCode } from '@matte/core/error'
import type { Surface } from '../access.ts'

const developerCodes = {
  TASK_NOT_FOUND: 'DEVELOPER_TASK_NOT_FOUND',
  BATCH_NOT_FOUND: 'DEVELOPER_BATCH_NOT_FOUND',
  QUOTA_EXCEEDED: 'DEVELOPER_API_QUOTA_EXCEEDED',
} as const satisfies Record<Exclude<MatteCode, ErrorCode>, ErrorCode>

/** The table of the interface has one code for a used-up quota, so both surfaces answer it. */
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
