// Kills PostgreSQL and the API in turn under a stream of creations. Clients log their responses; at the end the
// database must match this log, task by task and credit by credit. `SOAK_ROUNDS` is the number of kills (200 in `make
// soak`; default 20).
import { randomInt, randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { grantCredits } from '@matte/core/credit/lot-queries'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { insertWorkspace } from '@matte/core/workspace/workspace-queries'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createClient } from '../support/client.ts'
import { createTestDatabase, makeTemplate, type TestDatabase } from '../support/database.ts'
import { watchFailures } from '../support/has-failed.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { newPrefix } from '../support/nats.ts'
import { showLog, startTestProcess, type TestProcess } from '../support/processes.ts'
import { type OwnServer, ownPostgres } from '../support/servers.ts'
import { createTestBucket, newBucketName, sharedStore } from '../support/store.ts'
import { until } from '../support/until.ts'
import { smallImage } from './given.ts'

const rounds = Number(process.env.SOAK_ROUNDS ?? 20)
const clients = 6
const credits = 1_000_000_000

/** A private server: the shared PostgreSQL may lose commits at a crash, which this test checks. */
const durable = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' }

/** Clients' log: id by key, and all other responses by kind. */
type Log = { readonly accepted: Map<string, string>; readonly others: Map<string, number> }

let server: OwnServer
let database: TestDatabase
let api: TestProcess
let dir: string
let env: Record<string, string>
let workspaceId: string
let apiKey: string
let imageUrl: string
const hasFailed = watchFailures()

beforeAll(async () => {
  dir = join(inject('runDir'), 'kill-loop')
  mkdirSync(dir, { recursive: true, mode: 0o755 })
  const say = (line: string) => void process.stdout.write(`[servers] ${line}\n`)
  server = await ownPostgres({ dir, say }, undefined, durable)
  await makeTemplate(server.url)
  database = await createTestDatabase(server.url)
  const store = sharedStore()
  const bucket = await createTestBucket(store, { name: newBucketName() })
  bucket.close()
  env = {
    DATABASE_URL: database.url,
    NATS_URL: inject('natsUrl'),
    NATS_STREAM_PREFIX: newPrefix(),
    S3_ENDPOINT: store.endpoint,
    S3_BUCKET: bucket.name,
    S3_ACCESS_KEY_ID: store.accessKeyId,
    S3_SECRET_ACCESS_KEY: store.secretAccessKey,
    MASTER_KEYS: `test:${Buffer.alloc(32, 1).toString('base64')}`,
    PLANS: JSON.stringify({
      pro: { concurrentTasks: 1_000_000, monthlyQuota: 1_000_000, requestsPerMinute: 1_000_000 },
    }),
  }
  ;({ id: workspaceId } = await insertWorkspace(database.db, { name: 'kill loop', plan: 'pro' }))
  await grantCredits(database.db, { workspaceId, kind: 'test', amount: credits })
  const key = generateApiKey()
  await insertApiKey(database.db, key, { workspaceId, name: 'test', scopes, expiresAt: null })
  apiKey = key.key
  api = await startTestProcess('api', dir, env)
  imageUrl = await createClient(api.url, apiKey).upload(await smallImage())
})
afterAll(async () => {
  if (hasFailed() && api) process.stdout.write(`${showLog(api)}\n`)
  await api?.stop()
  await database?.db.destroy()
  await server?.stop()
})

/** Sends one try. Returns the kind of response, and the id of an accepted task. */
async function create(key: string): Promise<{ kind: string; id?: string }> {
  const response = await fetch(`${api.url}/api/v1/open/developer/tasks`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify({ imageUrl }),
    signal: AbortSignal.timeout(60_000), // a bound against hanging
  }).catch(() => undefined)
  const body = await response?.json().catch(() => undefined)
  if (response === undefined || body === undefined) return { kind: 'no answer' }
  if (response.status === 201) return { kind: 'accepted', id: (body as { data: { id: string } }).data.id }
  const { error } = body as { error: { code: string; details: Record<string, unknown> } }
  const retryAfter = Number(response.headers.get('retry-after'))
  const kind = error.code === 'RATE_LIMIT_EXCEEDED' ? `${error.code} ${String(error.details.limit)}` : error.code
  return { kind: retryAfter >= 1 ? `${kind} with Retry-After` : kind }
}

/** Creates tasks sequentially; repeats a try without a clear response under the same key. */
async function keepCreating(log: Log, stopped: () => boolean): Promise<void> {
  while (!stopped()) {
    const key = randomUUID()
    await until('the creation is accepted', async () => {
      const { kind, id } = await create(key)
      if (id !== undefined) log.accepted.set(key, id)
      else log.others.set(kind, (log.others.get(kind) ?? 0) + 1)
      return id !== undefined
    })
  }
}

async function killOne(round: number): Promise<void> {
  const which = ['postgres', 'api', 'both'][round % 3] ?? 'both'
  if (which !== 'api') await server.kill('SIGKILL')
  if (which !== 'postgres') {
    await api.kill('SIGKILL')
    await api.untilEnded()
  }
  if (which !== 'api') await server.start()
  if (which !== 'postgres') api = await startTestProcess('api', dir, env)
}

const timeoutMs = 60_000 + rounds * 30_000 // a bound against hanging

describe('killing PostgreSQL and the API under load', () => {
  it(`loses no accepted task and charges none twice, ${rounds} times`, { timeout: timeoutMs }, async () => {
    const log: Log = { accepted: new Map(), others: new Map() }
    let stopped = false
    const creating = Array.from({ length: clients }, () => keepCreating(log, () => stopped))
    for (let round = 0; round < rounds; round++) {
      const enough = log.accepted.size + randomInt(1, 40)
      await until(`the service accepts again (round ${round + 1})`, () => log.accepted.size >= enough)
      await killOne(round)
    }
    const last = log.accepted.size
    await until('the service accepts after the last kill', () => log.accepted.size > last)
    stopped = true
    await Promise.all(creating)
    process.stdout.write(`${log.accepted.size} accepted; also ${JSON.stringify(Object.fromEntries(log.others))}\n`)

    // Only errors that clients can retry under the same key.
    for (const kind of log.others.keys()) {
      expect([
        'no answer',
        'SYSTEM_INTERNAL_ERROR with Retry-After',
        'RATE_LIMIT_EXCEEDED capacity with Retry-After',
        'CONFLICT with Retry-After',
      ]).toContain(kind)
    }
    await expectAgreement([...log.accepted.values()])
  })
})

/** The database has exactly the clients' tasks, each charged once. */
async function expectAgreement(accepted: readonly string[]): Promise<void> {
  const { db } = database
  const known = [...accepted].sort()
  expect(new Set(known).size).toBe(known.length)
  const tasks = await db.selectFrom('task').select('id').where('workspace_id', '=', workspaceId).execute()
  expect(tasks.map(({ id }) => id).sort()).toEqual(known)
  const events = await db.selectFrom('task_event').select('task_id').where('type', '=', 'queued').execute()
  expect(events.map(({ task_id }) => task_id).sort()).toEqual(known)
  const holds = await db.selectFrom('credit_hold').select(['task_id', 'amount', 'state']).execute()
  expect(holds.map(({ task_id }) => task_id).sort()).toEqual(known)
  expect(new Set(holds.map(({ amount, state }) => `${amount} ${state}`))).toEqual(new Set(['1 open']))
  const count = known.length
  const { rows } = await sql`
    select (select quota_used from workspace where id = ${workspaceId}) as quota,
           (select open_singles from workspace where id = ${workspaceId}) as open,
           (select sum(created)::int from usage_day where workspace_id = ${workspaceId}) as usage,
           (select available from credit_lot where workspace_id = ${workspaceId}) as available,
           (select held from credit_lot where workspace_id = ${workspaceId}) as held`.execute(db)
  expect(rows).toEqual([{ quota: count, open: count, usage: count, available: credits - count, held: count }])
  expect(await findBrokenRules(db)).toEqual({})
}
