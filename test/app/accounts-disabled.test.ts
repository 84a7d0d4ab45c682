// An installation with ACCOUNTS_ENABLED=false, and switching accounts off and on over existing data.
import { randomUUID } from 'node:crypto'
import { publishEvent } from '@matte/core/webhook/publish-event'
import { sql } from 'kysely'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { useWebhooks } from '../api/webhook-parts.ts'
import { spawnDispatcher, untilStarted } from '../dispatcher/dispatcher-process.ts'
import { type MailServer, mailEnv, startMailServer } from '../dispatcher/mail-server.ts'
import { admin } from '../support/admin.ts'
import { startApi, type TestApi } from '../support/api.ts'
import { givenPerson } from '../support/app/people.ts'
import { until } from '../support/until.ts'

type Document = {
  readonly paths: object
  readonly tags: readonly { readonly name: string }[]
  readonly components: { readonly schemas: object; readonly securitySchemes: object }
}

const disabled = { ACCOUNTS_ENABLED: 'false' }
const world = useWebhooks({ OPEN_REQUESTS_PER_MINUTE: '1000000' })
let api: TestApi
beforeAll(async () => {
  api = await startApi({ DATABASE_URL: world.databaseUrl, ...disabled })
  return () => api.stop()
})

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function startDispatcher(env: Record<string, string>, mails?: MailServer) {
  const masterKeys = `test:${Buffer.alloc(32, 1).toString('base64')}`
  const dispatcher = await spawnDispatcher({
    DATABASE_URL: world.databaseUrl,
    MASTER_KEYS: masterKeys,
    APP_URL: 'https://app.example.com',
    ...(mails && mailEnv(mails.url)),
    ...env,
  })
  const stop = async () => {
    dispatcher.kill('SIGTERM')
    await dispatcher.exited
  }
  ends.push(stop)
  await untilStarted(dispatcher)
  return { ...dispatcher, stop }
}

const createWorkspace = () =>
  admin(['workspace', 'create', '--name', 'Build farm'], { DATABASE_URL: world.databaseUrl, ...disabled })

const lowBalance = (workspaceId: string) =>
  publishEvent(world.db, {
    ...{ event: 'credits.low_balance', fields: { balance: 9, message: 'Few credits.' } },
    ...{ key: randomUUID(), workspaceId, userId: null },
  })

const eventsWaiting = async (): Promise<number> =>
  (await sql`select from notification_due`.execute(world.db)).rows.length

describe('an installation without accounts', () => {
  it('serves the Developer API; App API paths return 404 and are not in the OpenAPI document', async () => {
    const paths = ['/api/v1/app/auth/login', '/api/v1/app/users/me', '/api/v1/app/pages/login']
    for (const path of [...paths, '/api/v1/.well-known/jwks.json']) {
      expect((await fetch(`${api.url}${path}`)).status, path).toBe(404)
    }
    const document = (await (await fetch(`${api.url}/api/v1/openapi.json`)).json()) as Document
    const served = Object.keys(document.paths)
    expect(served).toContain('/api/v1/open/developer/tasks')
    expect(served.filter((path) => path.startsWith('/api/v1/app'))).toEqual([])
    expect(document.tags.map(({ name }) => name)).not.toContain('Sign-in')
    expect(Object.keys(document.components.securitySchemes)).toEqual(['apiKey'])
    expect(Object.keys(document.components.schemas)).not.toContain('Team')
  })

  it('creates workspaces on plan internal with matte-admin, and delivers their webhooks', async () => {
    const { workspaceId, apiKey } = await createWorkspace()
    const row = await world.db
      .selectFrom('workspace')
      .select('plan')
      .where('id', '=', String(workspaceId))
      .executeTakeFirstOrThrow()
    expect(row.plan).toBe('internal')
    const receiver = await world.receiver()
    await startDispatcher(disabled)
    const client = api.client(String(apiKey))
    const body = { targetUrl: receiver.url, eventTypes: ['credits.low_balance'] }
    await until('the endpoint is created', () => client.call('POST', '/webhooks', { body }).catch(() => undefined))
    await lowBalance(String(workspaceId))
    await until('the webhook arrives', () => receiver.received.length > 0)
    expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({ event: 'credits.low_balance', balance: 9 })
  })

  it('fails to start with a payment provider', async () => {
    const env = { DATABASE_URL: world.databaseUrl, ...disabled, PAYMENTS_PROVIDER: 'sandbox' }
    await expect(startApi(env)).rejects.toThrow('ACCOUNTS_ENABLED is false')
  })
})

describe('disabling accounts', () => {
  it('deletes pending events after 90 days', async () => {
    const { workspaceId } = await givenPerson(world.db, world.api)
    await sql`delete from notification_due`.execute(world.db)
    await lowBalance(workspaceId)
    await lowBalance(workspaceId)
    await sql`
      update notification_due set at = at - interval '90 days'
       where id = (select min(id) from notification_due)`.execute(world.db)
    await startDispatcher(disabled)
    await until('the old event is deleted', async () => (await eventsWaiting()) === 1)
  })

  it('keeps events: after re-enabling, members get all notifications and mails for recent events', async () => {
    const { client, userId, workspaceId } = await givenPerson(world.db, world.api)
    const mails = await startMailServer()
    ends.push(() => mails.close())
    const without = await startDispatcher(disabled, mails)
    await sql`delete from notification_due`.execute(world.db) // rows of other tests
    await lowBalance(workspaceId)
    await lowBalance(workspaceId)
    await sql`
      update notification_due set at = at - interval '2 days'
       where id = (select min(id) from notification_due)`.execute(world.db)
    await without.stop()
    expect(await eventsWaiting()).toBe(2)

    await startDispatcher({}, mails)
    await until('both events are notified', async () => (await eventsWaiting()) === 0)
    const { data } = await client.call<{ items: { type: string }[] }>('GET', '/notifications')
    expect(data.items.filter(({ type }) => type === 'credits.low_balance')).toHaveLength(2)
    await until('the mail of the recent one is sent', () => mails.received.length > 0)
    const { rows: queued } = await sql`select from mail where user_id = ${userId}`.execute(world.db)
    expect(queued).toHaveLength(1)
  })
})
