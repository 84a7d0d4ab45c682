/**
 * What one pool is asked to do, at one moment of the database's clock. Singles are tasks created alone and retries (a
 * retried child of a batch counts as one); children of batches wait for no one in particular and are counted apart.
 */
export type Demand = {
  /** Singles that began to wait in the last 3 and 30 s: counts, not rates. */
  readonly arrivals3s: number
  readonly arrivals30s: number
  /** Singles waiting: queued, or processing with no live claim and due. */
  readonly backlog: number
  /** Slots that batches may take now: Σ over workspaces of min(children waiting, plan's limit − processing). */
  readonly batchSlots: number
  /**
   * Slots that batches hold: children under a live claim. Without it the demand of a batch would vanish once its plan's
   * limit is in work, and its pods with it when the hold is over, in the middle of the batch. Absent counts as 0.
   */
  readonly batchProcessing?: number
  /** Tasks of both kinds under a live claim. */
  readonly processing: number
  /** Age of the single that has waited longest, in seconds; 0 when none waits. */
  readonly oldestSeconds: number
  /** Mean time of one image in a slot over the last 60 s, else the last known; undefined: nothing was ever served. */
  readonly serviceSeconds: number | undefined
  /** From created to succeeded, the slowest one in twenty, over the last 60 s; undefined: nothing ended. */
  readonly p95Seconds: number | undefined
  /** Share of the last 60 s (0..1) that came later than the pool's `target.p95Seconds`; undefined: nothing ended. */
  readonly missedShare: number | undefined
}
