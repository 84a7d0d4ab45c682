// More concurrent passwords than the service hashes: a login that was shed does not count as a failure. Also two logins
// of one account from one network at two replicas.
import { logIn } from '@matte/people/identity/login/log-in'
import { confirmPassword } from '@matte/people/identity/password/confirm-password'
import { forgetAttempt, takeAttempt } from '@matte/people/identity/password/login-attempts'
import { passwordHasher } from '@matte/people/identity/password/password-hasher'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenPerson } from '../support/app/people.ts'
import { givePassword } from '../support/app/sign-in/given-password.ts'
import { until } from '../support/until.ts'

const world = useApi()
const network = '192.0.2.1'
const from = { network: '192.0.2.0/24', client: network }
const client = { ipAddress: null, userAgent: null }
const password = 'a wrong password'
const free = passwordHasher({ atOnce: 1, waitingMax: 10 })
/** The queue is full. */
const full = passwordHasher({ atOnce: 0, waitingMax: 0 })

describe('a password that was shed unverified', () => {
  it.each(['login', 'confirmation'])('is no failure: %s', async (what) => {
    const { userId, sessionId, email } = await givenPerson(world.db, world.api)
    await givePassword(world.db, { userId })
    const { masterKeys } = world.api.config
    const send = (hasher: typeof free): Promise<unknown> =>
      what === 'login'
        ? logIn({ db: world.db, masterKeys, hasher }, { email, password, from, client })
        : confirmPassword(
            { db: world.db, masterKeys, hasher },
            {
              ...{ userId, sessionId, password, from },
              path: '/body/password',
            },
          )
    const read = async () => {
      const { rows } = await sql<{ failures: number; waits: boolean }>`
        select failures, allowed_at > now() as waits from login_failure
         where account = sha256(${email}::bytea) order by network`.execute(world.db)
      return rows
    }
    const busy = { code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'capacity' } }
    await send(free).catch(() => undefined)
    for (let count = 0; count < 10; count += 1) await expect(send(full)).rejects.toMatchObject(busy)
    const once = { failures: 1, waits: false }
    expect(await read()).toEqual([once, once])
  })
})

describe('two concurrent attempts of one account from one network', () => {
  it('wait for each other without deadlock: one with the right password, then the other', async () => {
    const { db } = world
    const pair = { account: Buffer.alloc(32, 7), network }
    await takeAttempt(db, pair)
    const areWaiting = (count: number) =>
      until(`${count} wait for a lock`, async () => {
        const { rows } = await sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
        return rows.length === count
      })
    const both = await db.transaction().execute(async (tx) => {
      await sql`select from login_failure where account = ${pair.account} and network = '' for update`.execute(tx)
      const forgotten = forgetAttempt(db, pair)
      await areWaiting(1)
      const taken = takeAttempt(db, pair)
      await areWaiting(2)
      return { done: Promise.allSettled([forgotten, taken]) }
    })
    expect(await both.done).toMatchObject([{ status: 'fulfilled' }, { value: { allowed: true, failures: 1 } }])
  })
})
