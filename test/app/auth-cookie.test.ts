// Cookie sessions: a page of the service keeps its refresh token where scripts cannot read it.
import { decodeJwt } from 'jose'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { startApi } from '../support/api.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { type Account, givenAccount, newEmail, newPassword } from '../support/app/sign-in/accounts.ts'
import { tokensTo } from '../support/app/sign-in/inbox.ts'
import { enableSecondFactor } from '../support/app/sign-in/second-factor.ts'
import { letTokenPass } from '../support/app/sign-in/token-rows.ts'
import { openPage, type PageScript } from '../support/app/visitor/page-script.ts'
import { until } from '../support/until.ts'

type SignedIn = { readonly accessToken: string; readonly tokenType: string; readonly expiresIn: number }

const unlimited = { OPEN_REQUESTS_PER_MINUTE: '1000000' }
const world = useApi(unlimited)
const refused = { status: 401, code: 'AUTH_INVALID_TOKEN' }
const forbidden = { status: 403, code: 'AUTH_FORBIDDEN' }
const mode = { session: 'cookie' }

const signIn = (page: PageScript, { email, password }: Pick<Account, 'email' | 'password'>) =>
  page.post<SignedIn>('/auth/login', { email, password, ...mode })

async function signedIn() {
  const account = await givenAccount(world)
  const page = openPage(world.api.url)
  return { account, page, tokens: await signIn(page, account) }
}

const tokenOf = (page: PageScript): string => page.cookie()?.split('=')[1] ?? ''
const sidOf = ({ accessToken }: Pick<SignedIn, 'accessToken'>) => decodeJwt(accessToken).sid
const balance = (accessToken: string) => createAppClient(world.api.url, accessToken).call('GET', '/credits/balance')

describe('a cookie session', () => {
  it('puts the refresh token into a cookie that scripts cannot read, and not into the response', async () => {
    const { page, tokens } = await signedIn()
    expect(tokens).toEqual({
      accessToken: expect.any(String),
      tokenType: 'Bearer',
      expiresIn: 900,
      user: expect.anything(),
    })
    expect(page.lastSetCookie()).toMatch(
      /^matte-session=refresh_[\w-]{43}; Max-Age=2592000; Path=\/api\/v1\/app\/auth; HttpOnly; SameSite=Strict$/,
    )
  })

  it('begins with the verification of an address, too', async () => {
    const [email, password] = [newEmail(), newPassword()]
    const page = openPage(world.api.url)
    await page.post('/auth/register', { email, password })
    const [token] = await tokensTo(world, email, { template: 'verify-email' })
    const tokens = await page.post<SignedIn>('/auth/verify-email', { token, password, ...mode })
    expect(tokens).not.toHaveProperty('refreshToken')
    await expect(page.post<SignedIn>('/auth/refresh')).resolves.toMatchObject({ tokenType: 'Bearer' })
  })

  it('begins after the second factor, and not before', async () => {
    const account = await givenAccount(world)
    const factor = await enableSecondFactor(world.db, account.client, account.password)
    const page = openPage(world.api.url)
    const { mfaToken } = (await signIn(page, account)) as unknown as { readonly mfaToken: string }
    expect(page.cookie()).toBeUndefined()
    const tokens = await page.post('/auth/2fa/verify', { mfaToken, code: await factor.nextCode(), ...mode })
    expect(tokens).not.toHaveProperty('refreshToken')
    expect(tokenOf(page)).toMatch(/^refresh_/)
  })

  it('continues after a switch of the workspace', async () => {
    const { page, tokens } = await signedIn()
    const before = page.cookie()
    const path = `/users/workspaces/${String(decodeJwt(tokens.accessToken).ws)}/switch`
    const switched = await page.post<SignedIn>(path, mode, { accessToken: tokens.accessToken })
    expect(switched).not.toHaveProperty('refreshToken')
    expect(page.cookie()).not.toBe(before)
    const next = await page.post<SignedIn>('/auth/refresh')
    expect(sidOf(next)).toBe(sidOf(tokens))
  })

  it('is renewed with an empty body, and the token in the cookie changes', async () => {
    const { page, tokens } = await signedIn()
    const before = page.cookie()
    const next = await page.post<SignedIn>('/auth/refresh', {})
    expect(Object.keys(next).sort()).toEqual(['accessToken', 'expiresIn', 'tokenType'])
    expect(page.cookie()).not.toBe(before)
    expect(sidOf(next)).toBe(sidOf(tokens))
    await expect(balance(next.accessToken)).resolves.toMatchObject({ status: 200 })
  })

  it('continues in two tabs that refresh at once, and a late one ends it', async () => {
    const { page } = await signedIn()
    const spent = tokenOf(page)
    const other = page.otherTab()
    await Promise.all([page.post('/auth/refresh'), other.post('/auth/refresh')])
    expect(other.cookie()).toBe(page.cookie())
    const late = openPage(world.api.url, { cookie: `matte-session=${spent}` })
    await letTokenPass(world.db, { refreshToken: spent, seconds: 8 })
    await late.post('/auth/refresh')
    expect(late.cookie()).toBe(page.cookie())
    const stolen = openPage(world.api.url, { cookie: `matte-session=${spent}` })
    await letTokenPass(world.db, { refreshToken: spent, seconds: 11 })
    await expect(stolen.post('/auth/refresh')).rejects.toMatchObject(refused)
    await expect(page.post('/auth/refresh')).rejects.toMatchObject(refused)
    expect([stolen.cookie(), page.cookie()]).toEqual([undefined, undefined])
  })

  it('does not touch tokens in bodies: those win over the cookie and stay in responses', async () => {
    const { account, page } = await signedIn()
    const before = page.cookie()
    const next = await page.post('/auth/refresh', { refreshToken: account.tokens.refreshToken })
    expect(next).toHaveProperty('refreshToken')
    expect(page.cookie()).toBe(before)
    await expect(page.post('/auth/refresh')).resolves.not.toHaveProperty('refreshToken')
  })

  it('is absent without a cookie: a refresh is refused like one with an invalid token', async () => {
    await expect(openPage(world.api.url).post('/auth/refresh')).rejects.toMatchObject(refused)
    await expect(createAppClient(world.api.url).call('POST', '/auth/refresh', { body: {} })).rejects.toMatchObject(
      refused,
    )
    const page = openPage(world.api.url, { cookie: 'matte-session=refresh_unknown' })
    await expect(page.post('/auth/refresh')).rejects.toMatchObject(refused)
    expect(page.cookie()).toBeUndefined()
  })
})

describe('signing out of a cookie session', () => {
  it('ends it by the cookie alone and deletes the cookie', async () => {
    const { page, tokens } = await signedIn()
    const stolen = page.otherTab()
    await expect(page.post('/auth/logout')).resolves.toEqual({ status: 'signed_out', endedSessions: 1 })
    expect(page.cookie()).toBeUndefined()
    await expect(stolen.post('/auth/refresh')).rejects.toMatchObject(refused)
    await until('the access token is refused', () =>
      balance(tokens.accessToken).then(
        () => false,
        ({ status }: { status: number }) => status === 401,
      ),
    )
  })

  it('deletes a cookie of a session that has ended elsewhere', async () => {
    const { account, page } = await signedIn()
    await account.client.call('POST', '/auth/logout-all')
    await expect(page.post('/auth/logout')).rejects.toMatchObject(refused)
    expect(page.cookie()).toBeUndefined()
  })

  it('leaves the cookie of another person, who signed in in another tab', async () => {
    const first = await signedIn()
    const second = await givenAccount(world)
    await signIn(first.page, second)
    const { accessToken } = first.tokens
    await first.page.post('/auth/logout', {}, { accessToken })
    await expect(first.page.post('/auth/refresh')).resolves.toMatchObject({ tokenType: 'Bearer' })
  })

  it('works when the session is revoked by its id: the next refresh is refused and deletes the cookie', async () => {
    const { account, page, tokens } = await signedIn()
    await account.client.call('DELETE', `/auth/sessions/${String(sidOf(tokens))}`)
    await expect(page.post('/auth/refresh')).rejects.toMatchObject(refused)
    expect(page.cookie()).toBeUndefined()
  })
})

describe('a page of another origin', () => {
  const foreign = ['https://evil.example', 'null', '', 'http://127.0.0.1:1', 'http://127.0.0.1.evil.example']

  it.each(foreign)('%s cannot begin, renew or end a cookie session', async (origin) => {
    const { account, page, tokens } = await signedIn()
    const before = page.cookie()
    const from = { origin }
    const { email, password } = account
    await expect(page.post('/auth/login', { email, password, ...mode }, from)).rejects.toMatchObject(forbidden)
    await expect(page.post('/auth/refresh', undefined, from)).rejects.toMatchObject(forbidden)
    await expect(page.post('/auth/logout', undefined, from)).rejects.toMatchObject(forbidden)
    const path = `/users/workspaces/${String(decodeJwt(tokens.accessToken).ws)}/switch`
    const { accessToken } = tokens
    await expect(page.post(path, mode, { ...from, accessToken })).rejects.toMatchObject(forbidden)
    expect(page.cookie()).toBe(before)
    await expect(page.post('/auth/refresh')).resolves.toMatchObject({ tokenType: 'Bearer' })
  })

  it('gets no credentials by CORS, even if its origin may call the API', async () => {
    const origin = 'https://app.example.com'
    const api = await startApi({ DATABASE_URL: world.databaseUrl, ...unlimited, CORS_ALLOWED_ORIGINS: origin })
    try {
      const { headers } = await fetch(`${api.url}/api/v1/app/auth/refresh`, { method: 'POST', headers: { origin } })
      expect(headers.get('access-control-allow-origin')).toBe(origin)
      expect(headers.has('access-control-allow-credentials')).toBe(false)
    } finally {
      await api.stop()
    }
  })
})

describe('the URL of the service', () => {
  it('may be any loopback name of the same port', async () => {
    const account = await givenAccount(world)
    const page = openPage(world.api.url, { origin: world.api.url.replace('127.0.0.1', 'localhost') })
    await signIn(page, account)
    await expect(page.post('/auth/refresh')).resolves.toMatchObject({ tokenType: 'Bearer' })
  })

  it('decides whether the cookie is marked secure', async () => {
    const account = await givenAccount(world)
    const origin = 'https://matte.example.com'
    const api = await startApi({ DATABASE_URL: world.databaseUrl, ...unlimited, PUBLIC_URL: origin })
    try {
      const page = openPage(api.url, { origin })
      await signIn(page, account)
      expect(page.lastSetCookie()).toMatch(/^__Secure-matte-session=refresh_.*; HttpOnly; Secure; SameSite=Strict$/)
      await expect(page.post('/auth/refresh')).resolves.toMatchObject({ tokenType: 'Bearer' })
      const elsewhere = openPage(api.url)
      await expect(signIn(elsewhere, account)).rejects.toMatchObject(forbidden)
    } finally {
      await api.stop()
    }
  })

  it('must be HTTPS elsewhere: the cookie would cross the network in plain text', async () => {
    const account = await givenAccount(world)
    const origin = 'http://matte.example.com'
    const api = await startApi({ DATABASE_URL: world.databaseUrl, ...unlimited, PUBLIC_URL: origin })
    try {
      const page = openPage(api.url, { origin, cookie: `matte-session=${account.tokens.refreshToken}` })
      await expect(signIn(page, account)).rejects.toMatchObject({
        status: 400,
        code: 'INVALID_PARAMS',
        details: { issues: [{ path: '/body/session', message: expect.stringContaining('plain HTTP') }] },
      })
      await expect(page.post('/auth/refresh')).rejects.toMatchObject(refused)
    } finally {
      await api.stop()
    }
  })
})

it('no refresh token of a cookie session reaches the log', async () => {
  const lines: string[] = []
  const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
  const account = await givenAccount(world)
  const api = await startApi({ DATABASE_URL: world.databaseUrl, ...unlimited, LOG_LEVEL: 'trace' }, logger)
  try {
    const page = openPage(api.url)
    await signIn(page, account)
    const [first, stolen] = [tokenOf(page), page.otherTab()]
    await page.post('/auth/refresh')
    const second = tokenOf(page)
    await letTokenPass(world.db, { refreshToken: first, seconds: 11 })
    await expect(stolen.post('/auth/refresh')).rejects.toMatchObject(refused)
    const text = lines.join('')
    expect(text).toContain('refresh token reused')
    for (const token of [first, second]) expect(text).not.toContain(token.slice(8, 24))
  } finally {
    await api.stop()
  }
})

it('a switch of the workspace needs no body, and an empty one with any content type is none', async () => {
  const { client, tokens } = await givenAccount(world)
  const path = `/users/workspaces/${String(decodeJwt(tokens.accessToken).ws)}/switch`
  for (const type of ['application/json', 'application/x-www-form-urlencoded']) {
    const { data } = await client.call('POST', path, { headers: { 'content-type': type } })
    expect(data).toHaveProperty('refreshToken')
  }
})
