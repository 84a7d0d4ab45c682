// Credits of plan Free, once per mailbox (D88), also for other spellings and accounts of earlier releases.
import { randomBytes } from 'node:crypto'
import { resealSecrets } from '@matte/core/webhook/endpoint/reseal-secrets'
import { hashMailbox } from '@matte/people/identity/account/free-credits'
import { cleanSignIn } from '@matte/people/identity/login/clean-sign-in'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { newPassword, type SignedIn } from '../support/app/sign-in/accounts.ts'
import { tokensTo } from '../support/app/sign-in/inbox.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' })

const newName = (): string => `p${randomBytes(6).toString('hex')}`

async function givenAccountOf(email: string) {
  const open = createAppClient(world.api.url)
  const password = newPassword()
  await open.call('POST', '/auth/register', { body: { email, password } })
  const token = (await tokensTo(world, email, { template: 'verify-email' })).at(-1)
  await world.db.deleteFrom('mail').where('to_address', '=', email).execute()
  const { data } = await open.call<SignedIn>('POST', '/auth/verify-email', { body: { token, password } })
  const client = createAppClient(world.api.url, data.accessToken)
  const { available } = (await client.call<{ available: number }>('GET', '/credits/balance')).data
  return { available, erase: () => client.call('DELETE', '/users/profile', { body: { password } }) }
}

const kept = () => world.db.selectFrom('free_credit').selectAll().where('user_id', 'is', null).execute()
const rowOf = async (email: string) => {
  const mailbox = await hashMailbox(world.db, world.api.config.masterKeys, email)
  return world.db.selectFrom('free_credit').selectAll().where('mailbox', '=', mailbox).executeTakeFirst()
}

describe('free credits', () => {
  it('are granted once for addresses of one mailbox, and once for each mailbox', async () => {
    const [name, domain] = [newName(), 'example.com']
    expect((await givenAccountOf(`${name}@${domain}`)).available).toBe(10)
    expect((await givenAccountOf(`${name}+again@${domain}`)).available).toBe(0)
    const gmail = newName()
    expect((await givenAccountOf(`${gmail.slice(0, 4)}.${gmail.slice(4)}@gmail.com`)).available).toBe(10)
    expect((await givenAccountOf(`${gmail}+more@googlemail.com`)).available).toBe(0)
    expect((await givenAccountOf(`${name.slice(0, 4)}.${name.slice(4)}@${domain}`)).available).toBe(10)
  })

  it('are granted once to two addresses of one mailbox with concurrent verification', async () => {
    const name = newName()
    const both = await Promise.all(['a', 'b'].map((tag) => givenAccountOf(`${name}+${tag}@example.com`)))
    expect(both.map(({ available }) => available).sort()).toEqual([0, 10])
  })

  it('are granted again 12 months after the account was erased, and not before', async () => {
    const email = `${newName()}@example.com`
    await (await givenAccountOf(email)).erase()
    const again = await givenAccountOf(email)
    expect(again.available).toBe(0)
    await again.erase()
    const { rows } = await sql<{ isYear: boolean }>`
      select forget_at between now() + interval '364 days' and now() + interval '366 days' as "isYear"
        from free_credit where mailbox = ${(await rowOf(email))?.mailbox}`.execute(world.db)
    expect(rows).toEqual([{ isYear: true }])
    await world.db
      .updateTable('free_credit')
      .set({ forget_at: new Date(0) })
      .where('user_id', 'is', null)
      .execute()
    expect((await givenAccountOf(email)).available).toBe(10)
  })

  it('keep only an HMAC of an erased account, deleted after 12 months', async () => {
    const email = `${newName()}@example.com`
    await (await givenAccountOf(email)).erase()
    expect(await rowOf(email)).toMatchObject({ user_id: null, forget_at: expect.any(Date) })
    await world.db
      .updateTable('free_credit')
      .set({ forget_at: new Date(0) })
      .where('user_id', 'is', null)
      .execute()
    expect((await cleanSignIn(world.db)).free_credits).toBeGreaterThan(0)
    expect(await kept()).toEqual([])
  })

  it('are recorded when an account from before the records ends', async () => {
    const email = `${newName()}@example.com`
    const account = await givenAccountOf(email)
    await sql`delete from free_credit`.execute(world.db)
    await account.erase()
    expect((await givenAccountOf(email)).available).toBe(0)
  })

  it('are recognised after a replacement of the master key', async () => {
    const email = `${newName()}@example.com`
    await (await givenAccountOf(email)).erase()
    const { masterKeys } = world.api.config
    const fresh = new Map([['fresh', Buffer.alloc(32, 7)]])
    const before = await hashMailbox(world.db, masterKeys, email)
    await resealSecrets(world.db, new Map([...fresh, ...masterKeys]))
    expect(await hashMailbox(world.db, fresh, email)).toEqual(before)
    // Restores the key for the API of this file.
    await resealSecrets(world.db, new Map([...masterKeys, ...fresh]))
    expect((await givenAccountOf(email)).available).toBe(0)
  })
})
