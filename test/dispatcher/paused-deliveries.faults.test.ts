// An endpoint disabled for long: it keeps 100,000 paused deliveries, and an event costs the same beside them.
import { randomUUID } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { createEventDeliveries } from '@matte/core/webhook/create-deliveries'
import { changeEndpoint, createEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { findEndpoint } from '@matte/core/webhook/endpoint/endpoint-queries'
import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readMetrics } from '../e2e/support/metrics.ts'
import { connectTo, useDatabase } from '../support/database.ts'
import { givenWorkspace } from '../support/factories.ts'
import { until } from '../support/until.ts'
import { spawnDispatcher } from './dispatcher-process.ts'
import { masterKeys } from './in-process.ts'

const database = useDatabase()
const kept = 100_000

async function givenDisabled(db: Db) {
  const { id: workspaceId } = await givenWorkspace(db)
  const targetUrl = 'https://receiver.example/'
  const input = { workspaceId, targetUrl, url: new URL(targetUrl), eventTypes: [], description: null }
  const { id } = await createEndpoint(db, masterKeys, input)
  await changeEndpoint(db, { workspaceId, id }, { status: 'disabled' })
  return { workspaceId, id }
}

type Ended = {
  readonly workspaceId: string
  readonly id: string
  readonly status: string
  readonly count: number
}

/** Deliveries that ended `n` seconds ago; number 1 is the latest event. */
const givenEnded = (db: Db, { workspaceId, id, status, count }: Ended) =>
  sql`
    insert into delivery (workspace_id, event, event_key, endpoint_id, target_url, target_host, body, status,
                          completed_at, created_at)
    select ${workspaceId}::uuid, 'welcome', n::text, ${id}::uuid, 'https://receiver.example/', 'receiver.example:443',
           '{}', ${status}, now(), now() - n * interval '1 s'
      from generate_series(1, ${count}::int) n`.execute(db)

const announce = (db: Db, workspaceId: string) =>
  createEventDeliveries(db, { workspaceId, event: 'welcome', body: '{}', callbackUrl: null, of: { key: randomUUID() } })

describe('an event for a disabled endpoint', () => {
  it('costs the same beside 100,000 paused deliveries as beside 100,000 delivered ones', async () => {
    // A single connection: another connection would report its reads later.
    const own = connectTo(database.url, 1)
    onTestFinished(() => own.stop())
    const { db } = own
    await sql`alter table delivery set (autovacuum_enabled = off)`.execute(db)
    const pages = async (): Promise<number> => {
      await sql`select pg_stat_force_next_flush()`.execute(db)
      const { rows } = await sql<{ pages: number }>`
        select (heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::int as pages
          from pg_statio_user_tables where relname = 'delivery'`.execute(db)
      return rows[0]?.pages ?? 0
    }
    const costBeside = async (status: string): Promise<number> => {
      await sql`truncate delivery cascade`.execute(db)
      const endpoint = await givenDisabled(db)
      await givenEnded(db, { ...endpoint, status, count: kept })
      await sql`vacuum analyze delivery`.execute(db)
      await announce(db, endpoint.workspaceId)
      const before = await pages()
      for (let n = 0; n < 10; n++) await announce(db, endpoint.workspaceId)
      return (await pages()) - before
    }
    const delivered = await costBeside('delivered')
    expect(await costBeside('paused')).toBeLessThan(1.5 * delivered)
  })
})

describe('a dispatcher with paused deliveries', () => {
  it('drops the oldest beyond 100,000, counts them, and reports the number in the endpoint', async () => {
    const { db } = database
    await sql`truncate delivery cascade`.execute(db)
    const endpoint = await givenDisabled(db)
    const { workspaceId, id } = endpoint
    await givenEnded(db, { ...endpoint, status: 'paused', count: kept + 2_500 })
    await announce(db, workspaceId)
    const dispatcher = await spawnDispatcher({ DATABASE_URL: database.url })
    onTestFinished(async () => {
      dispatcher.kill('SIGKILL')
      await dispatcher.exited
    })
    await until('the oldest are dropped', async () => {
      const shown = await findEndpoint(db, workspaceId, id)
      return shown?.dropped_deliveries === 2_501
    })
    const { rows } = await sql<{ count: number; oldest: number; newest: number }>`
      select count(*) as count, max(event_key::int) filter (where event_key ~ '^\\d+$') as oldest,
             count(*) filter (where event_key !~ '^\\d+$') as newest
        from delivery where endpoint_id = ${id} and status = 'paused'`.execute(db)
    expect(rows).toEqual([{ count: kept, oldest: kept - 1, newest: 1 }])
    await until('they are counted', async () => {
      return (await readMetrics(dispatcher)).sum('matte_deliveries_dropped_total') === 2_501
    })
  })
})
