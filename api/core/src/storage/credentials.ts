// Keys that requests to the object store are signed with: fixed ones of the settings, or keys of the pod's identity, which
// expire. This file caches and renews the second kind; identity-keys.ts fetches them.
import { orAborted } from '../runtime/race.ts'
import { StorageError } from './storage-error.ts'

export type StoreKeys = {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of temporary credentials: everything signed with it stops working when they expire. */
  readonly sessionToken?: string | undefined
  /** Absent: they do not expire. */
  readonly expiresAt?: Date | undefined
}

export type StoreCredentials = {
  /** Fixed keys; undefined if keys expire. */
  readonly fixed: StoreKeys | undefined
  /**
   * Keys that are valid now, and for `validMs` if the identity's session is that long.
   * @throws StorageError `unavailable` without valid keys
   */
  keys(validMs?: number): Promise<StoreKeys>
  /** Fetches keys again at the next call: the store refused these. */
  refused(keys: StoreKeys): void
}

/** Keys of the settings, or where to get them. */
export type KeysOrCredentials = StoreKeys | { readonly credentials: StoreCredentials }

export function credentialsOf(given: KeysOrCredentials): StoreCredentials {
  if ('credentials' in given) return given.credentials
  const { accessKeyId, secretAccessKey, sessionToken } = given
  const fixed = { accessKeyId, secretAccessKey, sessionToken }
  return { fixed, keys: async () => fixed, refused: () => undefined }
}

/** Keys for a request that its signal may end while they are fetched. */
export async function keysFor(credentials: StoreCredentials, signal?: AbortSignal): Promise<StoreKeys> {
  if (credentials.fixed !== undefined) return credentials.fixed
  return signal === undefined ? credentials.keys() : orAborted(credentials.keys(), signal)
}

/** Result for the keys of the last call, made again for others. */
export function withLastKeys<T>(make: (keys: StoreKeys) => T): (keys: StoreKeys) => T {
  let last: { readonly keys: StoreKeys; readonly made: T } | undefined
  return (keys) => {
    if (last?.keys !== keys) last = { keys, made: make(keys) }
    return last.made
  }
}

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
