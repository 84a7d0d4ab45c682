// Next action of a reflector, as a pure state machine: list, or watch from the last version.
//
//   listing ──listed──► watching ──watch ended──► watching, or listing when it cannot go on from there
//      └─── failed ──► listing
import { backoffMs } from './backoff.ts'
import { KubeError } from './http/kube-error.ts'

/** `failures`: consecutive short watches and failed lists. `silences`: consecutive watches that ended by silence. */
type Counted = { readonly failures: number; readonly silences: number }
export type Watching = Counted & { readonly state: 'watching'; readonly resourceVersion: string }
export type ReflectorState = Watching | (Counted & { readonly state: 'listing' })

export const startListing: ReflectorState = { state: 'listing', failures: 0, silences: 0 }

export const afterList = (counted: Counted, resourceVersion: string): Watching => ({
  ...counted,
  state: 'watching',
  resourceVersion,
})

export const afterFailedList = (state: ReflectorState): ReflectorState => ({ ...state, failures: state.failures + 1 })

export const afterEvent = (state: ReflectorState, resourceVersion: string | undefined): ReflectorState =>
  state.state === 'watching' && resourceVersion !== undefined ? { ...state, resourceVersion } : state

/** After a watch of this length an error counts as the first, and the retry is immediate. */
const stableMs = 5_000

/** A watch from a future version is silent, as after a restore of etcd. So a second silence leads to a list. */
export function afterWatch(state: ReflectorState, { reason, relist }: Ending, livedMs: number): ReflectorState {
  const silences = reason === 'idle' ? state.silences + 1 : 0
  const counted = { failures: livedMs >= stableMs ? 0 : state.failures + 1, silences }
  return relist || silences > 1 ? { ...counted, state: 'listing' } : { ...state, ...counted }
}

/** At most 10 s unless the server asks for more, so a restarted server is noticed soon. */
export function pauseMs({ failures }: ReflectorState, error: unknown): number {
  const askedMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0
  return Math.max(askedMs, backoffMs(failures, { baseMs: 200, maxMs: 10_000 }))
}

export const endReasons = [
  'ended',
  'idle',
  'cut',
  /** The last seen version is no longer in the server's history. */
  'gone',
  'refused',
  'unreadable',
  /** A comparing list found missed changes. */
  'drift',
] as const

export type EndReason = (typeof endReasons)[number]

export type Ending = {
  readonly reason: EndReason
  /** The next watch cannot continue from this one. */
  readonly relist: boolean
  readonly error?: unknown
}

/** Statuses of a temporary server problem; the copy stays valid. */
const passing: readonly number[] = [401, 403, 429, 500, 502, 503]

/** 504 needs a new list: it answers a resourceVersion that the server has not reached, as after a restore. */
export function endingOf(error: unknown): Ending {
  if (!(error instanceof KubeError)) return { reason: 'unreadable', relist: true, error }
  if (error.status === 410) return { reason: 'gone', relist: true, error }
  if (error.status > 0) return { reason: 'refused', relist: !passing.includes(error.status), error }
  const unreadable = error.reason === 'TooLarge' || error.reason === 'BadAnswer'
  return { reason: unreadable ? 'unreadable' : 'cut', relist: unreadable, error }
}
