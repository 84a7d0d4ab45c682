// Sessions of two tabs of one browser, before a service that answers over HTTP.
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { ProofRequest } from './proof-request.ts'
import { createSession, type Session, type SessionStore, type User } from './session.ts'

const userOf = (id: string): User => ({
  ...{ id, email: `${id}@example.com`, name: id, locale: 'en', timeZone: 'UTC', avatarUrl: null },
  ...{ emailVerified: true, mfaEnabled: false, createdAt: '2026-01-01T00:00:00.000Z' },
})

/** A token that only the fake service reads again; the console reads its claims alone. */
function tokenOf(sub: string, ws = `${sub}-home`): string {
  const claims = { sub, ws, role: 'owner', serial: tokens++ }
  return `head.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.signature`
}
let tokens = 0

const claimsOf = (token: string): { sub: string; ws: string } =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

type Service = {
  readonly baseUrl: string
  /** Person and workspace of the cookie; undefined: the browser has none. */
  cookie: { sub: string; ws?: string } | undefined
  /** Access tokens that still open something. */
  readonly valid: Set<string>
  /** Paths of requests in their order, those of refreshes included. */
  readonly requests: string[]
  isDown: boolean
  /** Balances are refused until a proof. */
  needsProof: boolean
  /** A refresh is answered once so many other requests were refused. */
  refreshAfterRefusals: number
}

/** The operations that a session needs, with the cookie of the only browser. */
async function startService(): Promise<Service> {
  const service: { -readonly [Name in keyof Service]: Service[Name] } = {
    ...{ baseUrl: '', cookie: undefined, valid: new Set(), requests: [], isDown: false, needsProof: false },
    refreshAfterRefusals: 0,
  }
  const refused = new EventEmitter()
  const answer = (request: IncomingMessage): [status: number, data: unknown] => {
    const path = (request.url ?? '').replace('/api/v1', '')
    service.requests.push(path)
    const token = request.headers.authorization?.replace('Bearer ', '')
    if (path === '/app/auth/refresh') {
      if (service.cookie === undefined) return [401, undefined]
      const accessToken = tokenOf(service.cookie.sub, service.cookie.ws)
      service.valid.add(accessToken)
      return [200, { accessToken }]
    }
    if (token === undefined || !service.valid.has(token)) return [401, undefined]
    const { sub } = claimsOf(token)
    if (path === '/app/auth/sessions/current/proof') service.needsProof = false
    if (path === '/app/credits/balance' && service.needsProof) return [403, undefined]
    if (path === '/app/auth/logout') service.cookie = undefined
    if (path === '/app/users/profile') return [200, userOf(sub)]
    const switching = /^\/app\/users\/workspaces\/(.+)\/switch$/.exec(path)
    if (switching) {
      const accessToken = tokenOf(sub, switching[1])
      service.valid.add(accessToken)
      return [200, { accessToken }]
    }
    return [200, { readBy: sub }]
  }
  const server = createServer(async (request, response) => {
    if (service.isDown) return void request.socket.destroy()
    const isRefresh = request.url?.endsWith('/refresh')
    while (isRefresh && service.refreshAfterRefusals > 0) await once(refused, 'one')
    const [status, data] = answer(request)
    response.writeHead(status, { 'content-type': 'application/json' })
    const proof = { reason: 'proof_required', maxAgeSeconds: 600, fields: ['password', 'code'] }
    const error =
      status === 403
        ? { code: 'AUTH_FORBIDDEN', message: 'Prove it.', details: proof }
        : { code: 'AUTH_INVALID', message: 'Sign in again.', details: {} }
    response.end(JSON.stringify(status === 200 ? { success: true, data } : { success: false, error, requestId: 'r' }))
    if (status !== 401 || isRefresh) return
    service.refreshAfterRefusals -= 1
    // After the answer has left.
    setImmediate(() => refused.emit('one'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  service.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`
  return service
}

const settled = (store: SessionStore, isSettled: (session: Session) => boolean): Promise<Session> =>
  new Promise((resolve) => {
    const look = (): void => {
      if (!isSettled(store.get())) return
      stop()
      resolve(store.get())
    }
    const stop = store.subscribe(look)
    look()
  })

async function proofRequestOf(store: SessionStore): Promise<ProofRequest> {
  await settled(store, () => store.proofRequest() !== undefined)
  return store.proofRequest() as ProofRequest
}

const isOf = (sub: string) => (session: Session) => session.kind === 'member' && session.user.id === sub
const read = (store: SessionStore): Promise<unknown> => store.app.request('GET', '/app/credits/balance')

describe('the session of the console', () => {
  let page: EventTarget
  let kept: Map<string, string>

  beforeEach(() => {
    page = new EventTarget()
    kept = new Map()
    const channels: BroadcastChannel[] = []
    const Real = BroadcastChannel
    vi.stubGlobal(
      'BroadcastChannel',
      class extends Real {
        constructor(name: string) {
          super(name)
          channels.push(this)
        }
      },
    )
    vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
    vi.stubGlobal('localStorage', {
      getItem: (name: string) => kept.get(name) ?? null,
      setItem: (name: string, value: string) => kept.set(name, value),
      removeItem: (name: string) => kept.delete(name),
    })
    onTestFinished(() => {
      for (const channel of channels) channel.close()
    })
  })
  afterEach(() => vi.unstubAllGlobals())

  const signIn = async (service: Service, tab: SessionStore, sub: string): Promise<void> => {
    service.cookie = { sub }
    const accessToken = tokenOf(sub)
    service.valid.add(accessToken)
    await tab.signIn({ accessToken, user: userOf(sub) })
  }
  /** Two tabs with the session of one person. */
  const signedInTabs = async (sub: string) => {
    const service = await startService()
    const tab = createSession(service.baseUrl)
    await signIn(service, tab, sub)
    const other = createSession(service.baseUrl)
    await other.start()
    expect(other.get()).toMatchObject({ kind: 'member', workspaceId: `${sub}-home` })
    return { service, tab, other }
  }

  it('asks for nothing in a browser without a session', async () => {
    const service = await startService()
    const tab = createSession(service.baseUrl)
    await tab.start()
    expect(tab.get()).toEqual({ kind: 'none' })
    expect(service.requests).toEqual([])
  })

  it('keeps no token where scripts could read it', async () => {
    await signedInTabs('ann')
    expect([...kept]).toEqual([['matte-signed-in', '1']])
  })

  it('is renewed once for all requests of a tab that the service refused', async () => {
    const { service, tab } = await signedInTabs('ann')
    service.valid.clear()
    service.requests.length = 0
    service.refreshAfterRefusals = 3
    expect(await Promise.all([read(tab), read(tab), read(tab)])).toEqual(Array(3).fill({ readBy: 'ann' }))
    expect(service.requests.filter((path) => path === '/app/auth/refresh')).toHaveLength(1)
  })

  it('expires if the service has revoked it, and goes on in the same workspace after the password', async () => {
    const { service, tab } = await signedInTabs('ann')
    tab.switchTo(tokenOf('ann', 'team'))
    service.valid.clear()
    service.cookie = undefined
    await expect(read(tab)).rejects.toMatchObject({ status: 401 })
    expect(tab.get()).toMatchObject({ kind: 'member', workspaceId: 'team', isExpired: true })

    service.requests.length = 0
    await expect(read(tab)).rejects.toMatchObject({ status: 401 })
    expect(service.requests).toEqual(['/app/credits/balance'])

    await signIn(service, tab, 'ann')
    expect(tab.get()).toMatchObject({ kind: 'member', workspaceId: 'team' })
    expect(tab.get()).not.toHaveProperty('isExpired')
    expect(await read(tab)).toEqual({ readBy: 'ann' })
  })

  it('ends in every tab by signing out in one', async () => {
    const { service, tab, other } = await signedInTabs('ann')
    await other.signOut()
    expect(await settled(tab, ({ kind }) => kind === 'none')).toEqual({ kind: 'none', reason: 'signed-out' })
    expect(service.requests.at(-1)).toBe('/app/auth/logout')
    expect(kept.size).toBe(0)
    await expect(read(tab)).rejects.toMatchObject({ status: 401 })
  })

  it('is forgotten by signing out even if the service cannot be reached', async () => {
    const { service, tab } = await signedInTabs('ann')
    service.isDown = true
    await tab.signOut()
    expect(tab.get()).toEqual({ kind: 'none', reason: 'signed-out' })
  }, 30_000)

  it('follows the next person to sign in, from another tab', async () => {
    const { service, tab, other } = await signedInTabs('ann')
    await signIn(service, other, 'bob')
    await settled(tab, isOf('bob'))
    expect(await read(tab)).toEqual({ readBy: 'bob' })
  })

  it("sends a request of one person never again with another one's token", async () => {
    const { service, tab } = await signedInTabs('ann')
    service.valid.clear()
    service.cookie = { sub: 'bob' }
    service.requests.length = 0
    await expect(read(tab)).rejects.toMatchObject({ status: 401 })
    expect(service.requests.filter((path) => path === '/app/credits/balance')).toHaveLength(1)
    expect(tab.get()).toMatchObject({ user: { id: 'bob' } })
  })

  it('asks for one proof for all requests that need it, and sends them again', async () => {
    const { service, tab } = await signedInTabs('ann')
    service.needsProof = true
    const both = Promise.all([read(tab), read(tab)])
    const request = await proofRequestOf(tab)
    expect(request.fields).toEqual(['password', 'code'])
    await tab.app.prove({ password: 'violet tractor' })
    request.settle(true)
    expect(await both).toEqual([{ readBy: 'ann' }, { readBy: 'ann' }])
    expect(tab.proofRequest()).toBeUndefined()
  })

  it.each(['canceled', 'left to the next person', 'overtaken by the end of the session'])(
    'sends no request again after a proof that is %s',
    async (what) => {
      const { service, tab, other } = await signedInTabs('ann')
      service.needsProof = true
      const reading = expect(read(tab)).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
      const request = await proofRequestOf(tab)
      service.requests.length = 0
      if (what === 'canceled') request.settle(false)
      else if (what.startsWith('left')) await signIn(service, other, 'bob')
      else {
        service.valid.clear()
        service.cookie = undefined
        await expect(tab.app.prove({ password: 'violet tractor' })).rejects.toMatchObject({ status: 401 })
      }
      await reading
      expect(tab.proofRequest()).toBeUndefined()
      expect(service.requests).not.toContain('/app/credits/balance')
    },
  )

  it('resumes when the network is back', async () => {
    const { service } = await signedInTabs('ann')
    service.isDown = true
    const late = createSession(service.baseUrl)
    await late.start()
    expect(late.get()).toEqual({ kind: 'none', reason: 'unreachable' })
    expect(kept.size).toBe(1)
    service.isDown = false
    page.dispatchEvent(new Event('online'))
    await settled(late, isOf('ann'))
  }, 30_000)

  it('of a key stays as it is when a person signs out in another tab', async () => {
    const { service, tab, other } = await signedInTabs('ann')
    const byKey = createSession(service.baseUrl)
    byKey.signInByKey('a-key')
    // Channels get a message in the order of their creation, so this one gets it last.
    const last = new BroadcastChannel('matte-session')
    const told = new Promise((resolve) => last.addEventListener('message', resolve))
    await other.signOut()
    await told
    expect(tab.get()).toMatchObject({ kind: 'none' })
    expect(byKey.get()).toEqual({ kind: 'key' })
    expect(byKey.apiKey()).toBe('a-key')
  })
})
