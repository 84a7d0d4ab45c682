// Password logins: delays after wrong passwords, their scope, and the login history.
import { hashAddress } from '@matte/core/address'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { exposedAt } from '../support/app/exposed.ts'
import { type Account, givenAccount, newEmail, newPassword, type SignedIn } from '../support/app/sign-in/accounts.ts'
import { mailsTo, tokensTo, untilRequestsDone } from '../support/app/sign-in/inbox.ts'
import type { ApiError } from '../support/client.ts'
import { until } from '../support/until.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000', TRUSTED_PROXY_HOPS: '1' })
const refused = { status: 401, code: 'AUTH_INVALID_TOKEN' }
const delayed = { status: 429, code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'password' } }

type From = { readonly network?: string; readonly userAgent?: string }
type Credentials = { readonly email: string; readonly password: string }

const logIn = ({ email, password }: Credentials, { network = '192.0.2.1', userAgent = 'test' }: From = {}) =>
  createAppClient(world.api.url).call<SignedIn>('POST', '/auth/login', {
    body: { email, password },
    headers: { 'x-forwarded-for': network, 'user-agent': userAgent },
  })

const fail = (email: string, from: From = {}) =>
  expect(logIn({ email, password: newPassword() }, from)).rejects.toMatchObject(refused)

/** The n-th failure in a row from a network, whose delay begins now; earlier ones are inserted as rows. */
async function failAgain(email: string, times: number, from: From = {}): Promise<void> {
  await fail(email, from)
  await world.db
    .updateTable('login_failure')
    .set({ failures: times - 1, allowed_at: new Date(0) })
    .where('account', '=', hashAddress(email))
    .where('network', '!=', '')
    .execute()
  await fail(email, from)
}

const letWaitsEnd = (email: string) =>
  world.db
    .updateTable('login_failure')
    .set({ allowed_at: new Date(0) })
    .where('account', '=', hashAddress(email))
    .execute()

const forgetTotal = (email: string) =>
  world.db.deleteFrom('login_failure').where('account', '=', hashAddress(email)).where('network', '=', '').execute()

const waitOf = (call: Promise<unknown>): Promise<number> =>
  call.then(
    () => 0,
    ({ status, headers }: ApiError) => (status === 429 ? Number(headers.get('retry-after')) : 0),
  )

/** Response of a login that has read the account, and waits for its row until the change is committed. */
async function logInDuring(account: Account, change: Partial<Record<string, Date | string | null>>): Promise<unknown> {
  const { login } = await world.db.transaction().execute(async (tx) => {
    await tx.updateTable('app_user').set(change).where('id', '=', account.userId).execute()
    let hasAnswer = false
    const login = logIn(account)
      .then(
        ({ data }): unknown => data,
        (error: unknown) => error,
      )
      .finally(() => {
        hasAnswer = true
      })
    const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until('it waits', async () => hasAnswer || (await waiting.execute(world.db)).rows.length > 0)
    // Wrapped, because await would wait for a bare promise before the commit.
    return { login }
  })
  return login
}

const eventsOf = ({ userId }: Pick<Account, 'userId'>) =>
  world.db
    .selectFrom('login_event')
    .select(['success', 'method', 'failure_reason', 'user_agent'])
    .select(sql<string>`host(ip_address)`.as('ip'))
    .where('user_id', '=', userId)
    .orderBy('at')
    .execute()

describe('a login', () => {
  it('returns tokens and the user, in any case of the address, and is recorded', async () => {
    const account = await givenAccount(world)
    const { data } = await logIn({ ...account, email: account.email.toUpperCase() }, { userAgent: 'Firefox' })
    expect(data).toMatchObject({ tokenType: 'Bearer', user: { id: account.userId, mfaEnabled: false } })
    await expect(logIn({ ...account, password: newPassword() })).rejects.toMatchObject(refused)
    expect(await eventsOf(account)).toMatchObject([
      { success: true, method: 'verify_email', failure_reason: null },
      { success: true, method: 'password', failure_reason: null, user_agent: 'Firefox', ip: '192.0.2.1' },
      { success: false, method: 'password', failure_reason: 'wrong_password' },
    ])
  })

  it('is rejected alike for a wrong password, no account, and a disabled one, and counted', async () => {
    const failed = () => exposedAt(world.api.healthUrl, 'matte_logins_total', { outcome: 'failed' })
    const before = await failed()
    const [account, disabled] = [await givenAccount(world), await givenAccount(world)]
    await world.db.updateTable('app_user').set({ disabled_at: new Date() }).where('id', '=', disabled.userId).execute()
    const answers = await Promise.all(
      [{ ...account, password: newPassword() }, { email: newEmail(), password: newPassword() }, disabled].map((each) =>
        logIn(each).catch(({ status, code, message, details }: ApiError) => ({ status, code, message, details })),
      ),
    )
    expect(answers[0]).toMatchObject(refused)
    expect(answers[1]).toEqual(answers[0])
    expect(answers[2]).toEqual(answers[0])
    expect((await eventsOf(disabled)).at(-1)).toMatchObject({ failure_reason: 'disabled' })
    expect(await failed()).toBe(before + 3)
  })

  it('with an unverified address sends the mail again, after the right password only', async () => {
    const given = { email: newEmail(), password: newPassword() }
    await createAppClient(world.api.url).call('POST', '/auth/register', { body: given })
    await tokensTo(world, given.email, { template: 'verify-email' })
    await expect(logIn({ ...given, password: newPassword() })).rejects.toMatchObject(refused)
    await untilRequestsDone(world.db)
    expect(await mailsTo(world.db, world.api, given.email)).toHaveLength(1)
    expect((await logIn(given)).data).toEqual({ status: 'verification_sent' })
    await tokensTo(world, given.email, { template: 'verify-email', count: 2 })
  })

  it.each([
    ['gets another password', { password_hash: 'another' }, refused, 2],
    ['is erased', { erased_at: new Date(), password_hash: null, email_verified_at: null }, refused, 2],
    ['is disabled', { disabled_at: new Date() }, refused, 1],
    ['has its address to verify', { email_verified_at: null }, { status: 'verification_sent' }, 1],
  ])('returns no tokens if the account %s after the comparison', async (_what, change, answer, failures) => {
    const account = await givenAccount(world)
    await fail(account.email, { network: '192.0.2.2' })
    expect(await logInDuring(account, change)).toMatchObject(answer)
    const counts = world.db
      .selectFrom('login_failure')
      .select('failures')
      .where('account', '=', hashAddress(account.email))
    expect(await counts.where('network', '=', '').execute()).toEqual([{ failures }])
    expect(await counts.where('network', '=', '192.0.2.1').execute()).toHaveLength(failures - 1)
  })

  it('succeeds for an account that is enabled during the comparison', async () => {
    const account = await givenAccount(world)
    await world.db.updateTable('app_user').set({ disabled_at: new Date() }).where('id', '=', account.userId).execute()
    expect(await logInDuring(account, { disabled_at: null })).toMatchObject({ tokenType: 'Bearer' })
  })

  it('accepts a password in any Unicode normalisation', async () => {
    const account = await givenAccount(world, { password: 'Mo\u0308we \u00fcber der Stadt' })
    await expect(logIn({ ...account, password: 'M\u00f6we u\u0308ber der Stadt' })).resolves.toMatchObject({
      status: 200,
    })
  })
})

describe('wrong passwords', () => {
  it.each(['an account', 'no account'])(
    'of %s delay the next attempt, twice as long each time, up to 15 min',
    async (whose) => {
      const email = whose === 'an account' ? (await givenAccount(world)).email : newEmail()
      const wait = () => waitOf(logIn({ email, password: newPassword() }))
      for (let i = 0; i < 4; i += 1) await fail(email)
      expect(await wait()).toBe(0)
      for (const [failures, seconds] of [
        [10, 32],
        [11, 64],
        [12, 128],
        [40, 900],
      ] as const) {
        await letWaitsEnd(email)
        await failAgain(email, failures)
        // Failures from all networks would soon be too many and delay responses.
        await forgetTotal(email)
        const waits = [await wait(), await wait()]
        for (const each of waits) expect(each).toBeGreaterThan(seconds / 2)
        for (const each of waits) expect(each).toBeLessThanOrEqual(seconds)
      }
    },
  )

  it('delay the right one as well, from the same network only; the right one ends the delay', async () => {
    const account = await givenAccount(world)
    await failAgain(account.email, 12)
    await expect(logIn(account)).rejects.toMatchObject(delayed)
    await expect(logIn(account, { network: '198.51.100.7' })).resolves.toMatchObject({ status: 200 })
    await expect(logIn(account)).rejects.toMatchObject(delayed)
    await letWaitsEnd(account.email)
    await expect(logIn(account)).resolves.toMatchObject({ status: 200 })
    await fail(account.email)
    await expect(logIn(account)).resolves.toMatchObject({ status: 200 })
  })

  it('sent a hundred at once are compared sequentially', async () => {
    const { email } = await givenAccount(world)
    const guesses = Array.from({ length: 100 }, () => logIn({ email, password: newPassword() }))
    const done = await Promise.allSettled(guesses)
    const judged = done.filter(
      ({ status, ...one }) => status === 'rejected' && 'reason' in one && one.reason.status === 401,
    )
    // Five, and one more for each doubling of this machine's seconds.
    expect(judged.length).toBeGreaterThanOrEqual(5)
    expect(judged.length).toBeLessThanOrEqual(10)
  })

  it('count an IPv6 network as one', async () => {
    const { email } = await givenAccount(world)
    await failAgain(email, 12, { network: '2001:db8:1:2::1' })
    const password = newPassword()
    expect(await waitOf(logIn({ email, password }, { network: '2001:db8:1:2:ffff::77' }))).toBeGreaterThan(1)
    await fail(email, { network: '2001:db8:1:3::77' })
  })

  it('from many networks slow the account down, and its owner gets one mail; a reset ends the delay', async () => {
    const account = await givenAccount(world)
    for (let i = 0; i < 10; i += 1) await fail(account.email, { network: `203.0.113.${i}` })
    await world.db
      .updateTable('login_failure')
      .set({ failures: 18 })
      .where('account', '=', hashAddress(account.email))
      .where('network', '=', '')
      .execute()
    const startedAt = performance.now()
    for (let i = 0; i < 3; i += 1) await fail(account.email, { network: '203.0.113.77' })
    expect(performance.now() - startedAt).toBeGreaterThan(1_800 + 2_000 + 2_000)
    const told = async () =>
      (await mailsTo(world.db, world.api, account.email)).filter(({ template }) => template === 'failed-logins')
    expect(await told()).toEqual([{ template: 'failed-logins', data: { failures: 20 } }])

    const open = createAppClient(world.api.url)
    await open.call('POST', '/auth/password/forgot', { body: { email: account.email } })
    const [token] = await tokensTo(world, account.email, { template: 'reset-password' })
    const password = newPassword()
    await open.call('POST', '/auth/password/reset', { body: { token, newPassword: password } })
    const rows = await world.db
      .selectFrom('login_failure')
      .selectAll()
      .where('account', '=', hashAddress(account.email))
      .execute()
    expect(rows).toEqual([])
    await expect(logIn({ ...account, password }, { network: '203.0.113.77' })).resolves.toMatchObject({ status: 200 })
  })

  it('expire after a day', async () => {
    const { email } = await givenAccount(world)
    await failAgain(email, 12)
    await world.db
      .updateTable('login_failure')
      .set({ last_at: sql<Date>`now() - interval '25 hours'`, allowed_at: new Date(0) })
      .where('account', '=', hashAddress(email))
      .execute()
    await fail(email)
    await fail(email)
  })
})
