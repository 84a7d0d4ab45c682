// Sessions end after a week without use, and a person has at most twenty that are open.
import { decodeJwt } from 'jose'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { admin } from '../support/admin.ts'
import { startApi, type TestApi } from '../support/api.ts'
import { createAppClient } from '../support/app/app-client.ts'
import type { SignedIn } from '../support/app/sign-in/accounts.ts'
import { password } from '../support/app/sign-in/given-password.ts'
import { letUsePass, sessionOfToken } from '../support/app/sign-in/token-rows.ts'
import { twoFactorWorld } from '../support/app/sign-in/two-factor-world.ts'
import { until } from '../support/until.ts'

const settings = { OPEN_REQUESTS_PER_MINUTE: '1000000', TRUSTED_PROXY_HOPS: '1' }
const world = useApi(settings)
const { person, protectedPerson } = twoFactorWorld(world)
let other: TestApi
beforeAll(async () => {
  const its = { DATABASE_URL: world.databaseUrl, PUBLIC_URL: world.api.url, SESSION_IDLE_HOURS: '1' }
  other = await startApi({ ...settings, ...its })
})
afterAll(() => other.stop())

const refused = { status: 401, code: 'AUTH_INVALID_TOKEN' }
const weekMinutes = 7 * 24 * 60
let networks = 0

type Tokens = Pick<SignedIn, 'accessToken' | 'refreshToken'>
type Login = Tokens & { readonly mfaToken: string }

/** Each from another network, because concurrent passwords of one network wait for each other. */
function logIn(email: string, url = world.api.url): Promise<Login> {
  networks += 1
  const headers = { 'x-forwarded-for': `198.51.${networks >> 8}.${networks & 255}` }
  return createAppClient(url)
    .call<Login>('POST', '/auth/login', { body: { email, password }, headers })
    .then(({ data }) => data)
}
async function logInTimes(email: string, count: number): Promise<Login[]> {
  const logins: Login[] = []
  while (logins.length < count) logins.push(await logIn(email))
  return logins
}

const refreshAt = (url: string, { refreshToken }: Tokens) =>
  createAppClient(url)
    .call<Tokens>('POST', '/auth/refresh', { body: { refreshToken } })
    .then(({ data }) => data)
const refresh = (tokens: Tokens) => refreshAt(world.api.url, tokens)
const letPass = async (tokens: Tokens, minutes: number) =>
  letUsePass(world.db, { sessionId: (await sessionOfToken(world.db, tokens)).id, minutes })

type Listed = { readonly items: readonly { readonly id: string }[]; readonly total: number }
const list = async ({ accessToken }: Tokens, url = world.api.url) =>
  (await createAppClient(url, accessToken).call<Listed>('GET', '/auth/sessions?pageSize=100')).data
const idOf = ({ accessToken }: Tokens) => String(decodeJwt(accessToken).sid)
/** Ids of the rows that have not ended. */
const openOf = async (userId: string): Promise<string[]> => {
  const sessions = world.db.selectFrom('session').select('id').where('user_id', '=', userId)
  return (await sessions.where('ended_at', 'is', null).execute()).map(({ id }) => id)
}

describe('a session that is not used', () => {
  it('is refreshed within a week, and refused after it like one that has expired', async () => {
    const { email } = await person()
    const tokens = await logIn(email)
    await letPass(tokens, weekMinutes - 5)
    const next = await refresh(tokens)
    await letPass(next, weekMinutes + 1)
    const idle = await refresh(next).catch((error: unknown) => error)
    expect(idle).toMatchObject(refused)
    const expired = await logIn(email)
    const id = idOf(expired)
    await world.db
      .updateTable('session')
      .set({ expires_at: new Date(0) })
      .where('id', '=', id)
      .execute()
    await expect(refresh(expired)).rejects.toMatchObject({ message: (idle as Error).message, ...refused })
  })

  it.each(['refresh', 'switch'])('begins the week again with a %s', async (use) => {
    const { email, workspaceId } = await person()
    const tokens = await logIn(email)
    await letPass(tokens, weekMinutes - 5)
    const client = createAppClient(world.api.url, tokens.accessToken)
    const next =
      use === 'refresh'
        ? await refresh(tokens)
        : (await client.call<Tokens>('POST', `/users/workspaces/${workspaceId}/switch`)).data
    const { last_used_at, created_at } = await sessionOfToken(world.db, next)
    expect(last_used_at.getTime()).toBeGreaterThanOrEqual(created_at.getTime())
    await refresh(next)
  })

  it('is not listed, and not counted by matte-admin', async () => {
    const { email, sessionId } = await person()
    const [tokens, idle] = [await logIn(email), await logIn(email)]
    await letPass(idle, weekMinutes + 1)
    const { items, total } = await list(tokens)
    expect([items.map(({ id }) => id), total]).toEqual([[idOf(tokens), sessionId], 2])
    const found = await admin(['user', 'find', '--email', email], { DATABASE_URL: world.databaseUrl })
    expect(found).toMatchObject({ sessions: 2 })
  })

  it('ends after SESSION_IDLE_HOURS, which hold for sessions from before the setting', async () => {
    const { email } = await person()
    const [tokens, idle] = [await logIn(email), await logIn(email)]
    await letPass(idle, 61)
    await expect(refreshAt(other.url, idle)).rejects.toMatchObject(refused)
    expect((await list(tokens, other.url)).items.map(({ id }) => id)).not.toContain(idOf(idle))
    await expect(refreshAt(other.url, tokens)).resolves.toBeDefined()
    await expect(refresh(idle)).resolves.toBeDefined()
  })
})

describe('a twenty-first session', () => {
  it('ends the one that has not been used for longest, on every replica within 5 s', async () => {
    const { email, userId, client, accessToken } = await person()
    // With the session of the person themselves there are twenty.
    const [first, ...more] = await logInTimes(email, 19)
    if (first === undefined) throw new Error('nobody is signed in')
    const elsewhere = createAppClient(other.url, accessToken)
    for (const each of [client, elsewhere]) await each.call('GET', '/credits/balance')
    const used = await refresh(first)
    await logIn(email)
    for (const each of [client, elsewhere]) {
      await until('the oldest session is refused', () => isRefused(each.call('GET', '/credits/balance')), {
        timeoutMs: 5_000,
      })
    }
    const [second, third] = more
    if (second === undefined || third === undefined) throw new Error('too few are signed in')
    await logIn(email)
    await expect(refresh(second)).rejects.toMatchObject(refused)
    for (const tokens of [used, third]) await expect(refresh(tokens)).resolves.toBeDefined()
    expect(await openOf(userId)).toHaveLength(20)
  })

  it('ends none that has ended or expired already, nor one of another person', async () => {
    const [someone, stranger] = [await person(), await person()]
    const logins = await logInTimes(someone.email, 19)
    const ended = logins.slice(0, 5).map(idOf)
    await world.db.updateTable('session').set({ ended_at: new Date() }).where('id', 'in', ended).execute()
    const expired = logins.slice(5, 8).map(idOf)
    await world.db
      .updateTable('session')
      .set({ expires_at: new Date(0) })
      .where('id', 'in', expired)
      .execute()
    await logInTimes(someone.email, 8)
    await expect(someone.client.call('GET', '/credits/balance')).resolves.toMatchObject({ status: 200 })
    expect(await openOf(someone.userId)).toHaveLength(23)
    expect(await openOf(stranger.userId)).toEqual([stranger.sessionId])
  })

  it('leaves twenty, although logins at two replicas end at the same time', async () => {
    const { email, userId, sessionId } = await person()
    await logInTimes(email, 19)
    const logins = await whileLocked(sessionId, 2, (url) => logIn(email, url))
    expect(await openOf(userId)).toHaveLength(20)
    const done = await Promise.allSettled(logins.map(refresh))
    expect(done.map(({ status }) => status)).toEqual(logins.map(() => 'fulfilled'))
  })

  it('leaves twenty with codes of two-factor login too', async () => {
    const { email, userId, sessionId, factor } = await protectedPerson()
    const logins = await logInTimes(email, 6)
    await givenSessions(userId, 19)
    const verify = ({ mfaToken }: Login, code: string | undefined, url: string) =>
      createAppClient(url).call('POST', '/auth/2fa/verify', { body: { mfaToken, code } })
    await whileLocked(sessionId, 6, (url, index) => verify(logins[index] as Login, factor.recoveryCodes[index], url))
    expect(await openOf(userId)).toHaveLength(20)
  })
})

/** Starts requests at both replicas, which wait in the database for the row of a session that they will end. */
async function whileLocked<T>(
  sessionId: string,
  count: number,
  start: (url: string, index: number) => Promise<T>,
): Promise<T[]> {
  await letUsePass(world.db, { sessionId, minutes: 60 })
  const { started } = await world.db.transaction().execute(async (tx) => {
    await tx.selectFrom('session').select('id').where('id', '=', sessionId).forUpdate().execute()
    const urls = Array.from({ length: count }, (_, index) => (index % 2 === 0 ? world.api.url : other.url))
    const started = urls.map(start)
    await until(`${count} wait for a lock`, async () => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(world.db)
      return rows.length === count
    })
    return { started }
  })
  return Promise.all(started)
}

async function givenSessions(userId: string, count: number): Promise<void> {
  await sql`
    insert into session (user_id, workspace_id, expires_at)
    select user_id, workspace_id, expires_at from session, generate_series(1, ${count}::int)
     where user_id = ${userId}`.execute(world.db)
}

const isRefused = (call: Promise<unknown>): Promise<boolean> =>
  call.then(
    () => false,
    ({ status }: { status: number }) => status === 401,
  )
