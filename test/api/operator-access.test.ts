// Every operation of operators with every kind of credential, and the credentials of operators on all other operations.
// Operations come from the service's own document, so new ones are covered.
import { createHash } from 'node:crypto'
import { buildDocument } from '@matte/generate/build-document'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { admin } from '../support/admin.ts'
import { startApi } from '../support/api.ts'
import { givenPerson } from '../support/app/people.ts'
import { until } from '../support/until.ts'
import { useApi } from './given.ts'

type Operation = {
  readonly method: string
  readonly path: string
  readonly 'x-access'?: string
  readonly security?: readonly Readonly<Record<string, unknown>>[]
}

const operatorToken = 'test-operator-token-with-more-than-32-random-bytes'
const world = useApi({ OPERATOR_TOKEN: operatorToken, OPEN_REQUESTS_PER_MINUTE: '1000000' })

const { paths } = (await buildDocument()) as { paths: Record<string, Record<string, Operation>> }
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
)
const ofOperators = operations.filter((operation) => operation['x-access'] === 'operator')
const ofOthers = operations.filter(
  ({ security = [], ...operation }) => operation['x-access'] !== 'operator' && security.length > 0,
)

type Sent = { readonly url?: string; readonly headers?: Record<string, string>; readonly body?: unknown }

async function send(method: string, path: string, { url = world.api.url, headers = {}, body }: Sent = {}) {
  const filled = path.replace(/\{(\w+)\}/g, '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1')
  const response = await fetch(`${url}${filled}`, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const { data, error } = (await response.json()) as { data?: Record<string, unknown>; error?: { code: string } }
  return { status: response.status, code: error?.code, data }
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const overview = '/api/v1/operator/overview'
const session = '/api/v1/operator/session'
const refusedToken = { status: 401, code: 'AUTH_INVALID_TOKEN' }

const linkCode = async (): Promise<string> => {
  const env = { DATABASE_URL: world.databaseUrl, PUBLIC_URL: world.api.url }
  const { url } = (await admin(['console-link'], env)) as { url: string }
  const { origin, pathname, hash, search } = new URL(url)
  expect([origin, pathname, search]).toEqual([world.api.url, '/operator', ''])
  return new URLSearchParams(hash.slice(1)).get('code') ?? ''
}
const exchange = (code: string, url?: string) => send('POST', session, { body: { code }, ...(url && { url }) })
const givenSession = async (): Promise<string> => String((await exchange(await linkCode())).data?.accessToken)

it('operations of operators are read-only, except the end of a session', () => {
  expect(ofOperators.map(({ method, path }) => `${method} ${path.replace('/api/v1/operator', '')}`).sort()).toEqual([
    'DELETE /session',
    'GET /decisions',
    'GET /endpoints/failing',
    'GET /invariants',
    'GET /overdue',
    'GET /overview',
    'GET /pools',
    'GET /pools/{namespace}/{name}/decisions',
    'GET /pools/{namespace}/{name}/samples',
    'GET /rollouts',
    'GET /session',
    'GET /workspaces',
  ])
  for (const { security } of ofOperators) expect(security).toEqual([{ operatorToken: [] }])
})

describe.each(ofOperators)('$method $path', ({ method, path }) => {
  const others: Record<string, Record<string, string>> = {}
  beforeAll(async () => {
    const { apiKey } = await world.caller({ plan: 'internal' })
    const { accessToken } = await givenPerson(world.db, world.api)
    others['no credential'] = {}
    others['an API key'] = { 'x-api-key': apiKey }
    others['an API key as token'] = bearer(apiKey).headers
    others['a token of a member'] = bearer(accessToken).headers
    others['a code that was not exchanged'] = bearer(await linkCode()).headers
    others['an unknown token'] = bearer(`operator_${'a'.repeat(43)}`).headers
    others['another token of the same length'] = bearer(operatorToken.replace('test', 'nope')).headers
    others['the token as API key'] = { 'x-api-key': operatorToken }
  })

  it.each([
    ...['no credential', 'an API key', 'an API key as token', 'a token of a member', 'an unknown token'],
    ...['a code that was not exchanged', 'another token of the same length', 'the token as API key'],
  ])('rejects %s', async (what) => {
    expect(await send(method, path, { headers: others[what] ?? {} })).toMatchObject(refusedToken)
  })

  it('admits the token of the settings', async () => {
    const { status } = await send(method, path, bearer(operatorToken))
    // Generated names of pools are unknown.
    expect(status).toBe(path.includes('{') ? 404 : 200)
  })
})

describe('credentials of operators', () => {
  it('open no other operation', async () => {
    const token = await givenSession()
    expect(ofOthers.length).toBeGreaterThan(100)
    for (const { method, path } of ofOthers) {
      for (const secret of [operatorToken, token]) {
        const headers = { ...bearer(secret).headers, 'x-api-key': secret }
        const { status, code } = await send(method, path, { headers })
        const optional = path.endsWith('/teams/invites/accept') // open, with an optional token
        if (!optional) expect({ method, path, status, code }).toMatchObject({ method, path, status: 401 })
      }
    }
  })

  it('count as failed credentials of their address', async () => {
    const limited = await startApi({ DATABASE_URL: world.databaseUrl, FAILED_CREDENTIALS_PER_MINUTE: '3' })
    // Earlier tests sent wrong tokens from this address.
    await sql`delete from rate_window`.execute(world.db)
    const statuses: number[] = []
    for (let sent = 0; sent < 9; sent++) {
      const wrong = bearer(`operator_${String(sent).repeat(43)}`)
      statuses.push((await send('GET', overview, { ...wrong, url: limited.url })).status)
    }
    await limited.stop()
    expect(statuses[0]).toBe(401)
    expect(statuses).toContain(429)
  })
})

describe('a link of matte-admin console-link', () => {
  it('gives a session once, which every replica accepts until it ends', async () => {
    const other = await startApi({ DATABASE_URL: world.databaseUrl })
    const code = await linkCode()
    const { status, data } = await exchange(code)
    expect(status).toBe(200)
    const token = String(data?.accessToken)
    const hours = (Date.parse(String(data?.expiresAt)) - Date.now()) / 3_600_000
    expect(Math.round(hours)).toBe(8)
    expect(await exchange(code)).toMatchObject(refusedToken)
    const replicas = [world.api.url, other.url]
    for (const url of replicas)
      expect(await send('GET', overview, { ...bearer(token), url })).toMatchObject({ status: 200 })
    expect((await send('GET', session, bearer(token))).data).toEqual({
      credential: 'session',
      expiresAt: data?.expiresAt,
    })
    expect((await send('DELETE', session, bearer(token))).data).toEqual({ ended: true })
    expect(await send('GET', overview, bearer(token))).toMatchObject(refusedToken)
    await until('the other replica refuses it', async () => {
      return (await send('GET', overview, { ...bearer(token), url: other.url })).status === 401
    })
    await other.stop()
  })

  it('of two exchanges at once gives one session', async () => {
    const code = await linkCode()
    const statuses = (await Promise.all([exchange(code), exchange(code)])).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, 401])
  })

  it('expires, and so does its session', async () => {
    const expire = () => sql`update operator_credential set expires_at = now()`.execute(world.db)
    const code = await linkCode()
    const token = await givenSession()
    await expire()
    expect(await exchange(code)).toMatchObject(refusedToken)
    expect(await send('GET', overview, bearer(token))).toMatchObject(refusedToken)
    await linkCode() // deletes expired ones
    const { rows } = await sql`select from operator_credential`.execute(world.db)
    expect(rows).toHaveLength(1)
  })

  it('is stored as a hash, like its session', async () => {
    const code = await linkCode()
    const token = await givenSession()
    const rows = await world.db.selectFrom('operator_credential').selectAll().execute()
    for (const secret of [code, token]) expect(JSON.stringify(rows)).not.toContain(secret)
    const hash = createHash('sha256').update(code).digest('hex')
    expect(rows.map((row) => row.hash.toString('hex'))).toContain(hash)
  })

  it('works without the setting and without accounts', async () => {
    const bare = await startApi({ DATABASE_URL: world.databaseUrl, ACCOUNTS_ENABLED: 'false' })
    const { data } = await exchange(await linkCode(), bare.url)
    const found = await send('GET', overview, { ...bearer(String(data?.accessToken)), url: bare.url })
    const byToken = await send('GET', overview, { ...bearer(operatorToken), url: bare.url })
    await bare.stop()
    expect(found).toMatchObject({ status: 200, data: { accountsEnabled: false } })
    expect(byToken).toMatchObject(refusedToken)
  })

  it('needs PUBLIC_URL', async () => {
    await expect(admin(['console-link'], { DATABASE_URL: world.databaseUrl })).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('PUBLIC_URL is not set'),
    })
  })

  it('ends with matte-admin console-sign-out, like all sessions', async () => {
    const code = await linkCode()
    const token = await givenSession()
    expect(await admin(['console-sign-out'], { DATABASE_URL: world.databaseUrl })).toMatchObject({
      endedSessions: expect.any(Number),
    })
    expect(await exchange(code)).toMatchObject(refusedToken)
    expect(await send('GET', overview, bearer(token))).toMatchObject(refusedToken)
  })
})

it('the token of the settings cannot be ended here', async () => {
  expect((await send('DELETE', session, bearer(operatorToken))).data).toEqual({ ended: false })
  expect((await send('GET', session, bearer(operatorToken))).data).toEqual({ credential: 'token', expiresAt: null })
})
