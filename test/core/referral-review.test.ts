// Rewards with signs of a duplicate account: held until an operator decides.
import { readCode } from '@matte/people/referral/referral-code'
import { decideReview, listReviews } from '@matte/people/referral/review-reward'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { referrals, reward } from '../support/app/referrals.ts'
import { useDatabase } from '../support/database.ts'

const database = useDatabase()
const { givenPair, register, succeedOnce, referralOf, pass, balanceOf, eventsOf } = referrals(database)

describe('a reward is held for review', () => {
  const near = '203.0.113.7'

  it.each([
    ['from the same address', { from: near }, { from: near }],
    ['from the same /24', { from: near }, { from: '203.0.113.200' }],
    ['from the same /24, mapped to IPv6', { from: '::ffff:203.0.113.7' }, { from: '::ffff:203.0.113.9' }],
    ['from the same /48', { from: '2001:db8:1:2::1' }, { from: '2001:db8:1:ffff::9' }],
  ])('when both registered within an hour %s', async (_what, first, second) => {
    const { ann, bob } = await givenPair(first, second)
    await succeedOnce(bob)
    await pass()
    expect(await referralOf(bob)).toMatchObject({ status: 'review', suspicion: 'address', credits: reward })
    expect(await balanceOf(ann)).toBe(0)
    expect(await eventsOf(ann)).toEqual([])
  })

  it.each([
    ['from other networks', { from: near }, { from: '203.0.114.7' }],
    ['from other networks, mapped to IPv6', { from: '::ffff:203.0.113.7' }, { from: '::ffff:198.51.100.7' }],
    ['from other /48', { from: '2001:db8:1:2::1' }, { from: '2001:db8:2:2::1' }],
    ['hours apart', { from: near, hoursAgo: 3 }, { from: near }],
    ['from unknown addresses', {}, {}],
  ])('but not when they registered %s', async (_what, first, second) => {
    const { ann, bob } = await givenPair(first, second)
    await succeedOnce(bob)
    await pass()
    expect(await referralOf(bob)).toMatchObject({ status: 'rewarded' })
    expect(await balanceOf(ann)).toBe(reward)
  })

  it('when one registered from an address where the other was signed in', async () => {
    const { db } = database
    const ann = await register({ hoursAgo: 100 })
    const code = await readCode(db, ann.id)
    await sql`
      insert into session (user_id, workspace_id, ip_address, created_at, last_used_at, expires_at)
      values (${ann.id}, ${ann.workspaceId}, ${near}, now() - interval '90 hours', now() - interval '30 minutes',
              now() + interval '1 day')`.execute(db)
    const bob = await register({ code, from: near })
    await succeedOnce(bob)
    await pass()
    expect(await referralOf(bob)).toMatchObject({ status: 'review', suspicion: 'address' })
  })

  it('when both paid with the same instrument', async () => {
    const { ann, bob } = await givenPair()
    const ids = [ann.workspaceId, bob.workspaceId]
    await database.db.updateTable('workspace').set({ payment_fingerprint: 'card' }).where('id', 'in', ids).execute()
    await succeedOnce(bob)
    await pass()
    expect(await referralOf(bob)).toMatchObject({ status: 'review', suspicion: 'payment' })
  })

  it('and granted once on approval, also with concurrent approvals', async () => {
    const { db } = database
    const { ann, bob } = await givenPair({ from: near }, { from: near })
    await succeedOnce(bob)
    await pass()
    const { id = '' } = (await referralOf(bob)) ?? {}
    expect(await listReviews(db, 100)).toContainEqual(expect.objectContaining({ id, suspicion: 'address' }))
    const decisions = await Promise.allSettled([1, 2, 3].map(() => decideReview(db, id, 'approve')))
    expect(decisions.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(decisions.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'CONFLICT' } })
    expect(await balanceOf(ann)).toBe(reward)
    expect(await eventsOf(ann)).toMatchObject([{ event: 'referral.reward', fields: { credits: reward } }])
  })

  it('and never granted after refusal', async () => {
    const { db } = database
    const { ann, bob } = await givenPair({ from: near }, { from: near })
    await succeedOnce(bob)
    await pass()
    const { id = '' } = (await referralOf(bob)) ?? {}
    expect(await decideReview(db, id, 'refuse')).toEqual({ status: 'refused', credits: 0 })
    await expect(decideReview(db, id, 'approve')).rejects.toMatchObject({ code: 'CONFLICT' })
    await pass()
    expect(await balanceOf(ann)).toBe(0)
  })
})

describe('a reward for a referred account that', () => {
  const order = (workspace_id: string, status: 'paid' | 'refunded') =>
    database.db
      .insertInto('payment_order')
      .values({
        ...{ workspace_id, kind: 'pack', description: 'Pack', pack_id: 's', credits: 100, amount: 900 },
        ...{ currency: 'USD', provider: 'sandbox', status, paid_at: new Date() },
        ...(status === 'refunded' && { refunded_amount: 900 }),
      })
      .execute()

  it('has bought something is paid at once', async () => {
    const { ann, bob } = await givenPair()
    await order(bob.workspaceId, 'paid')
    await succeedOnce(bob)
    await pass({ autoApprove: false })
    expect(await referralOf(bob)).toMatchObject({ status: 'rewarded', suspicion: null })
    expect(await balanceOf(ann)).toBe(reward)
  })

  it.each(['has bought nothing', 'was paid everything back'])('%s waits for an operator', async (what) => {
    const { db } = database
    const { ann, bob } = await givenPair()
    if (what !== 'has bought nothing') await order(bob.workspaceId, 'refunded')
    await succeedOnce(bob)
    await pass({ autoApprove: false })
    const { id = '' } = (await referralOf(bob)) ?? {}
    expect(await listReviews(db, 100)).toContainEqual(expect.objectContaining({ id, suspicion: 'unpaid' }))
    expect([await balanceOf(ann), await eventsOf(ann)]).toEqual([0, []])
    expect(await decideReview(db, id, 'approve')).toEqual({ status: 'rewarded', credits: reward })
    expect(await balanceOf(ann)).toBe(reward)
  })
})

describe('rewards of one referrer', () => {
  it('are limited to ten in 30 days; the others wait for approval', async () => {
    const { db } = database
    const ann = await register()
    const code = await readCode(db, ann.id)
    const joined = await Promise.all(Array.from({ length: 13 }, () => register({ code })))
    for (const each of joined) await succeedOnce(each)
    await pass()
    expect(await balanceOf(ann)).toBe(10 * reward)
    const waiting = (await listReviews(db, 100)).filter(({ suspicion }) => suspicion === 'limit').map(({ id }) => id)
    expect(waiting).toHaveLength(3)
    const [first = '', second = '', third = ''] = waiting
    const conflict = { code: 'CONFLICT', message: expect.stringContaining('Approve this one after') }
    await expect(decideReview(db, first, 'approve')).rejects.toMatchObject(conflict)
    // One of the ten was paid a month ago, which leaves room for one.
    await sql`
      update referral set decided_at = decided_at - interval '31 days' where id = (
        select id from referral where referrer_id = ${ann.id} and status = 'rewarded' limit 1)`.execute(db)
    const both = await Promise.allSettled([first, second].map((id) => decideReview(db, id, 'approve')))
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await balanceOf(ann)).toBe(11 * reward)
    expect(await decideReview(db, third, 'refuse')).toEqual({ status: 'refused', credits: 0 })
  })
})
