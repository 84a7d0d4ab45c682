// Why tasks fail, and what is said of it (D32, D33).
/** Why a task fails; the closed list of D32. */
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

/** The input is the cause: trying again with the same object gives the same. */
export const isInputFailure = (reason: FailureReason): boolean => reason.startsWith('INPUT_')

/** Whether a caller's retry may end better: an object that was overwritten is taken as it is by then (D33). */
export const isRetryAdvised = (reason: FailureReason): boolean => !isInputFailure(reason) || reason === 'INPUT_CHANGED'

/** What a caller reads beside the reason: fixed text, so nothing internal gets out. */
export const failureMessages = {
  INPUT_UNREADABLE: 'The image could not be decoded: it is damaged, cut short, or not what its first bytes say.',
  INPUT_TOO_LARGE: 'The image has more pixels than your plan takes, or longer sides than the output format can hold.',
  INPUT_CHANGED: 'The uploaded object was overwritten after the task was created.',
  INPUT_MISSING: 'The uploaded object is gone.',
  INFERENCE_ERROR: 'The model server failed on this image.',
  INFERENCE_TIMEOUT: 'No model server took the task in time.',
  STORAGE_ERROR: 'The object store failed while the task was processed.',
  INTERNAL: 'The task failed inside the service.',
} as const satisfies Record<FailureReason, string>
