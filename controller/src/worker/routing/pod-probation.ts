// The standing of one pod, as a pure state machine: whether it may get requests, how many at once, and when it is asked
// again. Time and effects are the list's (pod-list.ts).
//
//   joining ──probe good──► serving ──stall, error or bad probe──► ejected ──probe good──► probation
//                              ▲                                      ▲                      │   │
//                              └───────── three good answers ─────────┼──────────────────────┘   │
//                                                                     └────── any of the same ───┘
import type { InferenceError } from '../triton/inference-error.ts'

/** How an inference ended. */
export type Outcome = 'ok' | InferenceError['kind']

/** What inferences came to, or that a probe found the pod not ready. */
export const ejectionReasons = ['timeout', 'unavailable', 'failed', 'unready'] as const
type EjectionReason = (typeof ejectionReasons)[number]

export type Standing =
  /** Never used yet; `misses` probes have found it not ready. */
  | { readonly state: 'joining'; readonly misses: number }
  | { readonly state: 'serving'; readonly failedInRow: number; readonly ejections: 0 }
  /** Back, with one slot, until it has given `goodAnswersAsked` good answers. */
  | { readonly state: 'probation'; readonly failedInRow: number; readonly ejections: number; readonly good: number }
  | { readonly state: 'ejected'; readonly reason: EjectionReason; readonly ejections: number; readonly misses: number }

export const joining: Standing = { state: 'joining', misses: 0 }

/** One bad image fails everywhere, so a single failure says nothing of the pod. */
export const failedInRowMax = 3
/** Enough to tell a pod that works from one that answers probes only; few, since it has one slot meanwhile. */
export const goodAnswersAsked = 3

const firstPauseMs = 1_000
const longestPauseMs = 30_000
const joiningPauseMs = 250

export const isUsable = (standing: Standing): standing is Extract<Standing, { readonly failedInRow: number }> =>
  standing.state === 'serving' || standing.state === 'probation'

/** `isReady`: all that the pod is asked to serve can be used now. */
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

/**
 * `othersSucceed`: since this pod's present row of failures began, another usable pod of its pool has answered well.
 * Only then are failures the pod's own, and only then is there another to go on with.
 */
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

/** Ejections in a row, without good answers between them, double the pause. */
function eject({ ejections }: { readonly ejections: number }, reason: EjectionReason): Standing {
  return { state: 'ejected', reason, ejections: ejections + 1, misses: 0 }
}

/** Between two probes of a pod that is in use, and the longest between two of one that was found not ready. */
export type ProbePauses = { readonly usableMs: number; readonly missingMs: number }

/**
 * Milliseconds until the next probe.
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
      // A pod that is away is no failure that repeats: how soon a server that restarts is asked depends on the mode.
      return standing.misses === 0 ? ownMs : Math.min(missingMs, double(ownMs, standing.misses))
    }
    default:
      return usableMs
  }
}

const double = (ms: number, times: number): number => ms * 2 ** Math.min(times, 10)
