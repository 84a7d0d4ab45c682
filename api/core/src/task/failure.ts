/** Why a task failed. Callers may switch over the list, so it never grows. */
export const failureReasons = [
  'INPUT_UNREADABLE',
  'INPUT_TOO_LARGE',
  'INPUT_CHANGED',
  'INPUT_MISSING',
  'INFERENCE_ERROR',
  'INFERENCE_TIMEOUT',
  'STORAGE_ERROR',
  'INTERNAL',
] as const
export type FailureReason = (typeof failureReasons)[number]

/** The input is the cause; another attempt with the same object fails alike. */
export const isInputFailure = (reason: FailureReason): boolean => reason.startsWith('INPUT_')

/** Whether a caller's retry can succeed. It uses the object as it is then, so INPUT_CHANGED can. */
export const isRetryAdvised = (reason: FailureReason): boolean => !isInputFailure(reason) || reason === 'INPUT_CHANGED'

/** Fixed texts shown to callers, so nothing internal gets out. */
export const failureMessages = {
  INPUT_UNREADABLE: 'The image could not be decoded: it is damaged, truncated, or not of the format it claims.',
  INPUT_TOO_LARGE:
    'The image, or its result with a shadow, has more pixels than your plan allows, or a side of more than 65,535 ' +
    'pixels or than its format allows.',
  INPUT_CHANGED: 'The uploaded object was overwritten after the task was created.',
  INPUT_MISSING: 'The uploaded object no longer exists.',
  INFERENCE_ERROR: 'The model server failed on this image.',
  INFERENCE_TIMEOUT: 'No model server became available in time.',
  STORAGE_ERROR: 'The object store failed while the task was processed.',
  INTERNAL: 'The task failed inside the service.',
} as const satisfies Record<FailureReason, string>
