import { KubeError } from '../http/kube-error.ts'

/** Why a watch ended; `matte_kube_watch_restarts_total` counts by it. */
export const endReasons = [
  /** The server's own limit of time: nothing is wrong. */
  'ended',
  /** Not a byte for too long. */
  'idle',
  'cut',
  /** What we have seen last is no longer in the server's history. */
  'gone',
  'refused',
  'unreadable',
  /** A comparing list found what the watch had missed. */
  'drift',
] as const

export type EndReason = (typeof endReasons)[number]

export type Ending = {
  readonly reason: EndReason
  /** The next watch cannot go on from where this one was. */
  readonly relist: boolean
  readonly error?: unknown
}

/** The server is in trouble, or does not know us at the moment: what we know is as good as before. */
const passing: readonly number[] = [401, 403, 429, 500, 502, 503]

/**
 * What the error of a watch means for the next one. Not listed as passing, besides 410: 504, which is the answer to a
 * resourceVersion that the server has not reached (its store was set back), 400 and 404.
 */
export function endingOf(error: unknown): Ending {
  if (!(error instanceof KubeError)) return { reason: 'unreadable', relist: true, error }
  if (error.status === 410) return { reason: 'gone', relist: true, error }
  if (error.status > 0) return { reason: 'refused', relist: !passing.includes(error.status), error }
  const unreadable = error.reason === 'TooLarge' || error.reason === 'BadAnswer'
  return { reason: unreadable ? 'unreadable' : 'cut', relist: unreadable, error }
}
