// Claims of queued mails: order, concurrency, lapsed claims.
import {
  type ClaimedMail,
  claimDueMails,
  postpone,
  queueMail,
  recordRefused,
  recordSent,
  retryDelayMs,
} from '@matte/people/mail/mail-queue'
import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { processDb } from '../support/roles.ts'
import { masterKeys } from './in-process.ts'
import { givenMail, lapseMailClaims, readMail } from './mails.ts'

const database = useDatabase()
beforeEach(() => sql`truncate mail`.execute(database.db))

const claim = (limit: number) => claimDueMails(processDb('dispatcher', database.db), { limit, claimMs: 60_000 })
const notification = { template: 'notification', data: { event: 'welcome', title: 'Hello', body: 'Hello.' } } as const

async function claimOne(): Promise<ClaimedMail> {
  const [mail] = await claim(1)
  if (mail === undefined) throw new Error('nothing was claimed')
  return mail
}

describe('a claim of mails', () => {
  it('prefers mails that a user waits for over notifications, then the longest due', async () => {
    const told: string[] = []
    for (let n = 0; n < 3; n++) told.push(await givenMail(database.db, 'a@example.com', notification))
    const asked = [await givenMail(database.db, 'b@example.com'), await givenMail(database.db, 'c@example.com')]
    expect((await claim(1)).map(({ id }) => id)).toEqual(asked.slice(0, 1))
    expect((await claim(2)).map(({ id }) => id)).toEqual([asked[1], told[0]])
    expect((await claim(9)).map(({ id }) => id).sort()).toEqual(told.slice(1).sort())
    expect(await claim(9)).toEqual([])
  })

  it('takes each mail once with many concurrent claims', async () => {
    for (let n = 0; n < 30; n++) await givenMail(database.db, `a${n}@example.com`)
    const claimed = (await Promise.all(Array.from({ length: 10 }, () => claim(3)))).flat()
    expect(new Set(claimed.map(({ id }) => id)).size).toBe(claimed.length)
    const rest = await claim(30)
    expect(claimed.length + rest.length).toBe(30)
  })

  it('that lapsed is taken over as the same attempt, and the first claimer may record nothing', async () => {
    const id = await givenMail(database.db, 'a@example.com')
    const first = await claimOne()
    await lapseMailClaims(database.db)
    const second = await claimOne()
    expect(second).toMatchObject({ id, attempt: 1, takenOver: true })
    const { db } = database
    expect(await recordSent(db, first)).toBeUndefined()
    expect(await recordRefused(db, first, '550')).toBeUndefined()
    expect(await postpone(db, first, { error: '451', delayMs: 0, counts: true })).toBeUndefined()
    expect(await readMail(db, id)).toMatchObject({ status: 'pending', claim: second.claim, error: null })
    expect(await recordSent(db, second)).toEqual({ id })
    expect(await claim(1)).toEqual([])
  })
})

it('a mail to an account that was erased since is dropped unsent', async () => {
  const { db } = database
  const { id: userId } = await db
    .insertInto('app_user')
    .values({ email: 'gone@example.com' })
    .returning('id')
    .executeTakeFirstOrThrow()
  const ids = [await givenMail(db, 'gone@example.com'), await givenMail(db, 'gone@example.com', notification)]
  await db.updateTable('mail').set({ user_id: userId }).where('id', 'in', ids).execute()
  const other = await givenMail(db, 'a@example.com')
  await db.updateTable('app_user').set({ erased_at: sql<Date>`now()` }).where('id', '=', userId).execute()
  expect((await claim(9)).map(({ id }) => id)).toEqual([other])
  expect(await db.selectFrom('mail').select('id').execute()).toEqual([{ id: other }])
})

it('a deferred mail is not claimed before its time, and only server responses count as attempts', async () => {
  const { db } = database
  const id = await givenMail(db, 'a@example.com')
  await postpone(db, await claimOne(), { error: 'SERVER ECONNREFUSED', delayMs: 0, counts: false })
  const again = await claimOne()
  expect(again.attempt).toBe(1)
  await postpone(db, again, { error: '451', delayMs: retryDelayMs(1), counts: true })
  expect(await claim(1)).toEqual([])
  expect(await readMail(db, id)).toMatchObject({ attempt: 1, error: '451' })
  expect([1, 2, 3, 6, 7, 50].map((attempt) => retryDelayMs(attempt) / 60_000)).toEqual([1, 2, 4, 32, 60, 60])
})

it('a mail that is queued again under its key stays one mail, also after it was sent', async () => {
  const { db } = database
  const queue = () => queueMail(db, masterKeys, { ...notification, key: 'one', to: 'a@example.com', userId: null })
  await queue()
  await queue()
  await recordSent(db, await claimOne())
  await queue()
  expect(await claim(9)).toEqual([])
})
