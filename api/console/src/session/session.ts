// The session of the console: that of a member with an account, of an API key, or of an operator. Tokens stay in
// memory; the refresh token is in a cookie that scripts cannot read. A channel tells the other tabs of sign-in and
// sign-out.
import type { App } from 'matte-client/app'
import { MatteApp, MatteError } from 'matte-client/app'

export type User = App.Profile

export type Session =
  /** The first refresh is in progress. */
  | { readonly kind: 'starting' }
  | { readonly kind: 'none'; readonly reason?: 'expired' | 'signed-out' }
  | { readonly kind: 'member'; readonly user: User; readonly workspaceId: string; readonly role: string }
  | { readonly kind: 'key' }
  | { readonly kind: 'operator' }

/** Response of a sign-in in cookie mode. */
export type SignedIn = { readonly accessToken: string; readonly user: User }

export type SessionStore = {
  /** For `useSyncExternalStore`. */
  readonly get: () => Session
  readonly subscribe: (listener: () => void) => () => void
  readonly app: MatteApp
  readonly start: () => Promise<void>
  readonly signIn: (signedIn: SignedIn) => void
  readonly signInByKey: (apiKey: string) => void
  readonly signInAsOperator: (token: string) => void
  readonly signOut: () => Promise<void>
  /** After a change of the profile. */
  readonly updateUser: (user: User) => void
  /** Tokens of another workspace, after a switch. */
  readonly switchTo: (accessToken: string) => void
  readonly apiKey: () => string | undefined
}

/** Says that this browser has a session, so a visitor without one sends no refresh that must fail. No secret. */
const hintName = 'matte-signed-in'

type Message = 'signed-out' | 'signed-in' | 'switched'

export function createSession(baseUrl: string): SessionStore {
  let session: Session = { kind: 'starting' }
  let token: string | undefined
  let key: string | undefined
  let refreshing: Promise<boolean> | undefined
  const listeners = new Set<() => void>()
  const channel = new BroadcastChannel('matte-session')
  const app = new MatteApp({ baseUrl, accessToken: () => token, renew: () => renew() })

  const set = (next: Session): void => {
    session = next
    for (const listener of listeners) listener()
  }
  const tell = (message: Message): void => channel.postMessage(message)

  const signedIn = ({ accessToken, user }: SignedIn): void => {
    token = accessToken
    localStorage.setItem(hintName, '1')
    const { ws: workspaceId, role } = readClaims(accessToken)
    set({ kind: 'member', user, workspaceId, role })
  }

  const forget = (reason?: 'expired' | 'signed-out'): void => {
    token = undefined
    key = undefined
    localStorage.removeItem(hintName)
    set(reason === undefined ? { kind: 'none' } : { kind: 'none', reason })
  }

  /** One refresh at a time in this tab; the service gives a second tab the same tokens. */
  const renew = (): Promise<boolean> => {
    if (session.kind === 'key' || session.kind === 'operator') return Promise.resolve(false)
    refreshing ??= refresh().finally(() => {
      refreshing = undefined
    })
    return refreshing
  }

  async function refresh(): Promise<boolean> {
    // A separate client, because a 401 of the refresh must not start another refresh.
    const plain = new MatteApp({ baseUrl, accessToken: () => undefined, retriesMax: 2 })
    try {
      const { accessToken } = await plain.request('POST', '/app/auth/refresh', { body: {} as never })
      token = accessToken
      if (session.kind === 'member') set({ ...session, ...pick(readClaims(accessToken)) })
      return true
    } catch (error) {
      const isRefused = error instanceof MatteError && (error.status === 401 || error.status === 403)
      if (isRefused && session.kind !== 'none') forget(session.kind === 'starting' ? undefined : 'expired')
      return false
    }
  }

  async function resume(): Promise<void> {
    const hadSession = localStorage.getItem(hintName) !== null
    if (!hadSession || !(await renew()) || token === undefined) return forget()
    try {
      signedIn({ accessToken: token, user: await app.request('GET', '/app/users/profile') })
    } catch {
      forget()
    }
  }

  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data === 'signed-out' && session.kind === 'member') forget('signed-out')
    // Another tab has another person or workspace now, and the cookie is that of all tabs.
    if (data !== 'signed-out' && session.kind !== 'key' && session.kind !== 'operator') void resume()
  }

  return {
    get: () => session,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    app,
    start: resume,
    signIn: (given) => {
      signedIn(given)
      tell('signed-in')
    },
    signInByKey: (apiKey) => {
      key = apiKey
      set({ kind: 'key' })
    },
    signInAsOperator: (operatorToken) => {
      token = operatorToken
      set({ kind: 'operator' })
    },
    signOut: async () => {
      // The service ends the session. A page that cannot reach it still forgets the tokens.
      if (session.kind === 'member') await app.request('POST', '/app/auth/logout', { body: {} }).catch(() => undefined)
      if (session.kind === 'operator') await app.request('DELETE', '/operator/session').catch(() => undefined)
      const wasMember = session.kind === 'member'
      forget('signed-out')
      if (wasMember) tell('signed-out')
    },
    updateUser: (user) => {
      if (session.kind === 'member') set({ ...session, user })
    },
    switchTo: (accessToken) => {
      token = accessToken
      if (session.kind === 'member') set({ ...session, ...pick(readClaims(accessToken)) })
      tell('switched')
    },
    apiKey: () => key,
  }
}

type Claims = { readonly ws: string; readonly role: string }

/** Claims of the access token. The service checks its signature; the page only shows what it says. */
function readClaims(accessToken: string): Claims {
  const [, body = ''] = accessToken.split('.')
  return JSON.parse(atob(body.replaceAll('-', '+').replaceAll('_', '/'))) as Claims
}

/** Changes when data of the session before must not be used any more. */
export const scopeOf = (session: Session): string => (session.kind === 'member' ? session.workspaceId : session.kind)

const pick = ({ ws: workspaceId, role }: Claims) => ({ workspaceId, role })
