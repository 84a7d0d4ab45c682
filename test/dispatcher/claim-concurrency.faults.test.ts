// Several dispatchers claim while owners cancel and move endpoints: every limit holds, nothing deadlocks or starves.
import type { Db } from '@matte/core/db/database'
import type { ClaimedDelivery } from '@matte/core/webhook/claim-deliveries'
import { cancelEndpointDeliveries } from '@matte/core/webhook/delivery-queries'
import { giveBackDelivery, recordAttempt } from '@matte/core/webhook/end-attempt'
import { changeEndpoint, createEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { sql } from 'kysely'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { connectTo, useDatabase } from '../support/database.ts'
import { givenWorkspace } from '../support/factories.ts'
import { until } from '../support/until.ts'
import { claimDue, givenDelivery } from './given.ts'
import { masterKeys } from './in-process.ts'

const outcome = { statusCode: 200, durationMs: 1, responseBody: null, endedAgoMs: 0 }
const policy = { maxRetries: 12, retryUnitMs: 1 }

const givenEndpoint = (db: Db, workspaceId: string, url: string) =>
  createEndpoint(db, masterKeys, {
    workspaceId,
    targetUrl: url,
    url: new URL(url),
    eventTypes: [],
    description: null,
  })

/** Deliveries that are due, oldest first, as after a retry delay. */
const givenFallen = async (db: Db, count: number, endpoint?: { id: string; workspaceId: string }) => {
  const workspaceId = endpoint?.workspaceId ?? (await givenWorkspace(db)).id
  await sql`
    insert into delivery (workspace_id, event, event_key, endpoint_id, target_url, target_host, body, due_at, ready)
    select ${workspaceId}, 'welcome', gen_random_uuid(), ${endpoint?.id ?? null}, 'https://a.example/',
           'a.example:443', '{}', now() - interval '1 hour' + n * interval '1 ms', false
      from generate_series(1, ${count}) as s (n)`.execute(db)
  return workspaceId
}

describe('concurrent claims', () => {
  const database = useDatabase()

  beforeEach(async () => {
    await sql`truncate delivery cascade`.execute(database.db)
  })

  const connect = (poolMax = 1) => {
    const own = connectTo(database.url, poolMax)
    onTestFinished(() => own.stop())
    return own.db
  }

  it('keep every limit and never deadlock with records, cancels and moves', async () => {
    const bounds = { perTargetInFlight: 2, perWorkspaceInFlight: 5 }
    const workspaces = await Promise.all(Array.from({ length: 3 }, () => givenWorkspace(database.db)))
    const endpoints = await Promise.all(
      workspaces.map(({ id }) => givenEndpoint(database.db, id, 'https://a.example/')),
    )
    for (const workspace of workspaces) {
      for (let n = 0; n < 60; n++) await givenDelivery(database.db, `https://h${n % 9}.example/${n}`, workspace)
    }
    const pending = async () => {
      const { rows } = await sql`select from delivery where status = 'pending' limit 1`.execute(database.db)
      return rows.length > 0
    }
    let most = { target: 0, workspace: 0 }
    const observe = async (db: Db): Promise<void> => {
      const { rows } = await sql<{ target: number; workspace: number }>`
          select count(*)::int as target, (sum(count(*)) over (partition by workspace_id))::int as workspace
            from delivery where claim is not null and endpoint_id is null
           group by workspace_id, target_host`.execute(db)
      for (const { target, workspace } of rows) {
        most = { target: Math.max(most.target, target), workspace: Math.max(most.workspace, workspace) }
      }
    }
    let ended = 0
    const end = async (db: Db, delivery: ClaimedDelivery): Promise<unknown> => {
      ended += 1
      if (ended % 5 === 0) return giveBackDelivery(db, delivery)
      return recordAttempt(db, delivery, { ...outcome, error: ended % 3 === 0 ? 'TIMEOUT' : null, policy })
    }
    const dispatcher = async (limit: number): Promise<void> => {
      const db = connect()
      while (await pending()) {
        const claimed = await claimDue(db, { ...bounds, limit })
        await observe(db)
        for (const delivery of claimed) await end(db, delivery)
      }
    }
    const owner = async (index: number): Promise<void> => {
      const db = connect()
      const [workspaceId, id] = [workspaces[index]?.id ?? '', endpoints[index]?.id ?? '']
      for (let n = 0; n < 6; n++) {
        const url = new URL(`https://h${n}.example/`)
        await changeEndpoint(db, { workspaceId, id }, { target: { targetUrl: url.href, url } })
        await cancelEndpointDeliveries(db, id)
      }
    }
    await Promise.all([...[1, 3, 7, 100].map(dispatcher), ...workspaces.map((_, index) => owner(index))])
    expect(most.target).toBe(bounds.perTargetInFlight)
    expect(most.workspace).toBeLessThanOrEqual(bounds.perWorkspaceInFlight)
    const { rows } = await sql`select status, count(*)::int from delivery where endpoint_id is null
        group by status`.execute(database.db)
    expect(rows).toEqual([{ status: 'delivered', count: 180 }])
  })

  it('find due deliveries behind thousands for a hanging receiver', async () => {
    await givenFallen(database.db, 2_500)
    const late = await givenFallen(database.db, 1)
    await sql`update delivery set due_at = now() where workspace_id = ${late}`.execute(database.db)
    const claimed = await claimDue(database.db)
    expect(claimed).toHaveLength(5)
    expect(claimed.map(({ workspaceId }) => workspaceId)).toContain(late)
  })

  it('take turns between the hosts of a workspace, however many deliveries wait', async () => {
    const workspace = await givenWorkspace(database.db)
    const hosts = Array.from({ length: 20 }, (_, n) => `https://h${n}.example/`)
    for (const host of hosts) await givenDelivery(database.db, host, workspace)
    const seen = new Set<string>()
    const options = { limit: 1, perWorkspaceInFlight: 1 }
    for (let claims = 0; claims < 500 && seen.size < hosts.length; claims++) {
      for (const { id, targetHost } of await claimDue(database.db, options)) {
        seen.add(targetHost)
        // As if it was delivered and the next one to its host was written.
        await sql`update delivery set claim = null, claimed_until = null, due_at = now() where id = ${id}
          `.execute(database.db)
      }
    }
    expect(seen.size).toBe(hosts.length)
  })

  it('of one workspace wait for each other, and hold up no other workspace', async () => {
    const { workspaceId } = await givenDelivery(database.db, 'https://a.example/')
    const held = await connect().startTransaction().execute()
    onTestFinished(
      async () =>
        void (await held
          .rollback()
          .execute()
          .catch(() => undefined)),
    )
    // As a claim that has not committed.
    await sql`select pg_advisory_xact_lock(hashtext('matte.delivery.claim'), hashtext(${workspaceId}))`.execute(held)
    const first = claimDue(connect())
    await until('the claim waits', () => isAnyLockAwaited(database.db))
    // A delivery of another workspace becomes due, and those of the first no longer are.
    await sql`update delivery set due_at = now() + interval '1 hour'`.execute(database.db)
    const other = await givenDelivery(database.db, 'https://a.example/')
    const claimed = await claimDue(connect())
    expect(claimed.map((delivery) => delivery.workspaceId)).toEqual([other.workspaceId])
    await held.commit().execute()
    // It sees the row as it is after the wait.
    expect(await first).toEqual([])
  })
})

async function isAnyLockAwaited(db: Db): Promise<boolean> {
  const { rows } = await sql`
    select from pg_locks where locktype = 'advisory' and not granted
       and database = (select oid from pg_database where datname = current_database())`.execute(db)
  return rows.length > 0
}
