// Data that a failover may lose: sign-ins and request counts commit without waiting for the standby, and counters are
// in unlogged tables, which are empty on it. docs/operations/failover.md states the effects.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { rootDir } from '@matte/local/paths'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { startApi, type TestApi } from '../../support/api.ts'
import { createAppClient } from '../../support/app/app-client.ts'
import { type Account, givenAccount, newPassword, type SignedIn } from '../../support/app/sign-in/accounts.ts'
import { createTestDatabase, makeTemplate, type TestDatabase } from '../../support/database.ts'
import { givenWorkspace } from '../../support/factories.ts'
import { findBrokenRules } from '../../support/invariants.ts'
import { until } from '../../support/until.ts'
import { type Replicated, startReplicated } from './replicated.ts'

const limit = 20
const unlogged = ['inference_window', 'login_failure', 'mail_room', 'rate_window']
const invalid = { status: 401, code: 'AUTH_INVALID_TOKEN' }
const delayed = { status: 429, code: 'RATE_LIMIT_EXCEEDED' }

let pair: Replicated
let database: TestDatabase
let api: TestApi
let account: Account
let apiKey: string

beforeAll(async () => {
  const dir = join(inject('runDir'), 'lost-by-design')
  mkdirSync(dir, { recursive: true, mode: 0o755 })
  pair = await startReplicated(dir)
  await makeTemplate(pair.url)
  database = await createTestDatabase(pair.url)
  const plans = JSON.stringify({ pro: { requestsPerMinute: limit } })
  api = await startApi({ DATABASE_URL: database.url, OPEN_REQUESTS_PER_MINUTE: '1000000', PLANS: plans })
  account = await givenAccount({ db: database.db, api })
  const { id: workspaceId } = await givenWorkspace(database.db, { plan: 'pro' })
  const key = generateApiKey()
  await insertApiKey(database.db, key, { workspaceId, name: 'test', scopes, expiresAt: null })
  apiKey = key.key
  await pair.addStandby()
})
afterAll(async () => {
  await api?.stop()
  await database?.db.destroy()
  await pair?.stop()
})

const logIn = (password = account.password) =>
  createAppClient(api.url).call<SignedIn>('POST', '/auth/login', { body: { email: account.email, password } })
const refresh = ({ refreshToken }: Pick<SignedIn, 'refreshToken'>) =>
  createAppClient(api.url).call<SignedIn>('POST', '/auth/refresh', { body: { refreshToken } })
const balanceWith = ({ accessToken }: Pick<SignedIn, 'accessToken'>) =>
  createAppClient(api.url, accessToken).call('GET', '/credits/balance')
const statusOf = async (): Promise<number> => {
  const response = await fetch(`${api.url}/api/v1/open/developer/signing-secret`, { headers: { 'x-api-key': apiKey } })
  await response.arrayBuffer()
  return response.status
}
const untilLimited = () => until('the workspace reaches its limit', async () => (await statusOf()) === 429)
const untilDelayed = () =>
  until('wrong passwords have to wait', () =>
    logIn(newPassword()).then(
      () => false,
      ({ status, code }: typeof delayed) => status === delayed.status && code === delayed.code,
    ),
  )

async function countRows(): Promise<Record<string, number>> {
  const counts = unlogged.map(async (table) => {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from ${sql.table(table)}`.execute(
      database.db,
    )
    return [table, rows[0]?.count ?? 0] as const
  })
  return Object.fromEntries(await Promise.all(counts))
}

describe('a failover', () => {
  it('may sign out a user who signed in right before it, who then signs in again', async () => {
    pair.replication.freeze()
    const { data: lost } = await logIn()
    await expect(balanceWith(lost)).resolves.toMatchObject({ status: 200 })
    await pair.primary.kill()
    await pair.promote()
    await until('the service answers', () => balanceWith(account.tokens))

    await until('the lost session ends', async () => {
      const error = await balanceWith(lost).catch((reason: unknown) => reason)
      expect(error).toMatchObject(invalid)
      return true
    })
    await expect(refresh(lost)).rejects.toMatchObject(invalid)
    await expect(refresh(account.tokens)).resolves.toMatchObject({ status: 200 }) // signed in long before
    const { data: again } = await logIn()
    await expect(balanceWith(again)).resolves.toMatchObject({ status: 200 })
    await expect(refresh(again)).resolves.toMatchObject({ status: 200 })
  })

  it('restarts the counters, which then count and limit as before', async () => {
    await pair.addStandby()
    await untilLimited()
    await untilDelayed()
    expect(await countRows()).toMatchObject({
      rate_window: expect.toSatisfy((count: number) => count > 0),
      login_failure: expect.toSatisfy((count: number) => count > 0),
    })
    await pair.primary.kill()
    await pair.promote()
    const empty = Object.fromEntries(unlogged.map((table) => [table, 0]))
    expect(await until('the database answers', countRows)).toEqual(empty)

    await until('the service answers', () => balanceWith(account.tokens))
    await expect(logIn(newPassword())).rejects.toMatchObject(invalid) // no delay any more
    await expect(logIn()).resolves.toMatchObject({ status: 200 })
    await untilDelayed()
    await until('the workspace is served', async () => (await statusOf()) === 200)
    await untilLimited()
    expect(await findBrokenRules(database.db)).toEqual({})
  })

  it('empties the tables that the page names, and no others', async () => {
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_class
       where relpersistence = 'u' and relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`.execute(
      database.db,
    )
    expect(rows.map(({ name }) => name)).toEqual(unlogged)
    const page = readFileSync(join(rootDir, 'docs/operations/failover.md'), 'utf8')
    for (const table of unlogged) expect(page).toContain(`\`${table}\``)
  })
})
