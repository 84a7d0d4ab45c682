// Every route that changes something leaves an entry in the audit log, in the transaction of the change (D74). The
// routes come from the router, so a new one without a scenario or another record fails here.
import { randomUUID } from 'node:crypto'
import { readConfig } from '@matte/api/config'
import { buildServices } from '@matte/api/services'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { smallImage, useApi } from '../api/given.ts'
import { givenPerson } from '../support/app/people.ts'
import { until } from '../support/until.ts'
import { credentialOf, operatorToken, type Scenario, scenariosOf } from './audit-scenarios.ts'

const world = useApi({
  ...{ OPEN_REQUESTS_PER_MINUTE: '1000000', OPERATOR_TOKEN: operatorToken, TASKS_MAX_WAIT_SECONDS: '1' },
  UPLOADS_FETCH_URLS: 'true',
})

/** Routes without an entry, by the record that their transaction leaves instead. */
const recordedElsewhere: Readonly<Record<string, string>> = {
  // The row names the key, and the member or the creator of the key; the next test reads it.
  'POST /api/v1/open/developer/uploads/presign': 'upload',
  'POST /api/v1/open/developer/uploads/fetch': 'upload, upload_fetch',
  'POST /api/v1/open/developer/tasks': 'task, and its history',
  'POST /api/v1/open/developer/cut-outs': 'task, and its history',
  'POST /api/v1/open/developer/batch-tasks': 'batch, task',
  'POST /v1/tasks': 'task, and its history',
  'POST /v1.0/improve': 'nothing changes',
  'POST /api/remove': 'task, and its history',
  'POST /v1.0/removebg': 'task, and its history',
  // Without a dispatcher the request ends in an error; a test below has its entry.
  'POST /api/v1/app/tasks/uploads/fetch': 'audit_entry',
  'PUT *': 'the object store checks the signed URL; the row of the upload',
  // Not signed in, and nothing that belongs to a person changes before the mailed link is followed.
  'POST /api/v1/app/auth/register': 'account_request, mail',
  'POST /api/v1/app/auth/verify-email/resend': 'account_request, mail',
  'POST /api/v1/app/auth/password/forgot': 'account_request, mail',
  'POST /api/v1/app/pages/register': 'account_request, mail',
  'POST /api/v1/app/pages/verify-email/resend': 'account_request, mail',
  'POST /api/v1/app/pages/forgot-password': 'account_request, mail',
  // Sign-ins, with address, user agent and method.
  'POST /api/v1/app/auth/verify-email': 'login_event',
  'POST /api/v1/app/auth/login': 'login_event',
  'POST /api/v1/app/auth/refresh': 'session',
  'POST /api/v1/app/auth/2fa/verify': 'login_event',
  'POST /api/v1/app/pages/verify-email': 'login_event',
  'POST /api/v1/app/pages/login': 'login_event',
  'POST /api/v1/app/pages/login/code': 'login_event',
  // The code step of a page whose first step is below; both call the same function.
  'POST /api/v1/app/pages/confirm-email/code': 'audit_entry',
  'POST /api/v1/app/pages/teams/accept/code': 'audit_entry',
  'POST /api/v1/app/payments/providers/:provider/events': 'provider_event',
  'POST /api/v1/app/payments/sandbox/disputes/:orderId': 'sandbox_event, provider_event; the sandbox only',
  'POST /api/v1/app/pages/checkout': 'sandbox_event, provider_event; the sandbox only',
}

const scenarios = scenariosOf(world)

async function readRoutes(): Promise<string[]> {
  const none = { DATABASE_URL: 'postgres://nobody@matte.invalid/matte', NATS_URL: 'nats://matte.invalid' }
  const store = { S3_ENDPOINT: 'http://matte.invalid', S3_ACCESS_KEY_ID: 'nobody', S3_SECRET_ACCESS_KEY: 'nothing' }
  const doors = { LEGACY_ENABLED: 'true', DOORS_REMOVEBG: 'true', DOORS_REMBG: 'true' }
  const rembg = { DOORS_REMBG_WORKSPACE: randomUUID(), DOORS_REMBG_NETWORKS: '10.0.0.0/8' }
  const masterKeys = `none:${Buffer.alloc(32).toString('base64')}`
  const { app } = await buildServices(
    readConfig({
      ...{ ...none, ...store, ...doors, ...rembg, MASTER_KEYS: masterKeys },
      ...{ PUBLIC_URL: 'https://matte.invalid', LOG_LEVEL: 'silent', OPERATOR_TOKEN: operatorToken },
    }),
  )
  return changingRoutes(app.printRoutes({ commonPrefix: false }))
}

/** `METHOD /path` of each route that is not read-only, from the router's tree. */
function changingRoutes(tree: string): string[] {
  const parents: string[] = []
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', path = '', methods = ''] = /^([│ ]*)[├└]── (\S*)(?: \(([^)]+)\))?/.exec(line) ?? []
    if (path === '') return []
    const depth = indent.length / 4
    parents.splice(depth, parents.length, (parents[depth - 1] ?? '') + path)
    const changing = methods.split(', ').filter((method) => !['', 'GET', 'HEAD'].includes(method))
    return changing.map((method) => `${method} ${parents[depth]}`)
  })
}

/** PostgreSQL refuses entries of requests whose own id begins with `refused`. */
beforeAll(async () => {
  await sql`create function refuse_entry() returns trigger language plpgsql as $$
    begin raise exception 'refused by the test'; end $$`.execute(world.db)
  await sql`create trigger refuse_entry before insert on audit_entry for each row
    when (new.client_request_id like 'refused%') execute function refuse_entry()`.execute(world.db)
})

async function send(method: string, { as, path, body, form }: Scenario, requestId: string): Promise<number> {
  const type = form ? 'application/x-www-form-urlencoded' : 'application/json'
  const response = await fetch(world.api.url + path, {
    method,
    headers: {
      ...credentialOf(as),
      ...{ 'x-request-id': requestId, 'user-agent': 'walk/1', prefer: 'wait=1' },
      ...((body ?? form) && { 'content-type': type }),
    },
    ...(body && { body: JSON.stringify(body) }),
    ...(form && { body: new URLSearchParams(form).toString() }),
  })
  await response.arrayBuffer()
  return response.status
}

const entriesOf = (clientRequestId: string) =>
  world.db.selectFrom('audit_entry').selectAll().where('client_request_id', '=', clientRequestId).execute()

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

it('every route that changes something has a scenario or another record', async () => {
  const known = [...Object.keys(scenarios), ...Object.keys(recordedElsewhere)]
  const routes = await readRoutes()
  expect(routes.length).toBeGreaterThan(80)
  expect(routes.toSorted()).toEqual(known.toSorted())
})

describe.each(Object.keys(scenarios))('%s', (route) => {
  it('fails without its entry, and then leaves one', async () => {
    const scenario = await (scenarios[route] as () => Promise<Scenario>)()
    const [method = ''] = route.split(' ')
    const [refused, done] = [`refused ${randomUUID()}`, `done ${randomUUID()}`]
    expect(await send(method, scenario, refused)).toBe(500)
    // The refused change was not committed, so the same request is possible.
    expect(await send(method, scenario, done)).toBeLessThan(300)
    const entries = await entriesOf(done)
    expect(entries).toHaveLength(scenario.entries ?? 1)
    for (const entry of entries) {
      expect(entry).toMatchObject({
        ...{ user_id: null, api_key_id: null, action: expect.stringMatching(/^\w+$/) },
        ...{ ip_address: '127.0.0.1', user_agent: 'walk/1', request_id: expect.stringMatching(uuid) },
        ...scenario.entry,
      })
    }
    expect(await entriesOf(refused)).toEqual([])
  })
})

it('rows of a key name it, and leave no entry', async () => {
  const { client, apiKeyId, workspaceId } = await world.caller({ plan: 'internal' })
  const objectKey = await client.upload(await smallImage())
  const { id } = await client.createTask({ imageUrl: objectKey })
  const batch = await client.call<{ id: string }>('POST', '/batch-tasks', { body: { imageUrls: [objectKey] } })
  const keyOf = (table: 'task' | 'batch' | 'upload', column: 'id' | 'object_key', value: string) =>
    world.db.selectFrom(table).select('api_key_id').where(sql.ref(column), '=', value).executeTakeFirst()
  for (const row of [
    await keyOf('task', 'id', id),
    await keyOf('batch', 'id', batch.data.id),
    await keyOf('task', 'id', id),
    await keyOf('upload', 'object_key', objectKey),
  ]) {
    expect(row).toEqual({ api_key_id: apiKeyId })
  }
  const entries = world.db.selectFrom('audit_entry').select('id').where('workspace_id', '=', workspaceId)
  expect(await entries.execute()).toEqual([])
})

it('an upload by URL of a member has an entry', async () => {
  const someone = await givenPerson(world.db, world.api)
  const id = `done ${randomUUID()}`
  const leaving = new AbortController()
  // No dispatcher runs here, so the caller leaves once the upload is asked for.
  const left = fetch(`${world.api.url}/api/v1/app/tasks/uploads/fetch`, {
    ...{ method: 'POST', signal: leaving.signal, body: JSON.stringify({ url: 'https://93.184.216.34/a.png' }) },
    headers: { ...credentialOf(someone), 'content-type': 'application/json', 'x-request-id': id },
  }).catch(() => undefined)
  await until('the entry is there', async () => (await entriesOf(id)).length > 0)
  leaving.abort()
  await left
  expect(await entriesOf(id)).toMatchObject([{ action: 'appFetchUpload', user_id: someone.userId }])
})

it('a refused request leaves no entry', async () => {
  const someone = await givenPerson(world.db, world.api)
  const other = await givenPerson(world.db, world.api)
  const id = `denied ${randomUUID()}`
  const scenario = { as: someone, path: `/api/v1/app/auth/sessions/${other.sessionId}`, entry: { actor: 'member' } }
  expect(await send('DELETE', scenario as Scenario, id)).toBe(404)
  expect(await entriesOf(id)).toEqual([])
})
