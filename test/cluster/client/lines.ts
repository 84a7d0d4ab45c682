// Log of the load client: one JSON line per event. These lines account for every task.

export type Line =
  /** Start of a phase. */
  | { readonly type: 'phase'; readonly name: string; readonly at: number }
  /** Successful calls of the phase that ended. */
  | { readonly type: 'calls'; readonly answered: number }
  | {
      readonly type: 'refused'
      readonly op: string
      readonly status: number
      readonly code: string
      readonly retryAfter: boolean
    }
  | { readonly type: 'broken'; readonly op: string; readonly error: string }
  /** A task is about to be created under this idempotency key. */
  | { readonly type: 'begun'; readonly key: string; readonly kind: string }
  | { readonly type: 'accepted'; readonly key: string; readonly id: string }
  /** The creation was rejected with the code expected for its image. */
  | { readonly type: 'declined'; readonly key: string }
  | { readonly type: 'ended'; readonly id: string; readonly status: string; readonly reason: string | null }
  /** A result was downloaded; `problem` describes a wrong one. */
  | { readonly type: 'result'; readonly id: string; readonly problem: string | null }
  | {
      readonly type: 'webhook'
      readonly delivery: string
      readonly task: string
      readonly event: string
      readonly signed: boolean
    }
  /** A slow upload: the phase of its start, and of its first cut. */
  | { readonly type: 'slow'; readonly began: string; readonly cut: string | null }
  | { readonly type: 'gaveUp'; readonly key: string; readonly error: string }
  /** Counts reported by the service at the end. */
  | { readonly type: 'totals'; readonly listed: readonly string[]; readonly usage: Usage }

export type Usage = {
  readonly totalTasks: number
  readonly succeededTasks: number
  readonly failedTasks: number
  readonly creditsConsumed: number
}
