// Health of one pod; a pure state machine (pod-list.ts has the clock and effects).
//
//   joining ──probe good──► serving ──stall, error or bad probe──► ejected ──probe good──► probation
//                              ▲                                      ▲                      │   │
//                              └───────── three good answers ─────────┼──────────────────────┘   │
//                                                                     └────── any of the same ───┘
import type { InferenceError } from '../triton/inference-error.ts'

export type Outcome = 'ok' | InferenceError['kind']

export const ejectionReasons = ['timeout', 'unavailable', 'failed', 'unready'] as const
type EjectionReason = (typeof ejectionReasons)[number]

export type Standing =
  | { readonly state: 'joining'; readonly misses: number }
  | { readonly state: 'serving'; readonly failedInRow: number; readonly ejections: 0 }
  /** One slot until `goodAnswersAsked` good answers. */
  | { readonly state: 'probation'; readonly failedInRow: number; readonly ejections: number; readonly good: number }
  | { readonly state: 'ejected'; readonly reason: EjectionReason; readonly ejections: number; readonly misses: number }

export const joining: Standing = { state: 'joining', misses: 0 }

/** A bad image fails on every pod, so one failure proves nothing. */
export const failedInRowMax = 3
/** Few, because the pod has one slot meanwhile. */
export const goodAnswersAsked = 3

const firstPauseMs = 1_000
const longestPauseMs = 30_000
const joiningPauseMs = 250

export const isUsable = (standing: Standing): standing is Extract<Standing, { readonly failedInRow: number }> =>
  standing.state === 'serving' || standing.state === 'probation'

export function afterProbe(standing: Standing, isReady: boolean): Standing {
  switch (standing.state) {
    case 'joining':
      return isReady ? { state: 'serving', failedInRow: 0, ejections: 0 } : { ...standing, misses: standing.misses + 1 }
    case 'ejected':
      if (!isReady) return { ...standing, misses: standing.misses + 1 }
      return { state: 'probation', failedInRow: 0, ejections: standing.ejections, good: 0 }
    default:
      return isReady ? standing : eject(standing, 'unready')
  }
}

/** `othersSucceed`: a usable pod of the pool has succeeded since this pod's failures began, so the pod is to blame. */
export function afterAnswer(standing: Standing, outcome: Outcome, othersSucceed: () => boolean): Standing {
  if (!isUsable(standing)) return standing
  if (outcome === 'timeout' || outcome === 'unavailable') return eject(standing, outcome)
  if (outcome === 'failed') {
    const failedInRow = standing.failedInRow + 1
    if (failedInRow >= failedInRowMax && othersSucceed()) return eject(standing, 'failed')
    return { ...standing, failedInRow }
  }
  if (standing.state === 'probation' && standing.good + 1 < goodAnswersAsked) {
    return { ...standing, failedInRow: 0, good: standing.good + 1 }
  }
  return standing.state === 'serving' && standing.failedInRow === 0
    ? standing
    : { state: 'serving', failedInRow: 0, ejections: 0 }
}

function eject({ ejections }: { readonly ejections: number }, reason: EjectionReason): Standing {
  return { state: 'ejected', reason, ejections: ejections + 1, misses: 0 }
}

/** Probe period of a usable pod, and longest pause for an unready one. */
export type ProbePauses = { readonly usableMs: number; readonly missingMs: number }

/**
 * Milliseconds until the next probe:
 *
 *   ejected for the 1st, 2nd, 3rd … time in a row   1, 2, 4, 8, 16, 30, 30 … s, then doubling while it is not ready
 *   joining, not ready                              0.25, 0.5, 1 … s
 */
export function pauseMs(standing: Standing, { usableMs, missingMs }: ProbePauses): number {
  switch (standing.state) {
    case 'joining':
      return standing.misses === 0 ? 0 : Math.min(missingMs, double(joiningPauseMs, standing.misses - 1))
    case 'ejected': {
      const ownMs = Math.min(longestPauseMs, double(firstPauseMs, standing.ejections - 1))
      // A missing pod is not a repeated failure; the mode decides how soon a restarting server is probed.
      return standing.misses === 0 ? ownMs : Math.min(missingMs, double(ownMs, standing.misses))
    }
    default:
      return usableMs
  }
}

const double = (ms: number, times: number): number => ms * 2 ** Math.min(times, 10)
