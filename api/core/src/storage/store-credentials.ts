import { orAborted } from '../runtime/race.ts'

export type StoreKeys = {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** For temporary credentials: signatures expire with them. */
  readonly sessionToken?: string | undefined
  readonly expiresAt?: Date | undefined
}

export type StoreCredentials = {
  readonly fixed: StoreKeys | undefined
  /**
   * Returns keys valid now, and for `validMs` if the session is that long.
   * @throws StorageError `unavailable` without valid keys
   */
  keys(validMs?: number): Promise<StoreKeys>
  /** Reports keys that the store rejected; a later call fetches new ones, after a pause if needed. */
  refused(keys: StoreKeys): void
}

export type KeysOrCredentials = StoreKeys | { readonly credentials: StoreCredentials }

export function credentialsOf(given: KeysOrCredentials): StoreCredentials {
  if ('credentials' in given) return given.credentials
  const { accessKeyId, secretAccessKey, sessionToken } = given
  const fixed = { accessKeyId, secretAccessKey, sessionToken }
  return { fixed, keys: async () => fixed, refused: () => undefined }
}

export async function keysFor(credentials: StoreCredentials, signal?: AbortSignal): Promise<StoreKeys> {
  if (credentials.fixed !== undefined) return credentials.fixed
  return signal === undefined ? credentials.keys() : orAborted(credentials.keys(), signal)
}

export function withLastKeys<T>(make: (keys: StoreKeys) => T): (keys: StoreKeys) => T {
  let last: { readonly keys: StoreKeys; readonly made: T } | undefined
  return (keys) => {
    if (last?.keys !== keys) last = { keys, made: make(keys) }
    return last.made
  }
}

const refusalCodes = new Set(['ExpiredToken', 'InvalidToken', 'InvalidAccessKeyId', 'TokenRefreshRequired'])

/** Whether this error code rejects temporary keys, so new ones may work. */
export const refusesKeys = (code: string | undefined): boolean => code !== undefined && refusalCodes.has(code)
