// The session of the console: that of a member with an account, of an API key, or of an operator. Tokens stay in
// memory; the refresh token is in a cookie that scripts cannot read. A channel tells the other tabs of sign-in and
// sign-out.
import type { App } from 'matte-client/app'
import { MatteApp, MatteError } from 'matte-client/app'
import { createProofRequests, type ProofRequest } from './proof-request.ts'

export type User = App.Profile

export type Member = {
  readonly kind: 'member'
  readonly user: User
  readonly workspaceId: string
  readonly role: string
  /** The service refused to renew the session. The page stays, and a dialog asks for the password. */
  readonly isExpired?: true
}

export type Session =
  /** The first refresh is in progress. */
  | { readonly kind: 'starting' }
  /** `unreachable`: the service did not answer, so the session may still exist. */
  | { readonly kind: 'none'; readonly reason?: 'signed-out' | 'unreachable' }
  | Member
  | { readonly kind: 'key' }
  | { readonly kind: 'operator' }

/** Response of a sign-in in cookie mode. */
export type SignedIn = { readonly accessToken: string; readonly user: User }

export type SessionStore = {
  /** For `useSyncExternalStore`. */
  readonly get: () => Session
  readonly subscribe: (listener: () => void) => () => void
  readonly app: MatteApp
  /** The service asks for a proof of the person before it goes on. */
  readonly proofRequest: () => ProofRequest | undefined
  /** Resumes the session of this browser. */
  readonly start: () => Promise<void>
  /** After an expired session the same person goes on in the same workspace. */
  readonly signIn: (signedIn: SignedIn) => Promise<void>
  readonly signInByKey: (apiKey: string) => void
  readonly signInAsOperator: (token: string) => void
  readonly signOut: () => Promise<void>
  /** Forgets a session that the service has ended already, in every tab. */
  readonly leave: () => void
  /** After a change of the profile. */
  readonly updateUser: (user: User) => void
  /** Reads workspace and role again, as after a change of the role. */
  readonly renew: () => Promise<unknown>
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
  let renewing: Promise<boolean> | undefined
  const listeners = new Set<() => void>()
  const channel = new BroadcastChannel('matte-session')
  const notify = (): void => {
    for (const listener of listeners) listener()
  }
  const proofs = createProofRequests(notify)
  const app = new MatteApp({
    ...{ baseUrl, accessToken: () => token, renew: () => renew() },
    onProofRequired: (required) => proofs.ask(required),
  })

  const set = (next: Session): void => {
    // A request of one person must not be repeated for another, nor in another workspace.
    const isOther = identityOf(next) !== identityOf(session)
    if (isOther || (next.kind === 'member' && next.isExpired)) proofs.current()?.settle(false)
    session = next
    notify()
  }
  const tell = (message: Message): void => channel.postMessage(message)

  const signedIn = ({ accessToken, user }: SignedIn): void => {
    token = accessToken
    key = undefined
    localStorage.setItem(hintName, '1')
    set({ kind: 'member', user, ...placeOf(readClaims(accessToken)) })
  }

  const forget = (reason?: 'signed-out'): void => {
    token = undefined
    key = undefined
    set(reason === undefined ? { kind: 'none' } : { kind: 'none', reason })
  }

  /** The service has no session of this browser. */
  const drop = (reason?: 'signed-out'): void => {
    localStorage.removeItem(hintName)
    forget(reason)
  }

  /** One refresh at a time in this tab; the service gives a second tab the same tokens. */
  const renew = (): Promise<boolean> => {
    if (session.kind !== 'member' || session.isExpired) return Promise.resolve(false)
    renewing ??= renewOnce(session).finally(() => {
      renewing = undefined
    })
    return renewing
  }

  /** False also if the cookie is now that of another person or workspace: the request must not be repeated there. */
  async function renewOnce({ user, workspaceId }: Member): Promise<boolean> {
    const accessToken = await refresh()
    if (session.kind !== 'member') return false
    if (accessToken === undefined) {
      token = undefined
      set({ ...session, isExpired: true })
      return false
    }
    await adopt(accessToken)
    const claims = readClaims(accessToken)
    return claims.sub === user.id && claims.ws === workspaceId
  }

  /** The new access token; undefined if there is no session. @throws MatteError if the service does not say */
  async function refresh(): Promise<string | undefined> {
    // A separate client, because a 401 of the refresh must not start another refresh.
    const plain = new MatteApp({ baseUrl, accessToken: () => undefined, retriesMax: 2 })
    try {
      return (await plain.request('POST', '/app/auth/refresh', { body: {} })).accessToken
    } catch (error) {
      // 400: the request had no cookie.
      if (error instanceof MatteError && [400, 401, 403].includes(error.status ?? 0)) return undefined
      throw error
    }
  }

  /** Takes token and user at once, so no request of one person carries the token of another. */
  async function adopt(accessToken: string): Promise<void> {
    const isKnown = session.kind === 'member' && session.user.id === readClaims(accessToken).sub
    const plain = new MatteApp({ baseUrl, accessToken: () => accessToken })
    const user = isKnown ? undefined : await plain.request('GET', '/app/users/profile')
    if (user !== undefined) return signedIn({ accessToken, user })
    if (session.kind === 'member') signedIn({ accessToken, user: session.user })
  }

  /** A sign-in leads to the personal workspace. The token for the wanted one, unless the service refuses it. */
  async function returnTo(workspaceId: string | undefined, accessToken: string): Promise<string> {
    if (workspaceId === undefined || readClaims(accessToken).ws === workspaceId) return accessToken
    const plain = new MatteApp({ baseUrl, accessToken: () => accessToken })
    const [path, body] = [{ workspaceId }, { session: 'cookie' as const }]
    try {
      return (await plain.request('POST', '/app/users/workspaces/{workspaceId}/switch', { path, body })).accessToken
    } catch {
      return accessToken
    }
  }

  async function resume(): Promise<void> {
    try {
      const accessToken = await refresh()
      if (accessToken === undefined) return drop()
      await adopt(accessToken)
    } catch {
      if (session.kind !== 'member') set({ kind: 'none', reason: 'unreachable' })
    }
  }

  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (session.kind === 'key' || session.kind === 'operator') return
    // After a sign-in or a switch the cookie of all tabs is that of another person or workspace. The hint of the other
    // tab may arrive later than this message.
    if (data === 'signed-out') forget('signed-out')
    else void resume()
  }
  addEventListener('online', () => {
    if (session.kind === 'none' && session.reason === 'unreachable') void resume()
  })

  const leave = (): void => {
    if (session.kind === 'member') {
      drop('signed-out')
      tell('signed-out')
    } else forget('signed-out')
  }

  return {
    get: () => session,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    app,
    proofRequest: proofs.current,
    start: () => {
      set({ kind: 'starting' })
      return localStorage.getItem(hintName) === null ? Promise.resolve(forget()) : resume()
    },
    signIn: async (given) => {
      const place = session.kind === 'member' && session.user.id === given.user.id ? session.workspaceId : undefined
      signedIn({ ...given, accessToken: await returnTo(place, given.accessToken) })
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
      leave()
    },
    leave,
    updateUser: (user) => {
      if (session.kind === 'member') set({ ...session, user })
    },
    renew,
    switchTo: (accessToken) => {
      if (session.kind === 'member') signedIn({ accessToken, user: session.user })
      tell('switched')
    },
    apiKey: () => key,
  }
}

type Claims = { readonly sub: string; readonly ws: string; readonly role: string }

/** Claims of the access token. The service checks its signature; the page only shows what it says. */
function readClaims(accessToken: string): Claims {
  const [, body = ''] = accessToken.split('.')
  return JSON.parse(atob(body.replaceAll('-', '+').replaceAll('_', '/'))) as Claims
}

const placeOf = ({ ws: workspaceId, role }: Claims) => ({ workspaceId, role })

/** Owner of the data on the page. It changes with the person and the workspace. */
export const identityOf = (session: Session): string =>
  session.kind === 'member' ? `${session.user.id}/${session.workspaceId}` : session.kind
