// Number of tasks at once, as a pure state: one more after as many successes as the limit, half after a refusal.

export type Concurrency = {
  readonly limit: number
  readonly max: number
  /** Successes since the last change. */
  readonly successes: number
  /** Counts the refusals that had effect. */
  readonly epoch: number
}

const autoStart = 4
/** Bounds open sockets; the plan's own limit is lower or, when self-hosted, a GPU is busy long before. */
const autoMax = 64

export const startConcurrency = (wanted: number | 'auto'): Concurrency =>
  wanted === 'auto'
    ? { limit: autoStart, max: autoMax, successes: 0, epoch: 0 }
    : { limit: wanted, max: wanted, successes: 0, epoch: 0 }

export function grow(state: Concurrency): Concurrency {
  const successes = state.successes + 1
  if (successes < state.limit) return { ...state, successes }
  return { ...state, successes: 0, limit: Math.min(state.max, state.limit + 1) }
}

/** Requests that were sent before the last refusal had effect are refused for the same cause, and change nothing. */
export function shrink(state: Concurrency, sentInEpoch: number): Concurrency {
  if (sentInEpoch < state.epoch) return state
  return { ...state, limit: Math.max(1, Math.floor(state.limit / 2)), successes: 0, epoch: state.epoch + 1 }
}
