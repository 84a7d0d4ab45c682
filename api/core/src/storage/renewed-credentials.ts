import { StorageError } from './storage-error.ts'
import type { StoreCredentials, StoreKeys } from './store-credentials.ts'

/** Start of background renewal: an upload link lives 15 minutes, plus 5 for failures. */
const renewBeforeMs = 20 * 60_000
/** Keys with less time are not used, because a request may take as long. */
const leastMs = 60_000
/** Pause between renewals of working keys; a session may be shorter than `renewBeforeMs`. */
const renewEveryMs = 60_000
/** Pause between fetches for rejected or short-lived keys: AWS takes seconds to publish a new role. */
const rejectedEveryMs = 30_000
/** Backoff after failed fetches: 1 s doubled to 40 s, plus up to half as jitter. */
const retryFirstMs = 1_000
const retryLastMs = 40_000

/** Pause after `failures` in a row; `random` is from 0 to 1. */
export const retryAfterMs = (failures: number, random: number): number =>
  Math.min(retryFirstMs * 2 ** (failures - 1), retryLastMs) * (1 + random / 2)

type Held = {
  readonly keys: StoreKeys | undefined
  readonly refused: boolean
  readonly fetchedAtMs: number
  readonly replacedAtMs: number
  readonly failures: number
  readonly retryAtMs: number
}

const leftMsOf = (keys: StoreKeys | undefined, nowMs: number): number =>
  keys === undefined ? -Infinity : (keys.expiresAt?.getTime() ?? Infinity) - nowMs

/** Next step of a caller. `wait` for a fetch; `renew`: use the keys and fetch in the background. */
export function decideKeys(held: Omit<Held, 'failures'>, nowMs: number, validMs = leastMs) {
  const leftMs = leftMsOf(held.keys, nowMs)
  if (!held.refused && leftMs >= Math.max(renewBeforeMs, validMs)) return 'use'
  if (nowMs < held.retryAtMs) return leftMs > 0 ? 'use' : 'fail'
  if (leftMs <= 0) return 'wait'
  if (held.refused) return nowMs - held.replacedAtMs < rejectedEveryMs ? 'use' : 'wait'
  if (leftMs < leastMs) return 'wait'
  if (nowMs - held.fetchedAtMs < renewEveryMs) return 'use'
  return leftMs < validMs ? 'wait' : 'renew'
}

type Options = {
  readonly fetchKeys: () => Promise<StoreKeys>
  readonly nowMs: () => number
  readonly fetchFailed: (error: unknown) => void
  readonly random: () => number
}

const nothingHeld: Held = {
  ...{ keys: undefined, refused: false, failures: 0 },
  ...{ fetchedAtMs: -Infinity, replacedAtMs: -Infinity, retryAtMs: -Infinity },
}

export function renewedCredentials({ fetchKeys, nowMs, fetchFailed, random }: Options): StoreCredentials {
  let held = nothingHeld
  let error: unknown
  let fetching: Promise<void> | undefined

  async function fetchOnce(): Promise<void> {
    held = { ...held, fetchedAtMs: nowMs() }
    try {
      const keys = await fetchKeys()
      const atMs = nowMs()
      const leftMs = leftMsOf(keys, atMs)
      if (leftMs < retryFirstMs) throw new Error(expiredOnArrival)
      const retryAtMs = leftMs < leastMs ? atMs + Math.min(leftMs, rejectedEveryMs) : -Infinity
      const replacedAtMs = held.refused ? atMs : held.replacedAtMs
      held = { ...held, keys, refused: false, replacedAtMs, failures: 0, retryAtMs }
    } catch (caught) {
      error = caught
      const failures = held.failures + 1
      held = { ...held, failures, retryAtMs: nowMs() + retryAfterMs(failures, random()) }
      fetchFailed(caught)
    }
  }
  const fetchNow = (): Promise<void> => {
    fetching ??= fetchOnce().finally(() => {
      fetching = undefined
    })
    return fetching
  }

  return {
    fixed: undefined,
    keys: async (validMs) => {
      const step = decideKeys(held, nowMs(), validMs)
      if (step === 'wait') await fetchNow()
      else if (step === 'renew') void fetchNow()
      const { keys } = held
      if (keys !== undefined && leftMsOf(keys, nowMs()) > 0) return keys
      throw new StorageError('unavailable', 'no credentials for the object store', error)
    },
    refused: (keys) => {
      if (held.keys === keys) held = { ...held, refused: true }
    },
  }
}

const expiredOnArrival =
  'the pod identity returned expired keys. Compare the clock of its node with that of the token service.'
