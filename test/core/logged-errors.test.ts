// PostgreSQL's errors in the log: code, message and constraint, without the texts that repeat values of rows.
import { createLogger } from '@matte/core/runtime/logger'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { givenCaller } from '../api/given.ts'
import { startApi, type TestApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { onePixelPng } from '../support/factories.ts'
import { useStack } from '../support/stack.ts'

type Line = { readonly msg: string; readonly err?: { readonly code: string; readonly message: string } }

const words = 'private words'

describe('a request that fails in PostgreSQL is logged without values of rows', () => {
  const database = useDatabase()
  const lines: string[] = []
  let api: TestApi
  beforeAll(async () => {
    const logger = createLogger('api', 'debug', { write: (line) => void lines.push(line) })
    api = await startApi({ DATABASE_URL: database.url }, logger)
  })
  afterAll(() => api.stop())

  /** Creates a webhook with the private words as its description, and returns the lines logged meanwhile. */
  async function createWebhook(): Promise<{ all: string; failed: Line | undefined }> {
    const { client } = await givenCaller(database.db, api)
    lines.length = 0
    const body = { targetUrl: 'https://93.184.216.34/', description: words }
    await expect(client.call('POST', '/webhooks', { body })).rejects.toMatchObject({ code: 'SYSTEM_INTERNAL_ERROR' })
    const failed = lines.map((line) => JSON.parse(line) as Line).find(({ msg }) => msg === 'request failed')
    return { all: lines.join(''), failed }
  }

  /** Runs this body of PL/pgSQL before each insert of a webhook. */
  async function beforeInsert(body: string): Promise<void> {
    await sql
      .raw(`create or replace function fail() returns trigger language plpgsql as $$ begin ${body} end $$`)
      .execute(database.db)
    await sql
      .raw('create or replace trigger fail before insert on webhook_endpoint for each row execute function fail()')
      .execute(database.db)
  }

  it('by a unique violation, whose detail has the key', async () => {
    await sql`create unique index only_one on webhook_endpoint (description)`.execute(database.db)
    const { client } = await givenCaller(database.db, api)
    await client.call('POST', '/webhooks', { body: { targetUrl: 'https://93.184.216.34/', description: words } })
    const { all, failed } = await createWebhook()
    expect(failed?.err).toMatchObject({ code: '23505', table: 'webhook_endpoint', constraint: 'only_one' })
    expect(failed?.err?.message).toContain('duplicate key value violates unique constraint')
    expect(all).not.toContain(words)
    await sql`drop index only_one`.execute(database.db)
  })

  it.each([
    ['hint', `raise exception 'refused' using errcode = '22023', hint = new.description;`, '22023'],
    [
      'query of a function',
      `execute format('select from nothing where description = %L', new.description); return new;`,
      '42P01',
    ],
    [
      'context of a function',
      `execute format('do %L', format('begin perform %L; perform 1 / 0; end', new.description)); return new;`,
      '22012',
    ],
  ])('by an error with a %s', async (_what, body, code) => {
    await beforeInsert(body)
    const { all, failed } = await createWebhook()
    expect(failed?.err).toMatchObject({ code })
    expect(all).not.toContain(words)
  })
})

describe('a loop that fails in PostgreSQL is logged without values of rows', () => {
  const stack = useStack({ processes: ['api'] })

  it.each([
    ['worker', 'task', 'claiming failed; the timer retries'],
    ['dispatcher', 'delivery', 'loop pass failed'],
  ] as const)('by the %s', async (name, table, msg) => {
    const { client, db } = stack
    const refuse = `raise exception 'refused' using errcode = '23505', detail = '${words}';`
    await sql
      .raw(`create or replace function refuse() returns trigger language plpgsql as $$ begin ${refuse} end $$`)
      .execute(db)
    await sql.raw(`create trigger r before update on ${table} for each row execute function refuse()`).execute(db)
    const process = await stack.start(name)
    await client.createTask({ imageUrl: await client.upload(onePixelPng) })
    const body = { targetUrl: 'https://93.184.216.34/' }
    const { data } = await client.call<{ id: string }>('POST', '/webhooks', { body })
    await client.call('POST', `/webhooks/${data.id}/test`, { headers: { prefer: 'wait=0' } })
    await process.untilLogged(msg, (line) => (line as Partial<Line>).err?.code === '23505')
    expect(JSON.stringify(process.log())).not.toContain(words)
    await process.stop()
  })
})
