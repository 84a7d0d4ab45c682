// What a reflector does next, as a pure state machine: list, or watch from where the last watch was.
//
//   listing ──listed──► watching ──watch ended──► watching, or listing when it cannot go on from there
//      └─── failed ──► listing
import { backoffMs } from '../backoff.ts'
import { KubeError } from '../http/kube-error.ts'
import type { Ending } from './watch-ending.ts'

/** `failures`: short watches and failed lists in a row. `silences`: watches in a row that ended in silence. */
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

/** The next watch begins after what this one has brought. */
export const afterEvent = (state: ReflectorState, resourceVersion: string | undefined): ReflectorState =>
  state.state === 'watching' && resourceVersion !== undefined ? { ...state, resourceVersion } : state

/** A watch that lasted so long was a good one: the next error is a new one and its first try comes at once. */
const stableMs = 5_000

/**
 * A watch from a version that is still to come is silent, not refused: so it is after the API server's store was set
 * back to an earlier state. Silence right after silence therefore is not met with the same version again.
 */
export function afterWatch(state: ReflectorState, { reason, relist }: Ending, livedMs: number): ReflectorState {
  const silences = reason === 'idle' ? state.silences + 1 : 0
  const counted = { failures: livedMs >= stableMs ? 0 : state.failures + 1, silences }
  return relist || silences > 1 ? { ...counted, state: 'listing' } : { ...state, ...counted }
}

/** At most ten seconds, unless the server asks for more: one that is back after a restart shall not be waited for. */
export function pauseMs({ failures }: ReflectorState, error: unknown): number {
  const askedMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0
  return Math.max(askedMs, backoffMs(failures, { baseMs: 200, maxMs: 10_000 }))
}
