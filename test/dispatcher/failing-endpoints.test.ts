// Webhook endpoints that fail for days (D65): notices to members of the workspace, then disabling.
import { randomUUID } from 'node:crypto'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { createEventDeliveries } from '@matte/core/webhook/create-deliveries'
import { recoverDeliveries } from '@matte/core/webhook/delivery/recover-deliveries'
import { recordAttempt, setAsideDelivery } from '@matte/core/webhook/end-attempt'
import { disableFailingEndpoints } from '@matte/core/webhook/endpoint/disable-failing-endpoints'
import { changeEndpoint, createEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { findEndpoint } from '@matte/core/webhook/endpoint/endpoint-queries'
import { mailEndpointNotices } from '@matte/people/notification/endpoint-notices'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { givenWorkspace } from '../support/factories.ts'
import { processDb } from '../support/roles.ts'
import { until } from '../support/until.ts'
import { spawnDispatcher } from './dispatcher-process.ts'
import { claimOne, makeDue } from './given.ts'
import { masterKeys } from './in-process.ts'
import { startReceiver } from './receiver.ts'

const database = useDatabase()
const ends: (() => unknown)[] = []
beforeEach(async () => {
  await sql`truncate webhook_endpoint, mail cascade`.execute(database.db)
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** A workspace with an owner, an admin, a member and an endpoint. */
async function given(url = 'https://receiver.example/secret-path') {
  const { db } = database
  const { id: workspaceId } = await givenWorkspace(db)
  for (const role of ['owner', 'admin', 'member'] as const) {
    const user = { email: `${role}@${workspaceId}.example`, email_verified_at: new Date() }
    const { id } = await db.insertInto('app_user').values(user).returning('id').executeTakeFirstOrThrow()
    await db.insertInto('membership').values({ workspace_id: workspaceId, user_id: id, role }).execute()
  }
  const endpoint = { workspaceId, targetUrl: url, url: new URL(url), eventTypes: [], description: null }
  const { id } = await createEndpoint(db, masterKeys, endpoint)
  const read = () =>
    db
      .selectFrom('webhook_endpoint')
      .select(['status', 'disabled_reason', 'failing_since', 'failing_notices'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
  const attempt = async (error: 'TIMEOUT' | 'INTERNAL' | null, maxRetries = 0, endedAgoMs = 0) => {
    await announce(workspaceId)
    const outcome = { statusCode: null, durationMs: 1, responseBody: null, endedAgoMs }
    await recordAttempt(db, await claimOne(db), { ...outcome, error, policy: { maxRetries, retryUnitMs: 60_000 } })
  }
  return { workspaceId, id, read, attempt }
}

const announce = (workspaceId: string) =>
  createEventDeliveries(database.db, {
    ...{ workspaceId, event: 'welcome', body: '{}', callbackUrl: null },
    of: { key: randomUUID() },
  })

/** Moves everything that happened to the endpoint back by this time. */
const letAge = (id: string, hours: number) =>
  sql`
    update webhook_endpoint
       set failing_since = failing_since - ${hours} * interval '1 hour',
           failed_at = failed_at - ${hours} * interval '1 hour',
           last_delivery_at = last_delivery_at - ${hours} * interval '1 hour'
     where id = ${id}`.execute(database.db)

const judge = () => disableFailingEndpoints(processDb('dispatcher', database.db), mailEndpointNotices(masterKeys))
/** Template and role of each notice. */
const mails = async (): Promise<string[]> => {
  const rows = await database.db.selectFrom('mail').select(['template', 'to_address']).execute()
  return rows.map(({ template, to_address }) => `${template} ${to_address?.split('@')[0]}`).sort()
}
const toBoth = (template: string) => [`${template} admin`, `${template} owner`]

describe('a failing endpoint', () => {
  it('sends notices after one day and after three, once each, to owners and admins', async () => {
    const { id, read, attempt } = await given()
    await attempt('TIMEOUT')
    await letAge(id, 23)
    expect(await judge()).toBe(0)
    await letAge(id, 1)
    expect([await judge(), await judge()]).toEqual([1, 0])
    expect(await mails()).toEqual(toBoth('endpoint-failing'))
    await letAge(id, 47)
    expect(await judge()).toBe(0)
    await letAge(id, 1)
    expect([await judge(), await judge()]).toEqual([1, 0])
    expect(await mails()).toHaveLength(4)
    expect(await read()).toMatchObject({ status: 'enabled', failing_notices: 2 })
  })

  it('sends one notice when two are due, as after days without a dispatcher', async () => {
    const { id, attempt } = await given()
    await attempt('TIMEOUT')
    await letAge(id, 80)
    expect([await judge(), await judge()]).toEqual([1, 0])
    expect(await mails()).toEqual(toBoth('endpoint-failing'))
  })

  it('is disabled by a failure five days after the first; failed and pending deliveries stay recoverable', async () => {
    const { workspaceId, id, read, attempt } = await given()
    await attempt('TIMEOUT')
    await letAge(id, 24 * 6)
    await judge()
    // No attempt was made meanwhile, which is not a failure.
    expect(await read()).toMatchObject({ status: 'enabled' })
    await attempt('TIMEOUT', 12)
    await announce(workspaceId)
    expect([await judge(), await judge()]).toEqual([1, 0])
    expect(await read()).toMatchObject({ status: 'disabled', disabled_reason: 'FAILING' })
    const entries = await database.db.selectFrom('audit_entry').selectAll().execute()
    expect(entries).toMatchObject([
      { actor: 'system', workspace_id: workspaceId, action: 'disableFailingWebhook', target: id, user_id: null },
    ])
    const { db } = database
    const statuses = await db.selectFrom('delivery').select('status').orderBy('status').execute()
    expect(statuses.map(({ status }) => status)).toEqual(['exhausted', 'paused', 'paused'])
    await announce(workspaceId)
    await changeEndpoint(db, { workspaceId, id }, { status: 'enabled' })
    const recovery = { workspaceId, endpointId: id, since: new Date(Date.now() - 60_000), dryRun: false }
    expect(await recoverDeliveries(db, recovery)).toMatchObject({ count: 4 })
    expect(await mails()).toEqual([...toBoth('endpoint-disabled'), ...toBoth('endpoint-failing')])
  })

  it.each([
    ['a success', ({ attempt }: Awaited<ReturnType<typeof given>>) => attempt(null)],
    [
      'another target',
      ({ workspaceId, id }: Awaited<ReturnType<typeof given>>) =>
        changeEndpoint(
          database.db,
          { workspaceId, id },
          { target: { targetUrl: 'https://new.example/', url: new URL('https://new.example/') } },
        ),
    ],
    [
      'enabling it',
      ({ workspaceId, id }: Awaited<ReturnType<typeof given>>) =>
        changeEndpoint(database.db, { workspaceId, id }, { status: 'enabled' }),
    ],
  ])('starts from zero again after %s', async (_what, act) => {
    const one = await given()
    await one.attempt('TIMEOUT')
    await letAge(one.id, 24 * 6)
    await judge()
    await act(one)
    expect(await one.read()).toMatchObject({ failing_since: null, failing_notices: 0 })
    await one.attempt('TIMEOUT')
    expect(await judge()).toBe(0)
    expect(await one.read()).toMatchObject({ status: 'enabled' })
  })

  it('does not count our own errors', async () => {
    const { read, attempt } = await given()
    await attempt('INTERNAL')
    expect(await read()).toMatchObject({ failing_since: null })
  })

  it('is not disabled by our own error after days of failures', async () => {
    const { id, read, attempt } = await given()
    await attempt('TIMEOUT')
    await letAge(id, 24 * 6)
    await attempt('INTERNAL')
    await judge()
    expect(await read()).toMatchObject({ status: 'enabled' })
  })

  it('starts from zero again after a success that is recorded later than a following failure', async () => {
    const { id, read, attempt } = await given()
    await attempt('TIMEOUT')
    await letAge(id, 24 * 6)
    await attempt('TIMEOUT')
    await attempt(null, 0, 60_000)
    expect(await judge()).toBe(0)
    expect(await read()).toMatchObject({ status: 'enabled', failing_notices: 0, failing_since: expect.any(Date) })
  })

  it('starts from zero again after a success that a dispatcher of the previous version recorded', async () => {
    const { id, read, attempt } = await given()
    await attempt('TIMEOUT')
    await letAge(id, 24 * 6)
    await sql`
      update webhook_endpoint set last_delivery_at = now() - interval '1 hour', last_delivery_status = 'delivered'
       where id = ${id}`.execute(database.db)
    expect(await judge()).toBe(0)
    await attempt('TIMEOUT')
    expect(await judge()).toBe(0)
    expect(await read()).toMatchObject({ status: 'enabled', failing_notices: 0 })
  })

  it('sends no notice to an account that is erased meanwhile', async () => {
    const { workspaceId, id, attempt } = await given()
    await attempt('TIMEOUT')
    await letAge(id, 30)
    const { db } = database
    const { user_id: owner } = await db
      .selectFrom('membership')
      .select('user_id')
      .where('workspace_id', '=', workspaceId)
      .where('role', '=', 'owner')
      .executeTakeFirstOrThrow()
    let hasJudged = false
    let judging: Promise<unknown> = Promise.resolve()
    await db.transaction().execute(async (tx) => {
      await tx.updateTable('app_user').set({ erased_at: new Date() }).where('id', '=', owner).execute()
      judging = judge().then(() => {
        hasJudged = true
      })
      await until('the judge waits, or has not', async () => {
        const { rows } = await sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
        return hasJudged || rows.length > 0
      })
    })
    await judging
    expect(await mails()).toEqual(['endpoint-failing admin'])
  })

  it('leaves failed deliveries recoverable, also if a dispatcher claims one at the moment of disabling', async () => {
    const { workspaceId, id, attempt } = await given()
    const { db } = database
    await attempt('TIMEOUT', 12)
    await announce(workspaceId)
    await makeDue(db)
    const claimed = [await claimOne(db), await claimOne(db)]
    await sql`update webhook_endpoint set status = 'disabled', disabled_reason = 'FAILING' where id = ${id}`.execute(db)
    for (const one of claimed) await setAsideDelivery(db, one)
    const rows = await db.selectFrom('delivery').select(['status', 'attempt']).orderBy('attempt').execute()
    expect(rows).toEqual([
      { status: 'paused', attempt: 0 },
      { status: 'paused', attempt: 1 },
    ])
  })

  it('is evaluated by one of eight replicas', async () => {
    const { id, attempt } = await given()
    await attempt('TIMEOUT')
    await letAge(id, 30)
    const judged = await Promise.all(Array.from({ length: 8 }, judge))
    expect(judged.reduce((sum, count) => sum + count, 0)).toBe(1)
    expect(await mails()).toEqual(toBoth('endpoint-failing'))
  })
})

describe('a dispatcher with a failing endpoint', () => {
  it('disables it at the next failure after five days', async () => {
    await writeSetting(database.db, 'webhooks.allowedTargets', ['127.0.0.1:*'])
    const receiver = await startReceiver((response) => response.writeHead(500).end())
    ends.push(() => receiver.close())
    const { workspaceId, id, attempt } = await given(receiver.url)
    await attempt('TIMEOUT')
    await letAge(id, 24 * 5 + 1)
    await announce(workspaceId)
    const failed = spawnDispatcher({ DATABASE_URL: database.url })
    ends.push(async () => {
      const dispatcher = await failed
      dispatcher.kill('SIGKILL')
      await dispatcher.exited
    })
    await failed
    await until('the receiver was asked', () => receiver.received.length > 0)
    // The loop runs once a minute, and once at start.
    const second = await spawnDispatcher({ DATABASE_URL: database.url })
    ends.push(async () => {
      second.kill('SIGKILL')
      await second.exited
    })
    const endpoint = await until('the endpoint is disabled', async () => {
      const row = await findEndpoint(database.db, workspaceId, id)
      return row?.status === 'disabled' && row
    })
    expect(endpoint.disabled_reason).toBe('FAILING')
  })
})
