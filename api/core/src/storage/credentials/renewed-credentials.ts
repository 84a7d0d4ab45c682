// Cache of keys that expire. It renews them before they do; identity-keys.ts fetches them.
import { StorageError } from '../storage-error.ts'
import type { StoreCredentials, StoreKeys } from './store-credentials.ts'

/** Background renewal begins so long before keys expire: an upload link lives 15 minutes, and 5 are for failures. */
const renewBeforeMs = 20 * 60_000
/** Keys with less time are not used: a request may be that long under way. */
const leastMs = 60_000
/** Between two renewals of keys that still work; a session may be shorter than `renewBeforeMs`. */
const renewEveryMs = 60_000
/**
 * Between two fetches for keys that the store refuses, or that come with less than `leastMs`: 2 a minute in each
 * process. AWS takes seconds to make a new role known, so asking more often only loads the token service. Requests in
 * between use the keys and fail with the store's own refusal.
 */
const unfitEveryMs = 30_000
/**
 * After fetches that failed: 1 s, doubled up to 40 s, plus up to half of it at random, so 1 s to 60 s. A short failure
 * costs a second. In a long one a process asks about once in 50 s, and no two of them in step.
 */
const retryFirstMs = 1_000
const retryLastMs = 40_000

/** Wait after the last of `failures` in a row; `random` is from 0 to 1. */
export const retryAfterMs = (failures: number, random: number): number =>
  Math.min(retryFirstMs * 2 ** (failures - 1), retryLastMs) * (1 + random / 2)

type Held = {
  readonly keys: StoreKeys | undefined
  /** The store has refused `keys`. */
  readonly refused: boolean
  /** Time of the last fetch that began; -Infinity before the first. */
  readonly fetchedAtMs: number
  /** Time of the last fetch that replaced refused keys; -Infinity before the first. */
  readonly replacedAtMs: number
  /** Fetches in a row that failed. */
  readonly failures: number
  /** No fetch before this time: the last one failed, or gave keys with little time. */
  readonly retryAtMs: number
}

const leftMsOf = (keys: StoreKeys | undefined, nowMs: number): number =>
  keys === undefined ? -Infinity : (keys.expiresAt?.getTime() ?? Infinity) - nowMs

/** Next step for a caller. `wait`: for a fetch. `renew`: use the keys and fetch new ones meanwhile. */
export function decideKeys(held: Omit<Held, 'failures'>, nowMs: number, validMs = leastMs) {
  const leftMs = leftMsOf(held.keys, nowMs)
  if (!held.refused && leftMs >= Math.max(renewBeforeMs, validMs)) return 'use'
  if (nowMs < held.retryAtMs) return leftMs > 0 ? 'use' : 'fail'
  if (leftMs <= 0) return 'wait'
  if (held.refused) return nowMs - held.replacedAtMs < unfitEveryMs ? 'use' : 'wait'
  if (leftMs < leastMs) return 'wait'
  if (nowMs - held.fetchedAtMs < renewEveryMs) return 'use'
  return leftMs < validMs ? 'wait' : 'renew'
}

type Options = {
  readonly fetchKeys: () => Promise<StoreKeys>
  /** Milliseconds since the Unix epoch, of the same clock as the expiry of keys. */
  readonly nowMs: () => number
  /** Called for each fetch that failed. */
  readonly fetchFailed: (error: unknown) => void
  /** From 0 to 1, as Math.random. */
  readonly random: () => number
}

const nothingHeld: Held = {
  ...{ keys: undefined, refused: false, failures: 0 },
  ...{ fetchedAtMs: -Infinity, replacedAtMs: -Infinity, retryAtMs: -Infinity },
}

/** Fetches at first use; callers at the same time share one fetch. */
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
      const retryAtMs = leftMs < leastMs ? atMs + Math.min(leftMs, unfitEveryMs) : -Infinity
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
  'the keys of this pod had expired when they came. Compare the clock of its node with that of the token service.'
