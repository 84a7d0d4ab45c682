// New passwords: by the signed-in user, and by the link of a mail.

import { hashAddress } from '@matte/core/address'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { type Account, givenAccount, newEmail, newPassword, type SignedIn } from '../support/app/sign-in/accounts.ts'
import { mailsTo, tokensTo, untilRequestsDone } from '../support/app/sign-in/inbox.ts'
import { withNats } from '../support/nats.ts'
import { until } from '../support/until.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000', TRUSTED_PROXY_HOPS: '1' })
const refused = { status: 401, code: 'AUTH_INVALID_TOKEN' }
const delayed = { status: 429, code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'password' } }

const logIn = ({ email, password }: { readonly email: string; readonly password: string }) =>
  createAppClient(world.api.url).call<SignedIn>('POST', '/auth/login', {
    body: { email, password },
    headers: { 'x-forwarded-for': '192.0.2.1' },
  })

describe('a password change', () => {
  const change = ({ client }: Pick<Account, 'client'>, body: Record<string, unknown>) =>
    client.call('POST', '/auth/password/change', { body, headers: { 'x-forwarded-for': '192.0.2.1' } })

  it('requires the current password, ends other sessions, and sends a mail', async () => {
    const account = await givenAccount(world)
    const { data: other } = await logIn(account)
    const password = newPassword()
    await expect(change(account, { currentPassword: newPassword(), newPassword: password })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      details: { issues: [{ path: '/body/currentPassword' }] },
    })
    await change(account, { currentPassword: account.password, newPassword: password })
    await expect(logIn(account)).rejects.toMatchObject(refused)
    await expect(logIn({ ...account, password })).resolves.toMatchObject({ status: 200 })
    const refresh = (refreshToken: string) =>
      createAppClient(world.api.url).call('POST', '/auth/refresh', { body: { refreshToken } })
    await expect(refresh(other.refreshToken)).rejects.toMatchObject(refused)
    await expect(refresh(account.tokens.refreshToken)).resolves.toMatchObject({ status: 200 })
    const events = await world.db
      .selectFrom('notification_due')
      .select('event')
      .where('user_id', '=', account.userId)
      .execute()
    expect(events).toContainEqual({ event: 'security.password_changed' })
  })

  it('keeps other sessions if asked, and rejects a common or unchanged password', async () => {
    const account = await givenAccount(world)
    const { data: other } = await logIn(account)
    const currentPassword = account.password
    for (const bad of [currentPassword, 'password1234', account.email]) {
      await expect(change(account, { currentPassword, newPassword: bad })).rejects.toMatchObject({
        details: { issues: [{ path: '/body/newPassword' }] },
      })
    }
    await change(account, { currentPassword, newPassword: newPassword(), endOtherSessions: false })
    const { refreshToken } = other
    await expect(
      createAppClient(world.api.url).call('POST', '/auth/refresh', { body: { refreshToken } }),
    ).resolves.toMatchObject({ status: 200 })
  })

  it('counts wrong current passwords like a login', async () => {
    const account = await givenAccount(world)
    const wrong = () => change(account, { currentPassword: newPassword(), newPassword: newPassword() })
    await expect(wrong()).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    await world.db
      .updateTable('login_failure')
      .set({ failures: 11 })
      .where('account', '=', hashAddress(account.email))
      .where('network', '!=', '')
      .execute()
    await expect(wrong()).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    await expect(wrong()).rejects.toMatchObject(delayed)
    await expect(logIn(account)).rejects.toMatchObject(delayed)
  })

  it('sends the owner one mail about many wrong current passwords', async () => {
    const account = await givenAccount(world)
    const wrong = (body = { currentPassword: newPassword(), newPassword: newPassword() }) =>
      expect(change(account, body)).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    await wrong()
    const ofAll = world.db.updateTable('login_failure').where('account', '=', hashAddress(account.email))
    await ofAll.set({ failures: 18 }).where('network', '=', '').execute()
    const told = async () =>
      (await mailsTo(world.db, world.api, account.email)).filter(({ template }) => template === 'failed-logins')
    await wrong()
    expect(await told()).toEqual([])
    for (let i = 0; i < 2; i += 1) await wrong()
    expect(await told()).toEqual([{ template: 'failed-logins', data: { failures: 20 } }])
  })

  it('fails for the second of two concurrent changes', async () => {
    const account = await givenAccount(world)
    const passwords = [newPassword(), newPassword(), newPassword()]
    const done = await Promise.allSettled(
      passwords.map((next) => change(account, { currentPassword: account.password, newPassword: next })),
    )
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })
})

it('sends its webhook at once, as does a reset', async () => {
  const { natsUrl, natsStreamPrefix } = world.api.config
  await withNats(natsUrl, async (connection) => {
    const nudged: string[] = []
    connection.subscribe(`${natsStreamPrefix}.delivery`, {
      callback: (_fault, nudge) => void nudged.push(nudge.string()),
    })
    await connection.flush()
    const times = (userId: string) => nudged.filter((id) => id === userId).length
    const account = await givenAccount(world)
    let password = account.password
    // Waits until the API has its connection to NATS.
    await until('a change is announced', async () => {
      const [currentPassword, next] = [password, newPassword()]
      password = next
      await account.client.call('POST', '/auth/password/change', { body: { currentPassword, newPassword: next } })
      return times(account.userId) > 1 // the first one is of the welcome event
    })
    const before = times(account.userId)
    await createAppClient(world.api.url).call('POST', '/auth/password/forgot', { body: { email: account.email } })
    const [token] = await tokensTo(world, account.email, { template: 'reset-password' })
    await createAppClient(world.api.url).call('POST', '/auth/password/reset', {
      body: { token, newPassword: newPassword() },
    })
    await until('a reset is announced', () => times(account.userId) > before)
  })
})

describe('a password reset', () => {
  const open = () => createAppClient(world.api.url)
  const linkFor = async (email: string, count = 1) => {
    await open().call('POST', '/auth/password/forgot', { body: { email } })
    return (await tokensTo(world, email, { template: 'reset-password', count })).at(-1)
  }
  const reset = (token: string | undefined, newPassword: string) =>
    open().call('POST', '/auth/password/reset', { body: { token, newPassword } })

  it('requires the mail, once, within ten minutes, and ends all sessions', async () => {
    const account = await givenAccount(world)
    const [first, second] = [await linkFor(account.email), await linkFor(account.email, 2)]
    const password = newPassword()
    await expect(reset(second, 'password1234')).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    await reset(second, password)
    for (const token of [first, second]) await expect(reset(token, newPassword())).rejects.toMatchObject(refused)
    await expect(logIn({ ...account, password })).resolves.toMatchObject({ status: 200 })
    const { refreshToken } = account.tokens
    await expect(open().call('POST', '/auth/refresh', { body: { refreshToken } })).rejects.toMatchObject(refused)

    const late = await linkFor(account.email, 3)
    const row = await world.db
      .selectFrom('mail_token')
      .select(sql<number>`extract(epoch from expires_at - created_at)::float8`.as('s'))
      .where('user_id', '=', account.userId)
      .executeTakeFirstOrThrow()
    expect(row.s).toBe(600)
    await world.db
      .updateTable('mail_token')
      .set({ expires_at: new Date() })
      .where('user_id', '=', account.userId)
      .execute()
    await expect(reset(late, newPassword())).rejects.toMatchObject(refused)
  })

  it('sends its mail with priority', async () => {
    const account = await givenAccount(world)
    const link = await linkFor(account.email)
    const done = await Promise.allSettled(
      [newPassword(), newPassword(), newPassword()].map((next) => reset(link, next)),
    )
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('sends three mails at most, and only to the account’s address', async () => {
    const account = await givenAccount(world)
    const stranger = newEmail()
    for (let i = 0; i < 5; i += 1) await linkFor(account.email)
    const { data } = await open().call('POST', '/auth/password/forgot', { body: { email: stranger } })
    expect(data).toEqual({ status: 'reset_sent' })
    await untilRequestsDone(world.db)
    const resets = (await mailsTo(world.db, world.api, account.email)).filter(
      ({ template }) => template === 'reset-password',
    )
    expect(resets).toHaveLength(3)
    expect(await mailsTo(world.db, world.api, stranger)).toEqual([])
  })
})
