// Counts of attempts per hour: exact with concurrent dispatchers, bounded by a ring of rows, and cheap to read.
import type { Db } from '@matte/core/db/database'
import { createEventDeliveries } from '@matte/core/webhook/create-deliveries'
import { recordAttempt } from '@matte/core/webhook/end-attempt'
import { readAttemptHours } from '@matte/core/webhook/endpoint/attempt-hours'
import { createEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { costOf } from '../core/explain.ts'
import { useDatabase } from '../support/database.ts'
import { givenWorkspace } from '../support/factories.ts'
import { claimDue } from './given.ts'
import { masterKeys } from './in-process.ts'

const database = useDatabase()
const policy = { maxRetries: 12, retryUnitMs: 60_000 }
const outcome = { error: null, statusCode: 200, durationMs: 30, responseBody: null }
const targetUrl = 'https://receiver.example/'

async function givenEndpoint(db: Db) {
  const { id: workspaceId } = await givenWorkspace(db)
  const endpoint = { workspaceId, targetUrl, url: new URL(targetUrl), eventTypes: [], description: null }
  return { workspaceId, id: (await createEndpoint(db, masterKeys, endpoint)).id }
}

const announce = (db: Db, workspaceId: string, key: string) =>
  createEventDeliveries(db, { workspaceId, event: 'welcome', body: '{}', callbackUrl: null, of: { key } })

const rowsOf = (db: Db, id: string) =>
  db
    .selectFrom('webhook_endpoint_hour')
    .select(['slot', 'succeeded', 'failed'])
    .where('endpoint_id', '=', id)
    .orderBy('hour')
    .execute()

it('every attempt is counted once with concurrent records', async () => {
  const { db } = database
  const { workspaceId, id } = await givenEndpoint(db)
  for (let n = 0; n < 40; n++) await announce(db, workspaceId, `k${n}`)
  const claimed = await claimDue(db, { perTargetInFlight: 100 })
  expect(claimed).toHaveLength(40)
  await Promise.all(claimed.map((each) => recordAttempt(db, each, { ...outcome, endedAgoMs: 0, policy })))
  // A record of a lost claim counts nothing.
  for (const each of claimed.slice(0, 3)) await recordAttempt(db, each, { ...outcome, endedAgoMs: 0, policy })
  const { total, succeeded, failed } = await readAttemptHours(db, id)
  expect({ total, succeeded, failed }).toEqual({ total: 40, succeeded: 40, failed: 0 })
})

it('a new hour takes over the row of 168 hours before, and a late record does not take it back', async () => {
  const { db } = database
  const { workspaceId, id } = await givenEndpoint(db)
  const recordAt = async (hoursAgo: number) => {
    await announce(db, workspaceId, `h${hoursAgo}-${Math.random()}`)
    const [claimed] = await claimDue(db)
    if (claimed === undefined) throw new Error('nothing was claimed')
    await recordAttempt(db, claimed, { ...outcome, endedAgoMs: hoursAgo * 3_600_000, policy })
  }
  for (const hoursAgo of [168, 168, 167]) await recordAt(hoursAgo)
  expect((await rowsOf(db, id)).map(({ succeeded }) => succeeded)).toEqual([2, 1])
  await recordAt(0)
  await recordAt(168)
  expect((await rowsOf(db, id)).map(({ succeeded }) => succeeded)).toEqual([1, 1])
  expect(await readAttemptHours(db, id)).toMatchObject({ total: 2 })
})

it('reading costs a few pages with 336,000 rows of other endpoints and old statistics', async () => {
  const { db } = database
  await sql`analyze webhook_endpoint_hour`.execute(db)
  const { workspaceId, id } = await givenEndpoint(db)
  await sql`
    insert into webhook_endpoint (workspace_id, target_url, target_href, target_host, secret_sealed)
    select ${workspaceId}::uuid, 'x', 'x', 'x', 'x' from generate_series(1, 2000)`.execute(db)
  await sql`
    insert into webhook_endpoint_hour (endpoint_id, slot, hour, succeeded, failed, duration_buckets)
    select e.id, (extract(epoch from h)::bigint / 3600 % 168)::smallint, h, 1, 0, array_fill(1, array[14])
      from webhook_endpoint e cross join generate_series(
        date_trunc('hour', now(), 'UTC') - interval '167 hours', date_trunc('hour', now(), 'UTC'), '1 hour') h
     where e.workspace_id = ${workspaceId}`.execute(db)
  const { total, hours } = await readAttemptHours(db, id)
  expect([total, hours.length]).toEqual([168, 168])
  const { pages, wholeTables } = await costOf(database.url, (explained) => readAttemptHours(explained, id))
  expect(wholeTables).toEqual([])
  expect(pages).toBeLessThan(600)
})
