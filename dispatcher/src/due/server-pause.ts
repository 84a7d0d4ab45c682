import type { Clock } from '@matte/core/runtime/clock'

type ServerPause = {
  /** Reports an attempt. Returns the length of the pause that starts now, or 0. */
  reached(wasThere: boolean): number
  /** Number of mails that may begin: 0 during a pause, then 1 until the server accepts one. */
  allows(free: number, slots: number): number
}

const firstPauseMs = 1_000
const longestPauseMs = 60_000

/** Backoff from 1 s to 60 s while no mail server accepts mails. */
export function serverPause({ monotonicMs }: Pick<Clock, 'monotonicMs'>): ServerPause {
  let pauseMs = 0
  let resumesAtMs = 0
  return {
    reached: (wasThere) => {
      if (wasThere) {
        pauseMs = 0
        return 0
      }
      // Attempts that were in flight together fail together and count once.
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
