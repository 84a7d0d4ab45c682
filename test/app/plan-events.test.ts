// `subscription.updated` contains the plan in force: a receiver that sets its plan from the event is right at each
// step.

import { createEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { notifyEvents } from '@matte/people/notification/make-notifications'
import { afterAll, describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createDispatcher } from '../dispatcher/in-process.ts'
import { admin } from '../support/admin.ts'
import { buy } from '../support/app/payments.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { sweepPayments } from '../support/app/sweep-payments.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'

const world = useApi()
const ends: (() => unknown)[] = []
afterAll(async () => {
  for (const end of ends.reverse()) await end()
})
const dayMs = 24 * 60 * 60 * 1_000

/** A receiver of plans, in the order of arrival. */
async function givenPlanReceiver({ workspaceId }: Person) {
  const { db, api } = world
  const receiver = await startReceiver()
  const dispatcher = createDispatcher(db, { masterKeys: api.config.masterKeys })
  ends.push(
    () => receiver.close(),
    () => dispatcher.stop(),
  )
  const url = new URL(receiver.url)
  const eventTypes = ['subscription.updated'] as const
  const input = { workspaceId, targetUrl: url.href, url, eventTypes, description: null }
  await createEndpoint(db, api.config.masterKeys, input)
  await dispatcher.due.start()
  const plans = (): string[] => receiver.received.map(({ bytes }) => JSON.parse(bytes.toString('utf8')).plan)
  const inForce = async (): Promise<string> =>
    (await db.selectFrom('workspace').select('plan').where('id', '=', workspaceId).executeTakeFirstOrThrow()).plan
  return {
    plans,
    /** Waits until the receiver has this plan, which is the plan in force. */
    expectPlan: async (plan: string): Promise<void> => {
      dispatcher.due.wake()
      await until(`the receiver's plan is ${plan}`, () => plans().at(-1) === plan)
      expect(await inForce()).toBe(plan)
    },
  }
}

const passTo = (days: number) => sweepPayments(world, new Date(Date.now() + days * dayMs))

const post = ({ client }: Person, what: string, body?: object) =>
  client.call('POST', `/payments/subscription/${what}`, { ...(body && { body }) })
const toPlan = (someone: Person, plan: string) => post(someone, 'change', { plan, interval: 'month' })

type Shown = { type: string; title: string; body: string; data: Record<string, unknown> }

async function notifications({ client }: Person): Promise<Shown[]> {
  const { masterKeys } = world.api.config
  while ((await notifyEvents({ db: world.db, masterKeys, mailEnabled: false }, {})) > 0);
  const { data } = await client.call<{ items: Shown[] }>('GET', '/notifications')
  return data.items.filter(({ type }) => type === 'subscription.updated')
}

describe('subscription.updated', () => {
  it('is sent with the plan in force when that changes, and only then', async () => {
    const someone = await givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
    const { plans, expectPlan } = await givenPlanReceiver(someone)
    await buy(someone, { plan: 'pro', interval: 'month' })
    await expectPlan('pro')
    await toPlan(someone, 'enterprise')
    await expectPlan('enterprise')
    await toPlan(someone, 'business')
    await passTo(32)
    await expectPlan('business')
    await post(someone, 'cancel')
    await post(someone, 'resume')
    await post(someone, 'cancel')
    await passTo(64)
    await expectPlan('free')
    await admin(['workspace', 'plan', '--workspace', someone.workspaceId, '--plan', 'pro'], {
      DATABASE_URL: world.databaseUrl,
    })
    await expectPlan('pro')
    expect(plans()).toEqual(['pro', 'enterprise', 'business', 'free', 'pro'])
  })

  it('is only a notification for a scheduled change, and for one that is canceled', async () => {
    const someone = await givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
    await buy(someone, { plan: 'business', interval: 'month' })
    await toPlan(someone, 'pro')
    const [scheduled, activation] = await notifications(someone)
    expect(activation).toMatchObject({ data: { plan: 'business' } })
    expect(scheduled).toMatchObject({ data: { plan: 'business', next_plan: 'pro' } })
    expect(scheduled?.body).toMatch(/^The payment due on \d{4}-\d\d-\d\d is for pro, billed by the month\. Until then/)
    await toPlan(someone, 'business')
    await post(someone, 'cancel')
    await post(someone, 'resume')
    const bodies = (await notifications(someone)).map(({ body }) => body)
    expect(bodies.slice(0, 2)).toEqual(Array(2).fill('The subscription to business continues.'))
    expect(bodies).toHaveLength(4)
  })
})
