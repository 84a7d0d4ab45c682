// Rollouts that may be in progress at once, over all pools of this operator. The others wait in the order in which this
// leader found them waiting; a new leader forms that order again.
import type { RolloutStatus } from '../pool/pool-status.ts'
import type { TritonPool } from '../pool/triton-pool.ts'

/**
 * A rollout that has been in one step for so long gives its turn away, so a canary without requests cannot block the
 * others forever. Price: it and its successor are in progress at once.
 */
const turnSeconds = 3_600

type TurnsOptions = {
  readonly max: number
  readonly pools: () => Iterable<TritonPool>
  /** Milliseconds since 1970, as status has its times. */
  readonly nowMs: () => number
}

export type RolloutTurns = ReturnType<typeof rolloutTurns>

export function rolloutTurns({ max, pools, nowMs }: TurnsOptions) {
  /** In the order in which they wait. */
  const waiting = new Set<string>()
  /** Decision of each pool's last pass. Status may lag behind it. */
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
    /** Why the pool's rollout has to wait; undefined: it may begin. */
    ask: (name: string): string | undefined => {
      const taken = takenByOthers(name)
      const order = [...waiting]
      // Pools that wait ahead have the free turns first.
      const ahead = waiting.has(name) ? order.indexOf(name) : order.length
      return taken.length + ahead < max ? undefined : explain(taken, ahead, max)
    },
    /** Records the decision of a pass before its status is written. */
    note: (name: string, state: RolloutStatus, isWaiting: boolean): void => {
      decided.set(name, state)
      if (isWaiting) waiting.add(name)
      else waiting.delete(name)
    },
    /** The pass has failed: the pool goes to the end, so that it cannot hold up those that wait behind it. */
    failed: (name: string): void => {
      waiting.delete(name)
    },
    /** The pool is gone or closed, or another replica leads it. */
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

/** In progress, neither paused nor in one step for too long. */
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
