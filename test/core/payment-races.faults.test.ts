// A reading of a subscription that is applied after a newer one.

import { deferred } from '@matte/core/runtime/service'
import { signSandboxEvent } from '@matte/people/payment/provider/sandbox/sandbox-signature'
import { receiveEvent } from '@matte/people/payment/receive-event'
import { createRefund } from '@matte/people/payment/refunds'
import { advanceSandboxPeriods, paySandbox } from '@matte/people/payment/sandbox'
import { cancelSubscription, changeSubscription } from '@matte/people/payment/subscriptions'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { buyFor, givenBuyer, orderFor, wanted } from './payment-buyers.ts'
import { readEnd, takeEvents } from './payment-ends.ts'
import { dayMs, paymentWorld } from './payment-world.ts'

const database = useDatabase()

it('an older reading never overwrites a newer one', async () => {
  const { db } = database
  const world = paymentWorld(db)
  const buyer = await givenBuyer(db)
  await buyFor(world, buyer, wanted.month)
  const { provider_id: id } = await db
    .selectFrom('subscription')
    .select('provider_id')
    .where('workspace_id', '=', buyer.workspaceId)
    .executeTakeFirstOrThrow()
  const { provider } = world.deps
  await provider.resumeSubscription(id)
  const [early = ''] = await takeEvents(db)
  await provider.cancelSubscription(id)
  const [late = ''] = await takeEvents(db)
  expect(early).not.toBe(late)

  // The first event has read the subscription before the cancellation, and continues only after the second is applied.
  await provider.resumeSubscription(id)
  await takeEvents(db)
  const gate = deferred<void>()
  let hasRead = false
  const slow = {
    ...provider,
    read: async (subject: Parameters<typeof provider.read>[0]) => {
      const facts = await provider.read(subject)
      hasRead = true
      await gate.promise
      return facts
    },
  }
  const slowly = receiveEvent(
    { ...world.deps, provider: slow },
    Buffer.from(early),
    signSandboxEvent(world.deps.masterKeys, early),
  )
  await until('the subscription is read', () => hasRead)
  await provider.cancelSubscription(id)
  expect(await world.deliver(late)).toBe('applied')
  gate.resolve()
  expect(await slowly).toBe('applied')
  const { subscriptions } = await readEnd(db, buyer.workspaceId)
  expect(JSON.parse(subscriptions[0] ?? '')).toMatchObject({ cancel_at_period_end: true })
})

const larger = { plan: 'business', interval: 'year', once: undefined } as const
const conflict = { code: 'CONFLICT' }

it('a year is not refunded during the charge for a larger plan, whose price includes its unused rest', async () => {
  const { db } = database
  const world = paymentWorld(db)
  const { workspaceId, userId } = await givenBuyer(db)
  const { id: orderId } = await buyFor(world, { workspaceId, userId }, wanted.year)
  const { provider } = world.deps
  const wish = { workspaceId, orderId, userId, reason: 'at once', once: undefined }
  const charging: typeof provider = {
    ...provider,
    changeSubscription: async (change) => {
      await expect(createRefund(world.deps, wish)).rejects.toMatchObject(conflict)
      return provider.changeSubscription(change)
    },
  }
  await changeSubscription({ ...world.deps, provider: charging }, { workspaceId, ...larger })
  const { plan } = await db
    .selectFrom('workspace')
    .select('plan')
    .where('id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  expect(plan).toBe('business')
})

it('a larger plan is not charged while a refund of the year is stored', async () => {
  const { db } = database
  const world = paymentWorld(db)
  const buyer = await givenBuyer(db)
  const { id: orderId } = await buyFor(world, buyer, wanted.year)
  const change = await db.transaction().execute(async (tx) => {
    await sql`select from subscription where workspace_id = ${buyer.workspaceId} for update`.execute(tx)
    await tx.updateTable('payment_order').set({ refunded_amount: 1 }).where('id', '=', orderId).execute()
    const changed = changeSubscription(world.deps, { workspaceId: buyer.workspaceId, ...larger }).catch(
      (error) => error,
    )
    await until('the change waits for the refund', async () => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
      return rows.length > 0
    })
    return { changed }
  })
  expect(await change.changed).toMatchObject(conflict)
})

it('a renewal that was paid is not ended by a cancellation that arrives before its event', async () => {
  const { db } = database
  const world = paymentWorld(db)
  const buyer = await givenBuyer(db)
  const { id: orderId } = await orderFor(world, buyer, wanted.month)
  await paySandbox(world.deps, { orderId, outcome: 'succeed', declineRenewals: true, failRefunds: false })
  world.pass(32 * dayMs)
  await world.due()
  const read = () =>
    db.selectFrom('subscription').selectAll().where('workspace_id', '=', buyer.workspaceId).executeTakeFirstOrThrow()
  expect(await read()).toMatchObject({ status: 'past_due' })
  await sql`update sandbox_object set state = state || '{"declines": false}'
             where kind = 'subscription' and state ->> 'orderId' = ${orderId}`.execute(db)
  world.pass(3 * dayMs)
  await advanceSandboxPeriods(world.deps, 50)
  expect(await read()).toMatchObject({ status: 'past_due' })
  await cancelSubscription(world.deps, buyer.workspaceId)
  await world.due()
  expect(await read()).toMatchObject({ status: 'active', cancel_at_period_end: true, in_force: true })
})
