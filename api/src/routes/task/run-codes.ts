import type { MatteCode } from '@matte/core/error'

/** By which a run that begins can be refused, be it of a new task, of each in a batch, or of one that is retried. */
export const runCodes = [
  'TASK_MAINTENANCE',
  'TASK_INPUT_FORBIDDEN',
  'TASK_FILE_SIZE_EXCEEDED',
  'TASK_FORMAT_NOT_SUPPORTED',
  'TASK_STORAGE_UNAVAILABLE',
  'TASK_CONCURRENT_LIMIT',
  'QUOTA_EXCEEDED',
  'CREDITS_INSUFFICIENT',
  'CONFLICT',
] as const satisfies readonly MatteCode[]
