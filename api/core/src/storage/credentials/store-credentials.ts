// Keys that requests to the object store are signed with: fixed ones of the settings, or keys of the pod's identity,
// which expire.
import { orAborted } from '../../runtime/race.ts'

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
  /** The store refused these keys: a later call fetches others, at the next call or after a pause. */
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
