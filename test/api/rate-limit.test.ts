// The limit per workspace (D6): exact over three API processes, reported in headers, free of cost once reached.
import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { rateLimiter } from '@matte/api/limit/rate-limiter'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ApiError } from '../support/client.ts'
import { givenWorkspace } from '../support/factories.ts'
import { useStack } from '../support/stack.ts'
import { until } from '../support/until.ts'
import { useApi } from './given.ts'

const limit = 40
const plans = JSON.stringify({ pro: { requestsPerMinute: limit } })

type Seen = { readonly status: number; readonly reset: number; readonly remaining: number; readonly limit: number }

async function ask(origin: string, apiKey: string): Promise<Seen> {
  const answer = await fetch(`${origin}/api/v1/open/developer/signing-secret`, { headers: { 'x-api-key': apiKey } })
  await answer.arrayBuffer()
  const number = (name: string): number => Number(answer.headers.get(name) ?? Number.NaN)
  return {
    status: answer.status,
    reset: number('x-ratelimit-reset'),
    remaining: number('x-ratelimit-remaining'),
    limit: number('x-ratelimit-limit'),
  }
}

describe('three API processes with one database', () => {
  const stack = useStack({ processes: [] })
  const origins: string[] = []
  beforeAll(async () => {
    for (let i = 0; i < 3; i++) origins.push((await stack.start('api', { PLANS: plans })).url)
  })

  async function givenKeys(count: number): Promise<string[]> {
    const { id: workspaceId } = await givenWorkspace(stack.db, { plan: 'pro' })
    const keys = Array.from({ length: count }, () => generateApiKey())
    for (const key of keys) await insertApiKey(stack.db, key, { workspaceId, name: 'test', scopes, expiresAt: null })
    return keys.map(({ key }) => key)
  }

  it('admit exactly the limit per window, for any key and process', async () => {
    const keys = await givenKeys(3)
    const seen: Seen[] = []
    // Rounds of three times the limit until one window was used from its beginning, because the first window may have
    // ended before it was full.
    for (let round = 0; round < 3; round++) {
      const answers = Array.from({ length: 3 * limit }, (_, i) =>
        ask(origins[i % 3] ?? '', keys[Math.floor(i / 3) % 3] ?? ''),
      )
      seen.push(...(await Promise.all(answers)))
      if (seen.some(({ status }) => status === 429)) break
    }
    const windows = Map.groupBy(seen, ({ reset }) => reset)
    const full = [...windows.values()].find((answers) => answers.some(({ status }) => status === 429)) ?? []
    for (const answers of windows.values()) {
      const allowed = answers.filter(({ status }) => status === 200)
      expect(allowed.length).toBeLessThanOrEqual(limit)
      // Remaining counts are all different.
      expect(new Set(allowed.map(({ remaining }) => remaining)).size).toBe(allowed.length)
    }
    const passed = full.filter(({ status }) => status === 200).map(({ remaining }) => remaining)
    expect(passed.sort((a, b) => a - b)).toEqual(Array.from({ length: limit }, (_, i) => i))
    expect(new Set(seen.map(({ status }) => status))).toEqual(new Set([200, 429]))
  })

  it('admit another workspace meanwhile', async () => {
    const [key = ''] = await givenKeys(1)
    expect(await ask(origins[0] ?? '', key)).toMatchObject({ status: 200, limit, remaining: limit - 1 })
  })
})

describe('the rate limit', () => {
  const world = useApi({ PLANS: plans, FAILED_CREDENTIALS_PER_MINUTE: '5', TRUSTED_PROXY_HOPS: '1' })
  /**
   * Sets the counted requests of the next minute's window, which counts as the current one and does not end during the
   * test.
   */
  const fill = (subject: string, used: number) =>
    sql`insert into rate_window (subject, minute, used, last_limit)
        values (${subject}, floor(extract(epoch from now()) / 60)::int + 1, ${used}, ${used})
        on conflict (subject) do update set minute = excluded.minute, used = excluded.used`.execute(world.db)
  const countUsed = async (subject: string): Promise<number | undefined> =>
    (await sql<{ used: number }>`select used from rate_window where subject = ${subject}`.execute(world.db)).rows[0]
      ?.used

  it('appears on responses and on later errors, not on earlier ones', async () => {
    const { client } = await world.caller()
    const { headers } = await client.call('GET', '/tasks')
    const reset = Number(headers.get('x-ratelimit-reset'))
    expect(headers.get('x-ratelimit-limit')).toBe(String(limit))
    expect(headers.get('x-ratelimit-remaining')).toBe(String(limit - 1))
    expect(reset * 1_000).toBeGreaterThan(Date.now() - 1_000)
    expect(reset * 1_000).toBeLessThanOrEqual(Date.now() + 61_000)
    expect(headers.get('ratelimit-policy')).toBe(`"default";q=${limit};w=60`)
    expect(headers.get('ratelimit')).toMatch(new RegExp(`^"default";r=${limit - 1};t=[1-9][0-9]?$`))
    for (const path of ['/tasks/unknown', '/tasks?pageSize=0']) {
      const error = (await client.call('GET', path).catch((error: unknown) => error)) as ApiError
      expect(error.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/)
    }
    const missing = (await world.api
      .client('')
      .call('GET', '/tasks')
      .catch((error: unknown) => error)) as ApiError
    expect(missing.headers.get('x-ratelimit-limit')).toBeNull()
  })

  it('returns RATE_LIMIT_EXCEEDED with the time to wait, and queries the database no more until then', async () => {
    const { client, workspaceId } = await world.caller()
    const subject = `workspace:${workspaceId}`
    await fill(subject, limit)
    const refused = async (): Promise<ApiError> =>
      (await client.listTasks().catch((error: unknown) => error)) as ApiError
    const error = await refused()
    expect(error).toMatchObject({
      status: 429,
      code: 'RATE_LIMIT_EXCEEDED',
      details: { limit: 'requests', perMinute: limit, resetsAt: expect.stringMatching(/:00\.000Z$/) },
    })
    const retryAfter = Number(error.headers.get('retry-after'))
    expect(retryAfter).toBeGreaterThanOrEqual(1)
    expect(retryAfter).toBeLessThanOrEqual(60)
    expect(error.headers.get('x-ratelimit-remaining')).toBe('0')
    await fill(subject, 1) // the database would admit it now, but is not asked
    expect(await refused()).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' })
    expect(await countUsed(subject)).toBe(1)
  })

  it('starts again with the next minute', async () => {
    const { client, workspaceId } = await world.caller()
    const subject = `workspace:${workspaceId}`
    await fill(subject, limit)
    await sql`update rate_window set minute = minute - 2 where subject = ${subject}`.execute(world.db)
    const { headers } = await client.call('GET', '/tasks')
    expect(headers.get('x-ratelimit-remaining')).toBe(String(limit - 1))
  })

  it('is enforced by a process until the end of its full window, and then counted again', async () => {
    let nowMs = 0
    const limiter = rateLimiter(world.db, { monotonicMs: () => nowMs })
    const subject = `workspace:${randomUUID()}`
    await fill(subject, limit)
    const windowEnd = sql<{ ms: number }>`
      select ((minute + 1) * 60 - extract(epoch from clock_timestamp()))::float8 * 1000 as ms
        from rate_window where subject = ${subject}`.execute(world.db)
    const endsAtMost = (await windowEnd).rows[0]?.ms ?? 0
    expect(await limiter.take(subject, limit)).toMatchObject({ allowed: false, remaining: 0 })
    // The database's next window, in which a request would be admitted.
    await sql`delete from rate_window where subject = ${subject}`.execute(world.db)
    nowMs = endsAtMost - 10_000
    expect(limiter.refusal(subject, limit)).toMatchObject({ allowed: false, resetsInSeconds: expect.closeTo(10, 0) })
    expect(await limiter.take(subject, limit)).toMatchObject({ allowed: false })
    expect(await countUsed(subject)).toBeUndefined()
    nowMs = endsAtMost
    expect(limiter.refusal(subject, limit)).toBeUndefined()
    expect(await limiter.take(subject, limit)).toMatchObject({ allowed: true, remaining: limit - 1 })
    expect(await countUsed(subject)).toBe(1)
  })

  it('is checked after the scope: a rejected key uses nothing', async () => {
    const { client, workspaceId } = await world.caller({ scopes: ['usage:read'] })
    await expect(client.listTasks()).rejects.toMatchObject({ code: 'API_KEY_INSUFFICIENT_SCOPE' })
    const row = sql`select 1 from rate_window where subject = ${`workspace:${workspaceId}`}`.execute(world.db)
    expect((await row).rows).toEqual([])
  })

  describe('on failed credentials', () => {
    /** Status of a request that the trusted proxy reports from this address. */
    const from = (
      forwardedFor: string,
      apiKey: string,
    ): Promise<{ status: number; retryAfter: number; body: string }> =>
      new Promise((resolve, reject) => {
        const headers = { 'x-api-key': apiKey, 'x-forwarded-for': forwardedFor }
        request(`${world.api.url}/api/v1/open/developer/tasks`, { headers }, (answer) => {
          let body = ''
          answer.on('data', (bytes: Buffer) => {
            body += bytes.toString()
          })
          answer.on('end', () =>
            resolve({ status: answer.statusCode ?? 0, retryAfter: Number(answer.headers['retry-after']), body }),
          )
        })
          .on('error', reject)
          .end()
      })
    const guess = (address: string): Promise<{ status: number; retryAfter: number; body: string }> =>
      from(address, generateApiKey().key)

    const perMinute = 5
    const subjectOf = (network: string): string => `credentials:${network}`
    /** After one failure that was counted already. */
    const expected = [...Array(perMinute - 1).fill(401), ...Array(3).fill(429)]

    it('rejects an address after the limit, but admits every valid key, cached or not', async () => {
      const known = await world.caller()
      const unknown = await world.caller()
      await known.client.listTasks()
      const subject = subjectOf('198.51.100.7')
      await fill(subject, 1)
      const statuses: number[] = []
      for (let i = 0; i < expected.length; i++) statuses.push((await guess('198.51.100.7')).status)
      expect(statuses).toEqual(expected)
      const before = await countUsed(subject)
      const refused = await guess('198.51.100.7')
      expect(refused.retryAfter).toBeGreaterThanOrEqual(1)
      expect(JSON.parse(refused.body)).toMatchObject({
        error: { code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'credentials', perMinute } },
      })
      expect(await countUsed(subject)).toBe(before)
      for (const { apiKey } of [known, unknown]) expect((await from('198.51.100.7', apiKey)).status).toBe(200)
      expect(await countUsed(subject)).toBe(before)
      expect((await guess('198.51.100.7')).status).toBe(429)
      expect((await guess('198.51.100.8')).status).toBe(401)
    })

    it('looks up two keys at a time for rejected addresses, and sheds a flood', async () => {
      const known = await world.caller()
      await known.client.listTasks()
      await fill(subjectOf('198.51.100.9'), perMinute)
      expect((await guess('198.51.100.9')).status).toBe(429) // cached from now on
      const countWaiting = async (): Promise<number> => {
        const waiting = sql<{ count: number }>`select count(*)::int from pg_locks
          where not granted and relation = 'api_key'::regclass`
        return (await waiting.execute(world.db)).rows[0]?.count ?? 0
      }
      const limitOf = ({ body }: { body: string }): string =>
        (JSON.parse(body) as { error: { details: { limit: string } } }).error.details.limit
      let flood: Promise<string>[] = []
      const early: string[] = []
      await world.db.transaction().execute(async (tx) => {
        await sql`lock table api_key in access exclusive mode`.execute(tx)
        flood = Array.from({ length: 100 }, async () => {
          const limit = limitOf(await guess('198.51.100.9'))
          early.push(limit)
          return limit
        })
        await until('all are turned away for whom there is no room', () => early.length >= 66)
        await until('two look-ups wait', async () => (await countWaiting()) >= 2)
        expect(await countWaiting()).toBe(2)
        expect(early).toEqual(Array(66).fill('capacity'))
      })
      const limits = await Promise.all(flood)
      expect(limits.filter((limit) => limit === 'credentials')).toHaveLength(34)
      expect((await from('198.51.100.9', known.apiKey)).status).toBe(200)
    })

    it('counts malformed keys too, and an IPv6 /64 as one address', async () => {
      await fill(subjectOf('2001:db8:1:2::/64'), 1)
      const statuses: number[] = []
      for (let i = 0; i < expected.length; i++) statuses.push((await from(`2001:db8:1:2::${i}`, 'sk_none')).status)
      expect(statuses).toEqual(expected)
      expect((await guess('2001:db8:1:3::1')).status).toBe(401)
    })

    it('trusts only the configured number of proxies', async () => {
      await fill(subjectOf('198.51.100.20'), 1)
      const statuses: number[] = []
      // The client's own value is left of the one that the trusted proxy added.
      for (let i = 0; i < expected.length; i++) {
        statuses.push((await guess(`203.0.113.${i}, 198.51.100.20`)).status)
      }
      expect(statuses).toEqual(expected)
    })
  })
})
