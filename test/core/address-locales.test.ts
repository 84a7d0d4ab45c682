// Addresses compare the same in every database, by the key that the application stores (D85).
import { foldAddress } from '@matte/core/address'
import { migrateToLatest } from '@matte/core/db/migrate'
import { requestAccount, requestPasswordReset } from '@matte/people/identity/account/account-requests'
import { findUserByEmail } from '@matte/people/identity/account/operator-actions'
import { processAccountRequests } from '@matte/people/identity/account/process-account-requests'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts'

/** CREATE DATABASE options by locale. */
const locales = {
  C: `encoding 'UTF8' lc_collate 'C' lc_ctype 'C'`,
  'C.UTF-8': `encoding 'UTF8' lc_collate 'C.UTF-8' lc_ctype 'C.UTF-8'`,
  ICU: `encoding 'UTF8' locale_provider icu icu_locale 'und' lc_collate 'C' lc_ctype 'C'`,
  Turkish: `encoding 'UTF8' locale_provider icu icu_locale 'tr-TR' lc_collate 'C' lc_ctype 'C'`,
} as const

const masterKeys = new Map([['test', Buffer.alloc(32, 1)]])

describe.each(Object.entries(locales))('in a database with locale %s', (_name, options) => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createEmptyDatabase(options)
    await migrateToLatest(database.db)
  })
  afterAll(() => database.drop())
  const forgetAll = async () => {
    for (const table of ['mail', 'mail_room', 'account_request', 'app_user']) {
      await sql`delete from ${sql.table(table)}`.execute(database.db)
    }
  }
  afterEach(forgetAll)

  const work = async () => {
    const errors: unknown[] = []
    const mayRegister = async () => true
    const settings = { masterKeys, appUrl: 'https://app.example', mayRegister, verificationsPerMinute: 0 }
    const deps = { db: database.db, ...settings }
    const counts = await processAccountRequests(
      { ...deps, onError: (error) => errors.push(error) },
      new AbortController().signal,
    )
    return { ...counts, errors }
  }
  const register = (email: string, passwordHash = 'hash') =>
    requestAccount(database.db, { email, passwordHash, name: null, referralCode: null, ipAddress: null, locale: null })
  const accounts = () =>
    database.db.selectFrom('app_user').select(['id', 'email', 'email_key']).orderBy('created_at').execute()
  const mailsTo = async () => {
    const mails = await database.db.selectFrom('mail').select('to_address').orderBy('created_at').execute()
    return mails.map(({ to_address }) => to_address)
  }

  it('registering an address twice creates one account, and the next request succeeds', async () => {
    for (const email of ['É@example.com', 'É@example.com', 'after@example.com']) await register(email)
    expect(await work()).toEqual({ done: 3, postponed: 0, errors: [] })
    expect((await accounts()).map(({ email }) => email)).toEqual(['É@example.com', 'after@example.com'])
  })

  it('a request for an account that no lookup finds is postponed, and the next request is processed', async () => {
    await register('taken@example.com')
    await work()
    await sql`update app_user set erased_at = now(), password_hash = null`.execute(database.db)
    for (const email of ['taken@example.com', 'after@example.com']) await register(email)
    const { errors, ...counts } = await work()
    expect(counts).toEqual({ done: 1, postponed: 1 })
    expect(errors).toEqual([new Error('the address has an account that no lookup finds')])
    const waiting = await sql`select email, attempt, due_at > now() as later from account_request`.execute(database.db)
    expect(waiting.rows).toEqual([{ email: 'taken@example.com', attempt: 1, later: true }])
  })

  it('a reset mail goes to the stored address, never to the typed one', async () => {
    await register('kate@example.com')
    await requestPasswordReset(database.db, '\u212aATE@example.com')
    await register('\u212aate@example.com')
    expect(await work()).toMatchObject({ done: 3, postponed: 0 })
    expect(new Set(await mailsTo())).toEqual(new Set(['kate@example.com']))
  })

  it('an unverified spelling is replaced after a day, and links to its mailbox stop working', async () => {
    await register('\u017fam@example.com', 'first')
    await requestPasswordReset(database.db, '\u017fam@example.com')
    await work()
    await sql`update mail_token set expires_at = now() where purpose = 'verify-email'`.execute(database.db)
    await sql`delete from mail`.execute(database.db)
    await register('sam@example.com', 'second')
    await work()
    expect(await accounts()).toMatchObject([{ email: 'sam@example.com', email_key: 'sam@example.com' }])
    expect(await mailsTo()).toEqual(['sam@example.com'])
    const tokens = await database.db
      .selectFrom('mail_token')
      .select('purpose')
      .where('expires_at', '>', sql<Date>`now()`)
    expect(await tokens.execute()).toEqual([{ purpose: 'verify-email' }])
  })

  it('each key has one account, every spelling finds it, and mails go to the stored address', async () => {
    const letters = fc.constantFrom(...'iIİıſsSςσΣKkKßÉéE', 'E\u0301', 'ss', 'i\u0307')
    const spelling = fc.array(letters, { minLength: 1, maxLength: 2 }).map((parts) => `${parts.join('')}@example.com`)
    const asked = fc.array(fc.record({ email: spelling, password: fc.constantFrom('a', 'b') }), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(asked, async (registrations) => {
        await forgetAll()
        for (const { email, password } of registrations) await register(email, password)
        expect(await work()).toEqual({ done: registrations.length, postponed: 0, errors: [] })
        const rows = await accounts()
        const keys = new Set(registrations.map(({ email }) => foldAddress(email)))
        expect(rows.map((row) => row.email_key).sort()).toEqual([...keys].sort())
        const holders = new Map(rows.map((row) => [row.email_key, row.id]))
        for (const { email } of registrations) {
          expect((await findUserByEmail(database.db, email))?.id).toBe(holders.get(foldAddress(email)))
        }
        const stored = rows.map(({ email }) => email)
        expect((await mailsTo()).filter((to) => !stored.includes(to ?? ''))).toEqual([])
      }),
      { numRuns: 20 },
    )
  })
})
