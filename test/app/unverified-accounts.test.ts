// Accounts whose address was never verified are deleted after 7 days, and the address can register again.

import { deleteUnverified } from '@matte/people/identity/account/delete-unverified'
import { disableUser } from '@matte/people/identity/account/operator-actions'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { admin } from '../support/admin.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { givenAccount, newEmail, newPassword, type SignedIn } from '../support/app/sign-in/accounts.ts'
import { tokensTo, untilRequestsDone } from '../support/app/sign-in/inbox.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000', APP_URL: 'https://app.example.com' })

const dayMs = 24 * 60 * 60 * 1_000
const post = <T = unknown>(path: string, body: unknown) =>
  createAppClient(world.api.url).call<T>('POST', `/auth${path}`, { body })
const verify = (token: string | undefined, password: string) => post<SignedIn>('/verify-email', { token, password })
const userOf = (email: string) =>
  world.db.selectFrom('app_user').selectAll().where('email', '=', email).executeTakeFirst()

/** Registers; returns the token of the mailed link. */
async function register(email: string, password = newPassword(), count = 1): Promise<string> {
  await post('/register', { email, password })
  return (await tokensTo(world, email, { template: 'verify-email', count })).at(-1) ?? ''
}

/** Sweeps as matte-admin does, days from now. */
const sweep = (days: number) =>
  admin(['sweep', '--now', new Date(Date.now() + days * dayMs).toISOString()], { DATABASE_URL: world.databaseUrl })

describe('an account whose address was never verified', () => {
  it('is deleted after 7 days with all that is kept of the person, and not before', async () => {
    const [email, password] = [newEmail(), newPassword()]
    const token = await register(email, password)
    await expect(verify(token, newPassword())).rejects.toMatchObject({ status: 401 })
    const userId = (await userOf(email))?.id ?? ''
    expect((await sweep(6.9)).deletedAccounts).toBe(0)
    expect(await userOf(email)).toBeDefined()
    expect((await sweep(7.1)).deletedAccounts).toBe(1)
    expect(await userOf(email)).toBeUndefined()
    for (const table of ['mail', 'mail_token', 'login_event'] as const) {
      expect(await world.db.selectFrom(table).select('user_id').where('user_id', '=', userId).execute()).toEqual([])
    }
    await expect(verify(token, password)).rejects.toMatchObject({ status: 401, code: 'AUTH_INVALID_TOKEN' })
  })

  it('can register again, and opens like a first registration', async () => {
    const [email, password] = [newEmail(), newPassword()]
    await register(email)
    await sweep(8)
    const { data } = await verify(await register(email, password), password)
    expect(data.user.email).toBe(email)
    await sweep(8)
    expect((await userOf(email))?.email_verified_at).toBeInstanceOf(Date)
  })

  it('stays while a link in its mailbox works, also after a later registration of the address', async () => {
    const [email, password] = [newEmail(), newPassword()]
    await register(email)
    await world.db
      .updateTable('app_user')
      .set({ created_at: sql<Date>`now() - interval '8 days'` })
      .where('email', '=', email)
      .execute()
    await world.db
      .updateTable('mail_token')
      .set({ expires_at: new Date(0) })
      .execute()
    const token = await register(email, password, 2)
    expect((await sweep(0)).deletedAccounts).toBe(0)
    expect((await verify(token, password)).data.user.email).toBe(email)
  })

  it('keeps invitations to the address, which belong to the teams', async () => {
    const owner = await givenAccount(world)
    const email = newEmail()
    await register(email)
    const team = await owner.client.call<{ id: string }>('POST', '/teams', { body: { name: 'team' } })
    const path = `/teams/${team.data.id}`
    await owner.client.call('POST', `${path}/invites`, { body: { email, role: 'member' } })
    const [invite] = await tokensTo(world, email, { template: 'team-invitation' })
    const deleted = await deleteUnverified(world.db, { now: new Date(Date.now() + 8 * dayMs) })
    expect(deleted).toBe(1)
    const password = newPassword()
    const { data } = await verify(await register(email, password), password)
    const client = createAppClient(world.api.url, data.accessToken)
    const joined = await client.call<{ role: string }>('POST', '/teams/invites/accept', { body: { token: invite } })
    expect(joined.data.role).toBe('member')
  })

  it('stays if an operator disabled it, so the address cannot register again', async () => {
    const email = newEmail()
    await register(email)
    await disableUser(world.db, (await userOf(email))?.id ?? '')
    await sweep(8)
    expect((await userOf(email))?.disabled_at).toBeInstanceOf(Date)
    await post('/register', { email, password: newPassword() })
    await untilRequestsDone(world.db)
    expect(await tokensTo(world, email, { template: 'verify-email' })).toHaveLength(1)
    await sql`delete from mail_token`.execute(world.db)
  })
})

describe('a verification at the time of the deletion', () => {
  it('that holds the account keeps it', async () => {
    const email = newEmail()
    await register(email)
    const click = await world.db.startTransaction().execute()
    const verified = { email_verified_at: new Date() }
    await click.updateTable('app_user').set(verified).where('email', '=', email).execute()
    const swept = sweep(8)
    await untilWaiting()
    await click.commit().execute()
    await swept
    expect((await userOf(email))?.email_verified_at).toBeInstanceOf(Date)
  })

  it('either opens the account whole or is refused', async () => {
    const accounts = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const [email, password] = [newEmail(), newPassword()]
        return { email, password, token: await register(email, password) }
      }),
    )
    const clicks = accounts.map(({ token, password }) => verify(token, password))
    const [outcomes] = await Promise.all([Promise.allSettled(clicks), sweep(8), sweep(8)])
    for (const [index, outcome] of outcomes.entries()) {
      const user = await userOf(accounts[index]?.email ?? '')
      if (outcome.status === 'rejected') {
        expect(outcome.reason).toMatchObject({ status: 401, code: 'AUTH_INVALID_TOKEN' })
        expect(user).toBeUndefined()
        continue
      }
      const client = createAppClient(world.api.url, outcome.value.data.accessToken)
      expect((await client.call('GET', '/credits/balance')).data).toMatchObject({ available: 10 })
      expect(user?.email_verified_at).toBeInstanceOf(Date)
    }
  })
})

/** Waits until a statement of the sweep waits for the lock of an account. */
async function untilWaiting(): Promise<void> {
  for (;;) {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(world.db)
    if (rows.length > 0) return
  }
}
