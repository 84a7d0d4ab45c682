// What the load client writes, a line of JSON each: from these lines alone every task is accounted for.

export type Line =
  /** Everything after it happened in this phase. */
  | { readonly type: 'phase'; readonly name: string; readonly at: number }
  /** Calls of the phase that was ended which were answered as they should. */
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
  /** The creation was refused with the code that its image calls for. */
  | { readonly type: 'declined'; readonly key: string }
  | { readonly type: 'ended'; readonly id: string; readonly status: string; readonly reason: string | null }
  /** A result was downloaded; the problem is what is wrong with it. */
  | { readonly type: 'result'; readonly id: string; readonly problem: string | null }
  | {
      readonly type: 'webhook'
      readonly delivery: string
      readonly task: string
      readonly event: string
      readonly signed: boolean
    }
  /** An upload that took seconds: the phase in which it began, and that in which it was cut first. */
  | { readonly type: 'slow'; readonly began: string; readonly cut: string | null }
  | { readonly type: 'gaveUp'; readonly key: string; readonly error: string }
  /** What the service says at the end. */
  | { readonly type: 'totals'; readonly listed: readonly string[]; readonly usage: Usage }

export type Usage = {
  readonly totalTasks: number
  readonly succeededTasks: number
  readonly failedTasks: number
  readonly creditsConsumed: number
}
