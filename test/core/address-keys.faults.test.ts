// Address keys in a database with rows of the previous release, and beside that release during an upgrade (D85).
import { type Migrations, migrateToLatest } from '@matte/core/db/migrate'
import { migrations } from '@matte/core/db/migrations/index'
import { defaultPlans } from '@matte/core/workspace/plan'
import { fillAddressKeys, listDuplicates, takeAddress } from '@matte/people/identity/account/address-keys'
import { createMailToken } from '@matte/people/identity/account/mail-token'
import { findUserByEmail, isInvited } from '@matte/people/identity/account/operator-actions'
import { verifyAddress } from '@matte/people/identity/account/verify-address'
import { passwordHasher } from '@matte/people/identity/password/password-hasher'
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts'

const before: Migrations = Object.fromEntries(Object.entries(migrations).filter(([name]) => name < '0026'))

const opened: TestDatabase[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.drop()))
})

async function given(create: () => Promise<TestDatabase>) {
  const database = await create()
  opened.push(database)
  const { db } = database
  const insert = async (email: string, { verified = true, daysOld = 0 } = {}): Promise<string> => {
    const { rows } = await sql<{ id: string }>`
      insert into app_user (email, email_verified_at, created_at)
      values (${email}, case when ${verified}::boolean then now() end, now() - ${daysOld} * interval '1 day')
      returning id`.execute(db)
    return rows[0]?.id ?? ''
  }
  const holderOf = async (email: string) => (await findUserByEmail(db, email))?.id
  const keyOf = async (id: string) => {
    const user = db.selectFrom('app_user').select('email_key').where('id', '=', id)
    return (await user.executeTakeFirstOrThrow()).email_key
  }
  return { db, insert, holderOf, keyOf }
}

describe('the migration to keys', () => {
  const givenOld = async () => {
    const old = await given(createEmptyDatabase)
    await migrateToLatest(old.db, before)
    return old
  }

  it('gives each address its key; of several accounts with one key, the oldest verified gets it', async () => {
    const { db, insert, holderOf, keyOf } = await givenOld()
    const alone = await insert('Jane@Example.com')
    const unverified = await insert('É@example.com', { verified: false, daysOld: 9 })
    const older = await insert('é@example.com', { daysOld: 5 })
    const newer = await insert('E\u0301@example.com', { daysOld: 1 })
    const erased = await insert('erased-1@erased.invalid')
    await sql`update app_user set erased_at = now() where id = ${erased}`.execute(db)
    await migrateToLatest(db)
    expect(await holderOf('jane@EXAMPLE.com')).toBe(alone)
    expect(await holderOf('É@example.com')).toBe(older)
    expect(await keyOf(erased)).toBeNull()
    expect(await listDuplicates(db, 10)).toMatchObject([
      { id: unverified, email: 'É@example.com', email_verified_at: null, heldBy: older },
      { id: newer, email: 'E\u0301@example.com', heldBy: older },
    ])
  })

  it('handles more accounts than one page', async () => {
    const { db } = await givenOld()
    await sql`
      insert into app_user (email)
      select 'User' || n || '@Example.com' from generate_series(1, 5001) n`.execute(db)
    await migrateToLatest(db)
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from app_user
       where email_key = replace(replace(email, 'U', 'u'), 'E', 'e')`.execute(db)
    expect(rows[0]?.count).toBe(5_001)
  })

  it('keeps one open invitation per team, one referral and one list entry for each key', async () => {
    const { db, insert } = await givenOld()
    const person = await insert('jane@example.com')
    const { rows } = await sql<{ id: string }>`
      insert into workspace (name, plan) values ('Studio', 'free') returning id`.execute(db)
    for (const [daysOld, email] of [
      ['3', 'É@example.com'],
      ['1', 'é@example.com'],
    ] as const) {
      await sql`
        insert into team_invite (workspace_id, email, role, token_hash, invited_by, created_at, expires_at)
        values (${rows[0]?.id}, ${email}, 'member', sha256(gen_random_uuid()::text::bytea), ${person},
                now() - ${daysOld}::int * interval '1 day', now() + interval '1 day')`.execute(db)
      await sql`
        insert into referral (referrer_id, email, status, invited_at, created_at)
        values (${person}, ${email}, 'invited', now(), now() - ${daysOld}::int * interval '1 day')`.execute(db)
      await sql`insert into registration_invite (email) values (${email.replace('@', '2@')})`.execute(db)
    }
    await migrateToLatest(db)
    const invites = db.selectFrom('team_invite').select(['email', 'email_key', 'ending']).orderBy('created_at')
    expect(await invites.execute()).toEqual([
      { email: 'É@example.com', email_key: 'é@example.com', ending: 'replaced' },
      { email: 'é@example.com', email_key: 'é@example.com', ending: null },
    ])
    expect(await db.selectFrom('referral').select(['email', 'email_key']).execute()).toEqual([
      { email: 'É@example.com', email_key: 'é@example.com' },
    ])
    expect(await db.selectFrom('registration_invite').select('email').execute()).toEqual([{ email: 'é2@example.com' }])
    expect([await isInvited(db, 'É2@example.com'), await isInvited(db, 'É@example.com')]).toEqual([true, true])
  })
})

describe('beside the previous release', () => {
  it('an account that it created or whose address it changed can be found soon', async () => {
    const { db, insert, holderOf, keyOf } = await given(createTestDatabase)
    const id = await insert('É@example.com')
    expect(await fillAddressKeys(db)).toMatchObject({ app_user: 1 })
    expect(await holderOf('é@example.com')).toBe(id)
    await sql`update app_user set email = 'New@example.com' where id = ${id}`.execute(db)
    expect(await keyOf(id)).toBeNull()
    await fillAddressKeys(db)
    expect([await holderOf('new@example.com'), await holderOf('é@example.com')]).toEqual([id, undefined])
    await sql`update app_user set email = 'erased-1@erased.invalid', erased_at = now() where id = ${id}`.execute(db)
    expect([await keyOf(id), await fillAddressKeys(db)]).toMatchObject([null, { app_user: 0 }])
  })

  it('of two accounts that it created for a key, the oldest verified one gets the key', async () => {
    const { db, insert, holderOf } = await given(createTestDatabase)
    await insert('é@example.com', { verified: false, daysOld: 3 })
    const older = await insert('É@example.com', { daysOld: 2 })
    await insert('E\u0301@example.com', { daysOld: 1 })
    expect(await fillAddressKeys(db)).toMatchObject({ app_user: 1 })
    expect(await holderOf('é@example.com')).toBe(older)
  })

  it('its second account for a key waits until the first is gone', async () => {
    const { db, insert, holderOf } = await given(createTestDatabase)
    const first = await insert('é@example.com')
    await fillAddressKeys(db)
    const second = await insert('É@example.com')
    expect(await fillAddressKeys(db)).toMatchObject({ app_user: 0 })
    expect(await listDuplicates(db, 10)).toMatchObject([{ id: second, heldBy: first }])
    await sql`update app_user set email = 'erased-2@erased.invalid', erased_at = now() where id = ${first}`.execute(db)
    await fillAddressKeys(db)
    expect([await holderOf('é@example.com'), await listDuplicates(db, 10)]).toEqual([second, []])
  })

  it('a duplicate account cannot be verified', async () => {
    const { db, insert } = await given(createTestDatabase)
    await insert('é@example.com')
    await fillAddressKeys(db)
    const userId = await insert('É@example.com', { verified: false })
    const hasher = passwordHasher({ atOnce: 1, waitingMax: 1 })
    const passwordHash = await hasher.hash({ network: '', client: '', account: '' }, 'violet tractor under moss')
    const token = (await createMailToken(db, { purpose: 'verify-email', userId, passwordHash })) ?? ''
    const deps = { db, masterKeys: new Map(), hasher, newAccounts: { plans: defaultPlans, firstPlan: 'free' } }
    const client = { ipAddress: null, userAgent: null }
    const from = { network: '192.0.2.0/24', client: '192.0.2.1' }
    const click = { token, password: 'violet tractor under moss', from, client }
    expect(await verifyAddress(deps, click)).toEqual({ outcome: 'refused' })
  })

  it('an operator can give the address to the other account', async () => {
    const { db, insert, holderOf } = await given(createTestDatabase)
    const first = await insert('é@example.com')
    await fillAddressKeys(db)
    const second = await insert('É@example.com')
    expect(await takeAddress(db, second)).toBe(first)
    await fillAddressKeys(db)
    expect(await holderOf('é@example.com')).toBe(second)
    expect(await listDuplicates(db, 10)).toMatchObject([{ id: first, heldBy: second }])
    expect(await takeAddress(db, '00000000-0000-4000-8000-000000000000')).toBeUndefined()
  })
})
