// Cleaning up after sign-in: a bounded number of rows per pass, and only what no longer counts. Also failing requests.

import { randomBytes, randomUUID } from 'node:crypto'
import { foldAddress } from '@matte/core/address'
import { parseMasterKeys } from '@matte/core/runtime/seal'
import { insertWorkspace } from '@matte/core/workspace/workspace-queries'
import { requestVerification } from '@matte/people/identity/account/account-requests'
import { processAccountRequests } from '@matte/people/identity/account/process-account-requests'
import { cleanSignIn } from '@matte/people/identity/login/clean-sign-in'
import { takeAttempt } from '@matte/people/identity/password/login-attempts'
import { insertFailedLogin } from '@matte/people/identity/session/login-events'
import { startSession } from '@matte/people/identity/session/start-session'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { newEmail } from '../support/app/sign-in/accounts.ts'
import { useDatabase } from '../support/database.ts'

const database = useDatabase()
const client = { ipAddress: null, userAgent: null }

async function givenUser(): Promise<string> {
  const { db } = database
  const { id } = await db.insertInto('app_user').values({ email: newEmail() }).returning('id').executeTakeFirstOrThrow()
  const workspace = await insertWorkspace(db, { name: 'w', plan: 'free' })
  await db.updateTable('workspace').set({ personal_of: id }).where('id', '=', workspace.id).execute()
  await db.insertInto('membership').values({ workspace_id: workspace.id, user_id: id, role: 'owner' }).execute()
  return id
}

it('sessions that ended long ago are deleted with their tokens, others stay', async () => {
  const { db } = database
  const userId = await givenUser()
  const started = [1, 2, 3].map(() => startSession(db, { userId, method: 'password', client }))
  const [ended, expired, live] = (await Promise.all(started)).map((session) => session?.sessionId ?? '')
  const twoDaysAgo = sql<Date>`now() - interval '2 days'`
  await db
    .updateTable('session')
    .set({ ended_at: twoDaysAgo })
    .where('id', '=', ended ?? '')
    .execute()
  await db
    .updateTable('session')
    .set({ expires_at: twoDaysAgo })
    .where('id', '=', expired ?? '')
    .execute()
  expect(await cleanSignIn(db)).toMatchObject({ sessions: 2 })
  const left = await db.selectFrom('refresh_token').select('session_id').execute()
  expect(left).toEqual([{ session_id: live }])
  expect(await cleanSignIn(db)).toMatchObject({ sessions: 0 })
})

it('history is deleted after 90 days; failures for unknown accounts after one day', async () => {
  const { db } = database
  const userId = randomUUID()
  const events = [userId, userId, null, null].map((id) =>
    insertFailedLogin(db, { userId: id, method: 'password', failureReason: 'wrong_password', client }),
  )
  await Promise.all(events)
  const readRows = () => db.selectFrom('login_event').select(['id', 'user_id']).where('success', 'is', false).execute()
  const rows = await readRows()
  for (const someone of [userId, null]) {
    const row = rows.find((each) => each.user_id === someone)
    const age = someone === null ? sql<Date>`now() - interval '25 hours'` : sql<Date>`now() - interval '91 days'`
    await db
      .updateTable('login_event')
      .set({ at: age })
      .where('id', '=', row?.id ?? '')
      .execute()
  }
  const account = randomBytes(32)
  await takeAttempt(db, { account, network: '192.0.2.1' })
  await db.updateTable('login_failure').set({ last_at: sql<Date>`now() - interval '25 hours'` }).execute()
  expect(await cleanSignIn(db)).toMatchObject({ login_events: 1, nobodys_login_events: 1, login_failures: 2 })
  expect(await readRows()).toHaveLength(2)
})

it('a failing request waits and does not block later ones', async () => {
  const { db } = database
  const email = newEmail()
  await db
    .insertInto('app_user')
    .values({ email, email_key: foldAddress(email) })
    .execute()
  await requestVerification(db, email)
  await requestVerification(db, newEmail())
  const errors: unknown[] = []
  const deps = {
    ...{ db, appUrl: 'https://app.example.com', mayRegister: async () => true, verificationsPerMinute: 0 },
    onError: (error: unknown) => void errors.push(error),
  }
  const idle = new AbortController().signal
  const counts = await processAccountRequests({ ...deps, masterKeys: new Map() }, idle)
  expect([counts, errors.length]).toEqual([{ done: 1, postponed: 1 }, 1])
  expect(await processAccountRequests({ ...deps, masterKeys: new Map() }, idle)).toEqual({ done: 0, postponed: 0 })
  await db
    .updateTable('account_request')
    .set({ due_at: new Date(0) })
    .execute()
  const masterKeys = parseMasterKeys(`test:${Buffer.alloc(32, 1).toString('base64')}`)
  expect(await processAccountRequests({ ...deps, masterKeys }, idle)).toEqual({ done: 1, postponed: 0 })
  const mails = await db.selectFrom('mail').select('template').where('to_address', '=', email).execute()
  expect(mails).toEqual([{ template: 'verify-email' }])
})
