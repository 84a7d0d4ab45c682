import { Matte } from 'matte-client'
import type { MatteApp } from 'matte-client/app'
import { createContext, useContext, useMemo, useSyncExternalStore } from 'react'
import type { ProofRequest } from './proof-request.ts'
import type { Session, SessionStore } from './session.ts'

export const SessionContext = createContext<SessionStore | undefined>(undefined)

export function useSessionStore(): SessionStore {
  const store = useContext(SessionContext)
  if (store === undefined) throw new Error('There is no session context.')
  return store
}

export function useSession(): Session {
  const store = useSessionStore()
  return useSyncExternalStore(store.subscribe, store.get)
}

export function useProofRequest(): ProofRequest | undefined {
  const store = useSessionStore()
  return useSyncExternalStore(store.subscribe, store.proofRequest)
}

/** Client of the App API, for members and operators. */
export const useApp = (): MatteApp => useSessionStore().app

/** Operations that members and API keys share. */
export type Service = Pick<
  Matte,
  'tasks' | 'batches' | 'uploads' | 'webhooks' | 'removeBackground' | 'removeBackgrounds'
>

/** The client of the session: that of the App API, or of the Developer API with the key that signed in. */
export function useService(): Service {
  const store = useSessionStore()
  const session = useSession()
  return useMemo(() => {
    const apiKey = session.kind === 'key' ? store.apiKey() : undefined
    return apiKey === undefined ? store.app : new Matte({ apiKey, baseUrl: baseUrl() })
  }, [session.kind, store])
}

/** The console is served by the API, so both have one origin. */
export const baseUrl = (): string => `${location.origin}/api/v1`
