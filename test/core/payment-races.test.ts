// What was read of a subscription before something changed, and is applied after what was read later.

import { signSandboxEvent } from '@matte/core/payment/provider/sandbox/sandbox-signature'
import { receiveEvent } from '@matte/core/payment/receive-event'
import { deferred } from '@matte/core/runtime/service'
import { expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { buyFor, givenBuyer, wanted } from './payment-buyers.ts'
import { readEnd, takeEvents } from './payment-ends.ts'
import { paymentWorld } from './payment-world.ts'

const database = useDatabase()

it('an older reading never covers a newer one', async () => {
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

  // The first event has read the subscription as it is before the cancel, and goes on only when the second is applied.
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
