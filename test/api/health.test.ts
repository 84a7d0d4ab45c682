import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useStack } from '../support/stack.ts'
import { smallImage, useApi } from './given.ts'

// Nothing listens on port 1, so a dependency on NATS would show.
const world = useApi({ NATS_URL: 'nats://127.0.0.1:1' })

describe('health', () => {
  it('works on both ports, without envelope, credential or NATS', async () => {
    const { url, healthUrl } = world.api
    // The public port does not list dependencies.
    for (const [origin, said] of [
      [url, { ready: true }],
      [healthUrl, { ready: true, checks: { database: 'ok', clock: 'ok', http: 'ok' } }],
    ] as const) {
      const alive = await fetch(`${origin}/healthz`)
      expect([alive.status, await alive.json()]).toEqual([200, { status: 'ok' }])
      const ready = await fetch(`${origin}/readyz`)
      expect([ready.status, await ready.json()]).toEqual([200, said])
    }
  })

  it('has metrics on its own port only', async () => {
    const { client } = await world.caller()
    await client.createTask({ imageUrl: await client.upload(await smallImage()) })
    await fetch(`${world.api.url}/no/such/path`)
    const text = await (await fetch(`${world.api.healthUrl}/metrics`)).text()
    const created = { model_version: 'service-v2', plan: 'pro' }
    expect(readSample(text, 'matte_tasks_created_total', created)).toBe(1)
    const post = { method: 'POST', route: '/api/v1/open/developer/tasks', status: '201' }
    expect(readSample(text, 'matte_http_request_duration_seconds_count', post)).toBe(1)
    const unknown = { route: 'none', status: '404' }
    expect(readSample(text, 'matte_http_request_duration_seconds_count', unknown)).toBe(1)
    expect((await fetch(`${world.api.url}/metrics`)).status).toBe(404)
  })
})

describe('a flood of readiness requests', () => {
  const stack = useStack({
    own: ['postgres'],
    postgresSettings: { shared_preload_libraries: 'pg_stat_statements' },
    processes: ['api'],
  })

  it('costs one statement per check and second, over both ports', async () => {
    await sql`create extension pg_stat_statements`.execute(stack.db)
    const { url, healthUrl } = stack.process('api')
    await sql`select pg_stat_statements_reset()`.execute(stack.db)
    const begunMs = performance.now()
    const countRuns = () =>
      sql<{ calls: number; query: string }>`
        select calls::int, query from pg_stat_statements
         where query ~ 'kysely_migration|clock_timestamp' and query !~ 'pg_stat'`.execute(stack.db)
    // A thousand, and more until the cached result has expired; the second port takes 64 connections of an address.
    for (let round = 0; round < 10 || (await countRuns()).rows.length < 2; round++) {
      const origins = Array.from({ length: 100 }, (_, index) => (index % 4 === 0 ? healthUrl : url))
      const answers = await Promise.all(origins.map((origin) => fetch(`${origin}/readyz`)))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
      await Promise.all(answers.map((answer) => answer.arrayBuffer()))
    }
    const seconds = Math.ceil((performance.now() - begunMs) / 1_000)
    const { rows } = await countRuns()
    expect(rows.length).toBe(2)
    for (const { calls, query } of rows) expect(calls, query).toBeLessThanOrEqual(seconds + 1)
  })
})

/** Value of the single line of this metric that has these labels. */
function readSample(text: string, name: string, labels: Record<string, string>): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) && wanted.every((part) => line.includes(part)))
  return lines.length === 1 ? Number(lines[0]?.split(' ').at(-1)) : Number.NaN
}
