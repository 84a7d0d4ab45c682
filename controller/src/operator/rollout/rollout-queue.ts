// Limits concurrent rollouts over all pools of this operator. Others wait in the order in which this leader found them;
// a new leader starts a new order.
import type { RolloutStatus } from '../pool/pool-status.ts'
import type { TritonPool } from '../pool/triton-pool.ts'

/** After this long in one step a rollout gives up its turn, so a canary without requests cannot block others. */
const turnSeconds = 3_600

type TurnsOptions = {
  readonly max: number
  readonly pools: () => Iterable<TritonPool>
  readonly nowMs: () => number
}

export type RolloutQueue = ReturnType<typeof rolloutQueue>

export function rolloutQueue({ max, pools, nowMs }: TurnsOptions) {
  const waiting = new Set<string>()
  const decided = new Map<string, RolloutStatus>()

  function takenByOthers(name: string): string[] {
    const now = nowMs()
    return Array.from(pools())
      .filter(({ metadata, status }) => {
        if (metadata.name === name || metadata.deletionTimestamp !== undefined) return false
        return holdsTurn(decided.get(metadata.name) ?? status?.rollout, now)
      })
      .map(({ metadata }) => metadata.name)
      .sort()
  }

  return {
    ask: (name: string): string | undefined => {
      const taken = takenByOthers(name)
      const order = [...waiting]
      const ahead = waiting.has(name) ? order.indexOf(name) : order.length
      return taken.length + ahead < max ? undefined : explain(taken, ahead, max)
    },
    note: (name: string, state: RolloutStatus, isWaiting: boolean): void => {
      decided.set(name, state)
      if (isWaiting) waiting.add(name)
      else waiting.delete(name)
    },
    /** Moves the pool of a failed pass to the end, so it does not block others. */
    failed: (name: string): void => {
      waiting.delete(name)
    },
    /** For a pool that is gone, closed, or led by another replica. */
    forget: (name: string): void => {
      waiting.delete(name)
      decided.delete(name)
    },
    clear: (): void => {
      waiting.clear()
      decided.clear()
    },
  }
}

function holdsTurn(state: Partial<RolloutStatus> | undefined, now: number): boolean {
  const { canary, since = '', pausedSince } = state ?? {}
  return canary !== undefined && pausedSince === undefined && now - Date.parse(since) < turnSeconds * 1000
}

const namedMax = 3

function explain(taken: readonly string[], ahead: number, max: number): string {
  const named = taken.length === 0 ? 'none' : taken.slice(0, namedMax).join(', ')
  const more = taken.length > namedMax ? ` and ${taken.length - namedMax} more` : ''
  const before = ahead === 0 ? '' : `; ${ahead} ${ahead === 1 ? 'pool waits' : 'pools wait'} before it`
  return `CONCURRENT_ROLLOUTS allows ${max} at once, in progress: ${named}${more}${before}`
}
