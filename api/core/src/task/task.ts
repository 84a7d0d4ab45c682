/** The states of the interface. Each move between them is one conditional update that names the state it leaves. */
export const taskStatuses = ['queued', 'processing', 'succeeded', 'failed', 'canceled'] as const
export type TaskStatus = (typeof taskStatuses)[number]

/** Those that end a run. */
export const endedStatuses = ['succeeded', 'failed', 'canceled'] as const satisfies readonly TaskStatus[]

/** The right to work on one run; every write of a worker names all three. */
export type Claim = { readonly id: string; readonly run: number; readonly claim: string }

/**
 * The counter of its workspace in which an open run has its concurrency slot. Children of a batch are exempt from the
 * limit of single tasks at creation; a caller's retry never is, so that a retried child counts as a single does (D39).
 */
export const slotCounter = ({ batchId, run }: { readonly batchId: string | null; readonly run: number }) =>
  batchId === null || run > 1 ? 'open_singles' : 'open_children'
