/** Task states. Each transition is one conditional update that names the state it leaves. */
export const taskStatuses = ['queued', 'processing', 'succeeded', 'failed', 'canceled'] as const
export type TaskStatus = (typeof taskStatuses)[number]

export const endedStatuses = ['succeeded', 'failed', 'canceled'] as const satisfies readonly TaskStatus[]

/** Right to work on one run. Every write of a worker names all three fields. */
export type Claim = { readonly id: string; readonly run: number; readonly claim: string }

/**
 * Counter of the workspace that holds the slot of an open run (D39). Children of a batch do not count against the limit
 * of single tasks, except after a caller's retry.
 */
export const slotCounter = ({ batchId, run }: { readonly batchId: string | null; readonly run: number }) =>
  batchId === null || run > 1 ? 'open_singles' : 'open_children'
