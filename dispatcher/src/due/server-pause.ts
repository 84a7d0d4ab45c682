import type { Clock } from '@matte/core/runtime/clock'

type ServerPause = {
  /** Told of each attempt. Returns how long nothing is tried from now on, or 0 when nothing has changed. */
  reached(wasThere: boolean): number
  /** How many mails may begin: none during a pause, then one alone until it is known that the server is back. */
  allows(free: number, slots: number): number
}

const firstPauseMs = 1_000
const longestPauseMs = 60_000

/** A server that takes no mails is asked by one of them at a time, after pauses that double. */
export function serverPause({ monotonicMs }: Pick<Clock, 'monotonicMs'>): ServerPause {
  let pauseMs = 0
  let resumesAtMs = 0
  return {
    reached: (wasThere) => {
      if (wasThere) {
        pauseMs = 0
        return 0
      }
      // Those that were in flight together fail together, and count once.
      if (pauseMs > 0 && monotonicMs() < resumesAtMs) return 0
      pauseMs = Math.min(Math.max(firstPauseMs, pauseMs * 2), longestPauseMs)
      resumesAtMs = monotonicMs() + pauseMs
      return pauseMs
    },
    allows: (free, slots) => {
      if (pauseMs === 0) return free
      return monotonicMs() < resumesAtMs || free < slots ? 0 : 1
    },
  }
}
