// Cache of keys that expire. It renews them before they do; identity-keys.ts fetches them.
import { StorageError } from '../storage-error.ts'
import type { StoreCredentials, StoreKeys } from './store-credentials.ts'

/** Background renewal begins so long before keys expire: an upload link lives 15 minutes, and 5 are for failures. */
const renewBeforeMs = 20 * 60_000
/** Keys with less time are not used: a request may be that long under way. */
const leastMs = 60_000
/** Between two renewals of keys that still work; a session may be shorter than `renewBeforeMs`. */
const renewEveryMs = 60_000
/** Between two fetches without usable keys: requests in between fail with the last error. */
const retryEveryMs = 1_000

type Held = {
  readonly keys: StoreKeys | undefined
  /** Time of the last fetch that began; -Infinity before the first. */
  readonly fetchedAtMs: number
  readonly failed: boolean
}

/** Next step for a caller. `wait`: for a fetch. `renew`: use the keys and fetch new ones meanwhile. */
export function decideKeys({ keys, fetchedAtMs, failed }: Held, nowMs: number, validMs = leastMs) {
  const leftMs = keys === undefined ? -Infinity : (keys.expiresAt?.getTime() ?? Infinity) - nowMs
  const sinceMs = nowMs - fetchedAtMs
  if (leftMs >= Math.max(renewBeforeMs, validMs)) return 'use'
  if (leftMs < leastMs) return failed && sinceMs < retryEveryMs ? 'fail' : 'wait'
  if (sinceMs < renewEveryMs) return 'use'
  return leftMs < validMs ? 'wait' : 'renew'
}

type Options = {
  readonly fetchKeys: () => Promise<StoreKeys>
  /** Milliseconds since the Unix epoch, of the same clock as the expiry of keys. */
  readonly nowMs: () => number
  /** Called for each fetch that failed. */
  readonly fetchFailed: (error: unknown) => void
}

/** Fetches at first use; callers at the same time share one fetch. */
export function renewedCredentials({ fetchKeys, nowMs, fetchFailed }: Options): StoreCredentials {
  let held: Held = { keys: undefined, fetchedAtMs: -Infinity, failed: false }
  let error: unknown
  let fetching: Promise<void> | undefined

  async function fetchOnce(): Promise<void> {
    held = { ...held, fetchedAtMs: nowMs() }
    try {
      held = { ...held, keys: await fetchKeys(), failed: false }
    } catch (caught) {
      error = caught
      held = { ...held, failed: true }
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
      const isUsable = keys !== undefined && (keys.expiresAt?.getTime() ?? Infinity) > nowMs()
      if (isUsable) return keys
      throw new StorageError('unavailable', 'no credentials for the object store', error)
    },
    refused: (keys) => {
      if (held.keys === keys) held = { ...held, keys: undefined }
    },
  }
}
