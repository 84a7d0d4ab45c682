// Disputes by the sandbox's bank: views, notifications and webhooks.
import { sweepParts } from '@matte/core/db/sweep'
import { createEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { notifyEvents } from '@matte/people/notification/make-notifications'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createDispatcher } from '../dispatcher/in-process.ts'
import { buy, type Order } from '../support/app/payments.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { sweepPayments } from '../support/app/sweep-payments.ts'
import { givenTeam } from '../support/app/teams.ts'
import { startReceiver } from '../support/receiver.ts'
import { processDb } from '../support/roles.ts'

const world = useApi()
const minuteMs = 60_000

type Disputed = Order & { readonly dispute: string | null; readonly disputedCredits: number }
type Subscription = { readonly status: string; readonly disputed: boolean; readonly cancelAtPeriodEnd: boolean }
type Page<T> = { readonly items: readonly T[] }
type Entry = {
  readonly type: string
  readonly orderId: string | null
  readonly amount: number
  readonly balanceAfter: number
}

const bank = async ({ client }: Person, { id }: Pick<Order, 'id'>, action: string, outcome = 'succeed') =>
  (await client.call<Disputed>('POST', `/payments/sandbox/disputes/${id}`, { body: { action, outcome } })).data
const orderOf = async ({ client }: Person, { id }: Pick<Order, 'id'>) =>
  (await client.call<Disputed>('GET', `/payments/orders/${id}`)).data
const balanceOf = async ({ client }: Person) => (await client.call<object>('GET', '/credits/balance')).data
const ledgerOf = async ({ client }: Person) => (await client.call<Page<Entry>>('GET', '/credits/ledger')).data.items
const subscriptionOf = async ({ client }: Person) =>
  (await client.call<Subscription>('GET', '/payments/subscription')).data

/** The dispatcher's loops at two times: the second makes the check that an event of the first has caused. */
async function sweepUntil(minute: number): Promise<void> {
  for (const each of [minute - 2, minute]) await sweepPayments(world, new Date(Date.now() + each * minuteMs))
}

/** Titles of the disputes' notifications, after the dispatcher has made them. */
async function toldTo({ client }: Person): Promise<string[]> {
  const { db, api } = world
  const deps = { db: processDb('dispatcher', db), masterKeys: api.config.masterKeys, mailEnabled: false }
  const { failures } = await sweepParts({ made: (pass) => notifyEvents(deps, pass) })
  expect(failures).toEqual([])
  const { items } = (await client.call<Page<{ type: string; title: string }>>('GET', '/notifications')).data
  return items.filter(({ type }) => type.startsWith('payment.dispute')).map(({ title }) => title)
}

describe('a disputed payment', () => {
  it('holds its credits, shows why in order, balance and ledger, and gives them back when won', async () => {
    const person = await givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
    const order = await buy(person, { packId: 'small' })
    expect(await bank(person, order, 'open')).toMatchObject({ dispute: 'open', disputedCredits: 100, status: 'paid' })
    expect(await balanceOf(person)).toMatchObject({ available: 0, held: 100, total: 100 })
    const refund = { orderId: order.id, reason: 'test' }
    await expect(person.client.call('POST', '/payments/refunds', { body: refund })).rejects.toMatchObject({
      ...{ status: 409, code: 'CONFLICT', details: { dispute: 'open' } },
    })
    expect(await bank(person, order, 'win')).toMatchObject({ dispute: 'won', disputedCredits: 0 })
    expect(await balanceOf(person)).toMatchObject({ available: 100, held: 0 })
    expect(await ledgerOf(person)).toMatchObject([
      {
        ...{ type: 'release', orderId: order.id, amount: 100, balanceAfter: 100 },
        description: 'Released by the end of a dispute',
      },
      {
        ...{ type: 'hold', orderId: order.id, amount: -100, balanceAfter: 0 },
        description: 'Held while a payment is disputed',
      },
      { type: 'grant', amount: 100, balanceAfter: 100 },
    ])
  })

  it('loses its credits when lost, which the ledger shows as a refund', async () => {
    const person = await givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
    const order = await buy(person, { packId: 'small' })
    await bank(person, order, 'open', 'reorder')
    await bank(person, order, 'lose', 'duplicate')
    expect(await orderOf(person, order)).toMatchObject({ dispute: 'lost', disputedCredits: 100, refundedAmount: 0 })
    expect(await balanceOf(person)).toMatchObject({ available: 0, held: 0, total: 0 })
    const types = (await ledgerOf(person)).map(({ type, orderId }) => [type, orderId === order.id])
    expect(types).toEqual([
      ['refund', true],
      ['hold', true],
      ['grant', true],
    ])
    for (const type of ['hold', 'refund']) {
      const { items } = (await person.client.call<Page<Entry>>('GET', `/credits/ledger?type=${type}`)).data
      expect(items).toHaveLength(1)
    }
  })

  it('is known to owner, admins and billing, and to no other member', async () => {
    const team = await givenTeam(world, { plan: 'free', credits: 0 })
    const order = await buy(team.owner, { plan: 'pro', interval: 'month' })
    const [admin, billing, member] = [
      ...[await team.member('admin'), await team.member('billing'), await team.member('member')],
    ] as [Person, Person, Person]
    await bank(billing, order, 'open')
    for (const payer of [team.owner, admin, billing]) expect(await toldTo(payer)).toEqual(['A payment is disputed'])
    await bank(billing, order, 'win')
    const titles = ['The dispute of a payment has ended', 'A payment is disputed']
    for (const payer of [team.owner, admin, billing]) expect(await toldTo(payer)).toEqual(titles)
    expect(await toldTo(member)).toEqual([])
    await expect(bank(member, order, 'open')).rejects.toMatchObject({ status: 403 })
  })

  it('stops its subscription, which renews again after a won dispute and ends after a lost one', async () => {
    const person = await givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
    const order = await buy(person, { plan: 'pro', interval: 'month' })
    await bank(person, order, 'open')
    expect(await subscriptionOf(person)).toMatchObject({ status: 'active', disputed: true })
    await sweepUntil(2)
    expect(await subscriptionOf(person)).toMatchObject({ disputed: true, cancelAtPeriodEnd: true })
    await expect(person.client.call('POST', '/payments/subscription/resume')).rejects.toMatchObject({
      ...{ status: 409, details: { dispute: 'open' } },
    })
    await bank(person, order, 'win')
    await sweepUntil(6)
    expect(await subscriptionOf(person)).toMatchObject({ status: 'active', disputed: false, cancelAtPeriodEnd: false })
    await bank(person, order, 'open')
    await bank(person, order, 'lose')
    await sweepUntil(12)
    expect(await subscriptionOf(person)).toMatchObject({ status: 'canceled', plan: 'free', disputed: false })
  })

  it('is sent to webhooks as it opens and closes', async () => {
    const { db, api } = world
    const receiver = await startReceiver()
    const dispatcher = createDispatcher(db, { masterKeys: api.config.masterKeys })
    const person = await givenPerson(db, api, { plan: 'free', credits: 0 })
    const order = await buy(person, { packId: 'small' })
    const url = new URL(receiver.url)
    const eventTypes = ['payment.disputed', 'payment.dispute_closed'] as const
    const endpoint = { workspaceId: person.workspaceId, targetUrl: url.href, url, description: null }
    await createEndpoint(db, api.config.masterKeys, { ...endpoint, eventTypes: [...eventTypes] })
    await dispatcher.due.start()
    await bank(person, order, 'open')
    await bank(person, order, 'lose')
    dispatcher.due.wake()
    const webhooks = await receiver.until(2)
    await dispatcher.stop()
    const bodies = webhooks.map(({ bytes }) => JSON.parse(bytes.toString('utf8')) as { event: string })
    const common = { order_id: order.id, amount: 900, currency: 'USD', credits: 100 }
    expect(bodies.find(({ event }) => event === 'payment.disputed')).toMatchObject({ ...common, reason: 'fraudulent' })
    expect(bodies.find(({ event }) => event === 'payment.dispute_closed')).toMatchObject({ ...common, outcome: 'lost' })
    await receiver.close()
  })
})

describe('the bank of the sandbox', () => {
  it('answers what it cannot do', async () => {
    const person = await givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
    const order = await buy(person, { packId: 'small' }, { outcome: 'fail' })
    await expect(bank(person, order, 'open')).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    const paid = await buy(person, { packId: 'small' })
    await expect(bank(person, paid, 'win')).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    await expect(bank(person, paid, 'settle')).rejects.toMatchObject({ status: 400, code: 'INVALID_PARAMS' })
    await bank(person, paid, 'inquire')
    expect(await orderOf(person, paid)).toMatchObject({ dispute: null })
    await bank(person, paid, 'open')
    await expect(bank(person, paid, 'open')).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
  })
})
