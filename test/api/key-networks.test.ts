// API keys that work from some networks only, the addresses that used a key, and open streams of a key that ends.
import { authenticateKey, callerCache } from '@matte/api/auth/api-key'
import { credentialGuard } from '@matte/api/limit/credential-guard'
import { rateLimiter } from '@matte/api/limit/rate-limiter'
import { systemClock } from '@matte/core/runtime/clock'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { admin } from '../support/admin.ts'
import { startApi, type TestApi } from '../support/api.ts'
import { readStream } from '../support/app/event-stream.ts'
import { givenPerson } from '../support/app/people.ts'
import { givePassword, password } from '../support/app/sign-in/given-password.ts'
import { givenKeyOf, givenTeam } from '../support/app/teams.ts'
import { until } from '../support/until.ts'
import { useApi } from './given.ts'

/** One trusted proxy, which appends the address of its client to X-Forwarded-For. */
const behindProxy = { TRUSTED_PROXY_HOPS: '1' }
const world = useApi(behindProxy)

async function givenKey(allowedNetworks: readonly string[] = []) {
  const { workspaceId } = await world.caller()
  const key = generateApiKey()
  const row = await insertApiKey(world.db, key, {
    ...{ workspaceId, name: 'test', scopes, expiresAt: null, allowedNetworks },
  })
  return { workspaceId, key: key.key, id: row?.id ?? '' }
}

/** Answer to a read with this key, from a client that the proxy names so. */
async function readFrom(forwardedFor: string, key: string, { url }: Pick<TestApi, 'url'> = world.api) {
  const headers = { 'x-api-key': key, 'x-forwarded-for': forwardedFor }
  const response = await fetch(`${url}/api/v1/open/developer/tasks`, { headers })
  const { error } = (await response.json()) as { error?: { code: string; message: string; details: object } }
  return { status: response.status, error }
}

describe('a key with networks', () => {
  const networks = ['203.0.113.0/24', '2001:db8:7::/48']

  it.each([
    '203.0.113.7',
    '203.0.113.255',
    '::ffff:203.0.113.7',
    '::ffff:cb00:7107',
    '2001:db8:7::1',
    '2001:DB8:7:0::1',
    '203.0.113.7:4711',
    '[2001:db8:7::1]:4711',
    '198.51.100.1, 203.0.113.7',
  ])('works from %s', async (address) => {
    const { key } = await givenKey(networks)
    expect(await readFrom(address, key)).toEqual({ status: 200 })
  })

  it.each(['203.0.114.7', '::ffff:203.0.114.7', '2001:db8:8::1', 'unknown', '203.0.113.7, 198.51.100.1'])(
    'is answered from %s like an unknown key, also when it has just worked',
    async (address) => {
      const { key } = await givenKey(networks)
      expect((await readFrom('203.0.113.7', key)).status).toBe(200)
      const unknown = await readFrom(address, generateApiKey().key)
      expect(unknown).toMatchObject({ status: 401, error: { code: 'API_KEY_INVALID' } })
      expect(await readFrom(address, key)).toEqual(unknown)
    },
  )

  it('costs as many queries from a foreign address as an unknown key, each time', async () => {
    const { key } = await givenKey(networks)
    let queries = 0
    const counted = world.db.withPlugin({
      transformQuery: ({ node }) => {
        queries += 1
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const guard = credentialGuard(rateLimiter(counted, systemClock), 1_000_000)
    const deps = { callers: callerCache(counted), guard }
    const queriesOf = async (apiKey: string, ip: string) => {
      queries = 0
      const request = { headers: { 'x-api-key': apiKey }, ip } as unknown as FastifyRequest
      const code = await authenticateKey(deps, request, {} as FastifyReply).then(
        () => undefined,
        (error) => error.code,
      )
      return [code, queries]
    }
    const unknown = await queriesOf(generateApiKey().key, '198.51.100.1')
    expect(unknown).toEqual(['API_KEY_INVALID', expect.any(Number)])
    expect(await queriesOf(key, '198.51.100.1')).toEqual(unknown)
    expect((await queriesOf(key, '203.0.113.7'))[0]).toBeUndefined()
    for (let i = 0; i < 3; i += 1) expect(await queriesOf(key, '198.51.100.1')).toEqual(unknown)
  })

  it('that are IPv6 only refuses a mapped IPv4 address, and 0.0.0.0/0 accepts it', async () => {
    const [six, four] = [await givenKey(['::/0']), await givenKey(['0.0.0.0/0'])]
    expect((await readFrom('::ffff:203.0.113.7', six.key)).status).toBe(401)
    expect((await readFrom('2001:db8::1', six.key)).status).toBe(200)
    expect((await readFrom('::ffff:203.0.113.7', four.key)).status).toBe(200)
  })

  it('is checked against the address of the connection without trusted proxies', async () => {
    const direct = await startApi({ DATABASE_URL: world.databaseUrl })
    try {
      const [own, other] = [await givenKey(['127.0.0.1/32', '::1/128']), await givenKey(networks)]
      expect((await readFrom('203.0.113.7', own.key, direct)).status).toBe(200)
      expect((await readFrom('203.0.113.7', other.key, direct)).status).toBe(401)
    } finally {
      await direct.stop()
    }
  })
})

const adminEnv = () => ({ DATABASE_URL: world.databaseUrl })

type Shown = { readonly id: string; readonly recentAddresses: readonly { address: string; lastUsedAt: string }[] }

describe('the addresses that used a key', () => {
  let second: TestApi | undefined
  beforeAll(async () => {
    second = await startApi({ DATABASE_URL: world.databaseUrl, ...behindProxy })
  })
  afterAll(() => second?.stop())

  async function given() {
    const owner = await givenPerson(world.db, world.api)
    const { id, key } = await givenKeyOf(world.db, owner.workspaceId, owner.userId)
    const shown = async () => {
      const { data } = await owner.client.call<{ items: Shown[] }>('GET', '/developer/api-keys')
      return data.items.find((each) => each.id === id)?.recentAddresses ?? []
    }
    const stored = () =>
      world.db
        .selectFrom('api_key')
        .select(['recent_addresses', 'addresses_since', 'last_used_at'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
    const names = async () => (await shown()).map(({ address }) => address)
    const untilShown = (addresses: readonly string[]) =>
      until(`the list shows ${addresses.join()}`, async () => {
        expect([...(await names())].sort()).toEqual([...addresses].sort())
        return true
      })
    return { owner, id, key, shown, stored, untilShown, use: (address: string) => readFrom(address, key) }
  }

  it('are shown to members with times, canonical, over all replicas, and not to keys', async () => {
    const { owner, key, shown, untilShown, use } = await given()
    await use('203.0.113.7')
    await use('::ffff:203.0.113.7')
    await use('2001:DB8::0:7')
    await use('unknown')
    await readFrom('198.51.100.1', key, second)
    await untilShown(['203.0.113.7', '2001:db8::7', '198.51.100.1'])
    for (const { lastUsedAt } of await shown()) expect(lastUsedAt).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)
    const { data } = await world.api.client(key).call<{ items: object[] }>('GET', '/api-keys')
    expect(JSON.stringify(data)).not.toContain('203.0.113.7')
    expect(Object.keys(data.items[0] ?? {})).not.toContain('allowedNetworks')
    const text = JSON.stringify(await admin(['key', 'list', '--workspace', owner.workspaceId], adminEnv()))
    expect(text).toContain('203.0.113.7@')
  })

  it('are the latest five', async () => {
    const { shown, untilShown, use } = await given()
    for (const last of [1, 2, 3, 4]) await use(`203.0.113.${last}`)
    await untilShown([1, 2, 3, 4].map((last) => `203.0.113.${last}`))
    for (const last of [5, 6, 1]) await use(`203.0.113.${last}`)
    await until('the sixth is shown', async () => (await shown()).some(({ address }) => address === '203.0.113.6'))
    const addresses = (await shown()).map(({ address }) => address)
    expect(addresses).toHaveLength(5)
    expect(new Set(addresses.slice(0, 3))).toEqual(new Set(['203.0.113.5', '203.0.113.6', '203.0.113.1']))
    for (let last = 10; last < 40; last += 1) await use(`203.0.113.${last}`)
    await until('the last is shown', async () => (await shown()).some(({ address }) => address === '203.0.113.39'))
    expect(await shown()).toHaveLength(5)
  })

  it('are deleted 90 days after their last use, each by itself', async () => {
    const { id, stored, untilShown, use } = await given()
    await use('203.0.113.1')
    await untilShown(['203.0.113.1'])
    await sql`
      update api_key
         set recent_addresses = jsonb_build_array(jsonb_build_object('address', '203.0.113.1', 'at', now() - interval '20 days')),
             addresses_since = (now() at time zone 'UTC')::date - 20
       where id = ${id}`.execute(world.db)
    await use('203.0.113.2')
    await untilShown(['203.0.113.1', '203.0.113.2'])
    const sweep = (days: number) =>
      admin(['sweep', '--now', new Date(Date.now() + days * 86_400_000).toISOString()], adminEnv())
    await sweep(69)
    expect((await stored()).recent_addresses).toHaveLength(2)
    expect(await sweep(72)).toMatchObject({ deletedKeyAddresses: 1 })
    expect((await stored()).recent_addresses).toMatchObject([{ address: '203.0.113.2' }])
    await sweep(92)
    expect(await stored()).toMatchObject({ recent_addresses: null, addresses_since: null })
    expect((await stored()).last_used_at).not.toBeNull()
  })

  it('of a person are exported, and erased with the account, also when a use is still to be written', async () => {
    const api = await startApi({ DATABASE_URL: world.databaseUrl, ...behindProxy })
    let stopped = false
    try {
      const team = await givenTeam({ db: world.db, api })
      const maker = await team.member('admin')
      await givePassword(world.db, maker)
      const { id, key } = await givenKeyOf(world.db, team.id, maker.userId)
      await readFrom('203.0.113.7', key, api)
      // The personal workspace is closed with the account.
      const own = await givenKeyOf(world.db, maker.personalWorkspaceId, maker.userId)
      await world.db
        .updateTable('api_key')
        .set({ allowed_networks: ['203.0.113.0/24'] })
        .where('id', '=', own.id)
        .execute()
      await readFrom('203.0.113.7', own.key, api)
      const row = (of = id) =>
        world.db
          .selectFrom('api_key')
          .select(['allowed_networks', 'recent_addresses', 'last_used_at', 'revoked_at'])
          .where('id', '=', of)
          .executeTakeFirstOrThrow()
      for (const each of [id, own.id]) await until('the use is written', async () => (await row(each)).recent_addresses)
      const { data } = await maker.client.call('GET', '/users/export')
      const recentAddresses = [{ address: '203.0.113.7', at: expect.any(String) }]
      const exported = [id, own.id].map((each) => expect.objectContaining({ id: each, recentAddresses }))
      expect(data).toMatchObject({ apiKeys: expect.arrayContaining(exported) })
      await readFrom('203.0.113.8', key, api)
      await maker.client.call('DELETE', '/users/profile', { body: { password } })
      await api.stop() // writes the last uses
      stopped = true
      for (const each of [id, own.id]) {
        const ended = { allowed_networks: [], recent_addresses: null, revoked_at: expect.any(Date) }
        expect(await row(each)).toMatchObject(ended)
      }
    } finally {
      if (!stopped) await api.stop()
    }
  })
})

describe('a key that expires', () => {
  it('ends the open streams of its webhooks, and its requests, on every replica', async () => {
    const other = await startApi({ DATABASE_URL: world.databaseUrl })
    try {
      const { id, key } = await givenKey()
      const stream = await readStream(`${world.api.url}/api/v1/open/developer/webhooks/stream`, { 'x-api-key': key })
      await until('the stream is ready', () => stream.events.some(({ event }) => event === 'ready'))
      for (const { url } of [world.api, other]) expect((await readFrom('203.0.113.7', key, { url })).status).toBe(200)
      expect(stream.hasEnded()).toBe(false)
      await sql`update api_key set expires_at = now() where id = ${id}`.execute(world.db)
      await until('the stream has ended', () => stream.hasEnded(), { timeoutMs: 5_000 })
      for (const { url } of [world.api, other]) {
        const isRefused = async () => (await readFrom('203.0.113.7', key, { url })).error?.code === 'API_KEY_INVALID'
        await until('the key is refused', isRefused, { timeoutMs: 5_000 })
      }
    } finally {
      await other.stop()
    }
  })
})
