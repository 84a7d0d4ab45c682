/** The states of the interface. Each move between them is one conditional update that names the state it leaves. */
export const taskStatuses = ['queued', 'processing', 'succeeded', 'failed', 'canceled'] as const
export type TaskStatus = (typeof taskStatuses)[number]

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

/** The input is at fault: trying again with the same object gives the same. */
export const isInputFault = (reason: FailureReason): boolean => reason.startsWith('INPUT_')

/** Whether a caller's retry may end better: an object that was overwritten is taken as it is by then (D33). */
export const isRetryAdvised = (reason: FailureReason): boolean => !isInputFault(reason) || reason === 'INPUT_CHANGED'

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

/** Attempts of one run, and the pauses before the second to the fifth in milliseconds (D32). */
export const maxAttempts = 5
export const attemptGapsMs = [1_000, 5_000, 15_000, 60_000] as const

/** How often a caller may retry a failed task (D33). */
export const maxRetries = 3

/** One credit a picture, whatever the plan holds (D7, D31). */
export const creditCost = 1

/** The right to work on one run; every write of a worker names all three. */
export type Claim = { readonly id: string; readonly run: number; readonly claim: string }

/**
 * The counter of its workspace in which an open run has its concurrency slot. Children of a batch are exempt from the limit of single
 * tasks at creation; a caller's retry never is, so that a retried child counts as a single does (D39).
 */
export const slotCounter = ({ batchId, run }: { readonly batchId: string | null; readonly run: number }) =>
  batchId === null || run > 1 ? 'open_singles' : 'open_children'
