// Referrals from registration with a code to the reward, which is granted once and never to the referrer's own account.
// Rows are as registration creates them.

import { createEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { serviceSignature } from '@matte/core/webhook/signature'
import { referralLoop } from '@matte/dispatcher/due/referral-loop'
import { joinReferred } from '@matte/people/referral/join-referred'
import { readCode } from '@matte/people/referral/referral-code'
import { rewardReferrals } from '@matte/people/referral/reward-referrals'
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import { withEveryCrash } from '../core/every-crash.ts'
import { newAddress, referrals, reward } from '../support/app/referrals.ts'
import { connectTo, useDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { createDispatcher, masterKeys } from './in-process.ts'
import { startReceiver } from './receiver.ts'

const database = useDatabase()
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const { givenPair, register, succeedOnce, referralOf, makeDue, pass, balanceOf, eventsOf } = referrals(database)

describe('a registration with a referral code', () => {
  it('is linked once its address is verified, and only once', async () => {
    const { db } = database
    const { ann, code } = await givenPair()
    const bob = await register({ code: ` ${code.toLowerCase()} `, verified: false })
    await pass()
    expect(await referralOf(bob)).toBeUndefined()
    await sql`update app_user set email_verified_at = now() where id = ${bob.id}`.execute(db)
    const replicas = Array.from({ length: 4 }, () => connectTo(database.url, 2))
    ends.push(() => Promise.all(replicas.map((replica) => replica.stop())))
    await Promise.all(replicas.map((replica) => joinReferred(replica.db)))
    expect(await referralOf(bob)).toMatchObject({ referrer_id: ann.id, status: 'joined', invited_at: null })
    expect(await joinReferred(db)).toBe(0)
  })

  it('marks the invitation to that address as accepted', async () => {
    const { db } = database
    const ann = await register()
    const code = await readCode(db, ann.id)
    const email = newAddress()
    const { rows } = await sql<{ id: string }>`
      insert into referral (referrer_id, email, email_key, status, invited_at)
      values (${ann.id}, ${email.toUpperCase()}, ${email}, 'invited', now()) returning id`.execute(db)
    const bob = await register({ email, code })
    await pass()
    expect(await referralOf(bob)).toMatchObject({ id: rows[0]?.id, status: 'joined', email: null })
  })

  it("is dropped when the code is unknown, the user's own, or of an erased account", async () => {
    const { db } = database
    const { ann, code, bob } = await givenPair()
    await sql`update app_user set erased_at = now() where id = ${ann.id}`.execute(db)
    const cid = await register({ code: 'NOBODY22' })
    const own = await register()
    await sql`update app_user set referral_code = ${await readCode(db, own.id)} where id = ${own.id}`.execute(db)
    await pass()
    for (const each of [bob, cid, own]) expect(await referralOf(each)).toBeUndefined()
    await sql`update app_user set erased_at = null where id = ${ann.id}`.execute(db)
    await pass()
    expect(await referralOf(bob)).toBeUndefined()
    expect(code).not.toBe('')
  })

  it('is linked once, whichever statement the process dies at', async () => {
    const { bob } = await givenPair()
    await withEveryCrash(database.db, joinReferred)
    expect(await referralOf(bob)).toMatchObject({ status: 'joined' })
  })
})

describe('the referral reward', () => {
  it('is granted as credits, with a signed referral.reward, after the first successful task', async () => {
    const { db } = database
    const { ann, bob } = await givenPair()
    const receiver = await startReceiver()
    const dispatcher = createDispatcher(db)
    const target = { targetUrl: receiver.url, url: new URL(receiver.url), description: null }
    const endpoint = await createEndpoint(db, masterKeys, {
      ...{ workspaceId: ann.workspaceId, eventTypes: ['referral.reward'] },
      ...target,
    })
    const { logger } = dispatcher.deps
    const loop = referralLoop({ db, rewardCredits: reward, autoApprove: true, wake: dispatcher.due.wake, logger })
    ends.push(
      () => receiver.close(),
      () => dispatcher.stop(),
      () => loop.stop(),
    )
    await succeedOnce(bob)
    await dispatcher.due.start()
    await loop.start()
    const arrived = await until('the event arrives', () => receiver.received[0])
    const signature = String(arrived.headers['x-service-signature'])
    const at = Number(/^t=(\d+),/.exec(signature)?.[1])
    expect(signature).toBe(serviceSignature(endpoint.signingSecret, at, arrived.body))
    const body = JSON.parse(arrived.body)
    expect(Object.keys(body)).toEqual(['event', 'credits', 'description', 'message'])
    expect(body).toMatchObject({ event: 'referral.reward', credits: reward })
    expect(await balanceOf(ann)).toBe(reward)
    expect(await referralOf(bob)).toMatchObject({ status: 'rewarded', credits: reward })
  })

  it('waits for the first success and is checked ever less often', async () => {
    const { db } = database
    const { ann, bob } = await givenPair()
    expect(await pass()).toBe(0)
    const pauseOf = async (): Promise<number> => {
      const { rows } = await sql<{ pause: number }>`
        select extract(epoch from check_at - now())::int as pause from referral where invited_id = ${bob.id}`.execute(
        db,
      )
      return rows[0]?.pause ?? 0
    }
    expect(await pauseOf()).toBeLessThanOrEqual(5)
    await sql`update referral set joined_at = now() - interval '10 days' where invited_id = ${bob.id}`.execute(db)
    await pass()
    expect(await pauseOf()).toBeGreaterThan(3_000)
    expect(await pauseOf()).toBeLessThanOrEqual(3_600)
    await succeedOnce(bob)
    expect(await pass()).toBe(1)
    await succeedOnce(bob)
    expect(await pass()).toBe(0)
    expect(await balanceOf(ann)).toBe(reward)
  })

  it('is granted once with several replicas, and whichever statement a process dies at', async () => {
    const { ann, code, bob } = await givenPair()
    await joinReferred(database.db)
    await succeedOnce(bob)
    await withEveryCrash(database.db, async (db) => {
      await makeDue()
      return rewardReferrals(db, { credits: reward, autoApprove: true })
    })
    const cid = await register({ code })
    await joinReferred(database.db)
    await succeedOnce(cid)
    const replicas = Array.from({ length: 4 }, () => connectTo(database.url, 2))
    ends.push(() => Promise.all(replicas.map((replica) => replica.stop())))
    const counts = await Promise.all(
      replicas.map(({ db }) => rewardReferrals(db, { credits: reward, autoApprove: true })),
    )
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1)
    expect(await balanceOf(ann)).toBe(2 * reward)
    expect(await eventsOf(ann)).toHaveLength(2)
  })

  it('is not granted while the setting is 0, and is granted when the setting changes', async () => {
    const { ann, bob } = await givenPair()
    await succeedOnce(bob)
    expect(await pass({ credits: 0 })).toBe(0)
    expect(await balanceOf(ann)).toBe(0)
    expect(await pass()).toBe(1)
    expect(await balanceOf(ann)).toBe(reward)
  })

  it('is refused when the account of the referrer is gone', async () => {
    const { ann, bob } = await givenPair()
    await joinReferred(database.db)
    await sql`update workspace set personal_of = null where id = ${ann.workspaceId}`.execute(database.db)
    await succeedOnce(bob)
    await pass()
    expect(await referralOf(bob)).toMatchObject({ status: 'refused', credits: null })
  })
})
