// Late events of payments: failed refunds, unpaid renewals, orders paid after their cancellation, and refunds of a
// partly used year.
import { sweepParts } from '@matte/core/db/sweep'
import { paymentParts } from '@matte/people/payment/due-payments'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { buy, type Order, order, pay, paymentsOf } from '../support/app/payments.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { sweepPayments } from '../support/app/sweep-payments.ts'
import { findBrokenCreditRules } from '../support/credit-rules.ts'
import { processDb } from '../support/roles.ts'

const world = useApi()
const person = () => givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
const conflict = { status: 409, code: 'CONFLICT' }
const dayMs = 24 * 60 * 60 * 1_000
const after = (days: number): Date => new Date(Date.now() + days * dayMs)
const sweep = (days: number) => sweepPayments(world, after(days))

const lots = (workspaceId: string) =>
  world.db.selectFrom('credit_lot').selectAll().where('workspace_id', '=', workspaceId).orderBy('created_at').execute()
const planOf = async ({ workspaceId }: Person) =>
  (await world.db.selectFrom('workspace').select('plan').where('id', '=', workspaceId).executeTakeFirstOrThrow()).plan

type Refund = { id: string; status: string; amount: number; credits: number; failure: string | null }
type Invoice = { id: string; kind: string; number: string; total: number; corrects: string | null }

const refund = async ({ client }: Person, body: object) =>
  (await client.call<Refund>('POST', '/payments/refunds', { body: { reason: 'test', ...body } })).data
const invoices = async ({ client }: Person) =>
  (await client.call<{ items: Invoice[] }>('GET', '/payments/invoices')).data.items
const subscription = async ({ client }: Person) =>
  (await client.call<{ status: string; plan: string }>('GET', '/payments/subscription')).data

/** The payer paid at the provider before our cancellation arrived. */
const reopen = (orderId: string) =>
  sql`update sandbox_object set state = state || '{"status": "open"}'
       where id = ${`sandbox_checkout_${orderId}`}`.execute(world.db)

describe('a refund that fails after its success', () => {
  it('restores the credits, and a correction cancels its credit note', async () => {
    const someone = await person()
    const { id: orderId } = await buy(someone, { packId: 'small' }, { failRefunds: true })
    const made = await refund(someone, { orderId })
    expect(made).toMatchObject({ status: 'succeeded', amount: 900, credits: 100 })
    expect(await lots(someone.workspaceId)).toMatchObject([{ available: 0, refunded: 100 }])
    await sweep(1)
    await sweep(1)
    const { data } = await someone.client.call<Refund>('GET', `/payments/refunds/${made.id}`)
    expect(data).toMatchObject({ status: 'failed', failure: 'The account is closed.' })
    const paid = await someone.client.call<Order>('GET', `/payments/orders/${orderId}`)
    expect(paid.data).toMatchObject({ status: 'paid', refundedAmount: 0 })
    expect(await lots(someone.workspaceId)).toMatchObject([{ available: 100, refunded: 0 }])
    expect(await findBrokenCreditRules(world.db, someone.workspaceId)).toEqual([])
    const [correction, note, invoice] = await invoices(someone)
    expect(invoice).toMatchObject({ kind: 'invoice', total: 900 })
    expect(note).toMatchObject({ kind: 'credit_note', total: 900, creditNoteFor: invoice?.id })
    expect(correction).toMatchObject({ kind: 'correction', total: 900, corrects: note?.id, refundId: made.id })
    const numbers = [invoice, note, correction].map((each) => Number(each?.number.slice(5)))
    expect(numbers).toEqual([0, 1, 2].map((each) => (numbers[0] ?? 0) + each))
    const pdf = await fetch(`${world.api.url}/api/v1/app/payments/invoices/${correction?.id}/pdf`, {
      headers: { authorization: `Bearer ${someone.accessToken}` },
    })
    expect((await pdf.text()).slice(0, 5)).toBe('%PDF-')
    // It can be refunded again, with a new note.
    expect(await refund(someone, { orderId })).toMatchObject({ status: 'succeeded', amount: 900 })
    expect((await invoices(someone))[0]).toMatchObject({ kind: 'credit_note', total: 900 })
  })
})

describe('a subscription with an unpaid renewal', () => {
  it('blocks no purchase of packs, and ends at once when canceled', async () => {
    const someone = await person()
    await buy(someone, { plan: 'pro', interval: 'month' }, { declineRenewals: true })
    await world.db.updateTable('subscription_period').set(periodOver).where('plan', '=', 'pro').execute()
    await sweep(32)
    expect(await subscription(someone)).toMatchObject({ status: 'past_due' })
    expect(await buy(someone, { packId: 'small' })).toMatchObject({ status: 'paid' })
    await expect(order(someone, { plan: 'pro', interval: 'month' })).rejects.toMatchObject(conflict)
    const canceled = await someone.client.call<{ status: string }>('POST', '/payments/subscription/cancel')
    expect(canceled.data).toMatchObject({ status: 'canceled' })
    expect(await planOf(someone)).toBe('free')
    expect(await buy(someone, { plan: 'business', interval: 'month' })).toMatchObject({ status: 'paid' })
    await sweep(40)
    expect(await planOf(someone)).toBe('business')
  })
})

/** As if it had been paid a month earlier: members' actions use the database clock. */
const periodOver = {
  starts_at: sql<Date>`starts_at - interval '31 days'`,
  ends_at: sql<Date>`ends_at - interval '32 days'`,
}

describe('an order that is paid after its cancellation', () => {
  it('delivers its pack, once', async () => {
    const someone = await person()
    const made = await order(someone, { packId: 'small' })
    await someone.client.call('POST', `/payments/orders/${made.id}/cancel`)
    await reopen(made.id)
    expect(await pay(someone, made, { outcome: 'duplicate' })).toMatchObject({ status: 'paid' })
    await sweep(1)
    expect(await lots(someone.workspaceId)).toMatchObject([{ granted: 100 }])
  })

  it.each(['duplicate', 'reorder'])(
    'for a second subscription is refunded and ended, with the sandbox outcome %s',
    async (outcome) => {
      const someone = await person()
      const canceled = await order(someone, { plan: 'pro', interval: 'month' })
      const kept = await buy(someone, { plan: 'business', interval: 'month' }, { outcome })
      await reopen(canceled.id)
      expect(await pay(someone, canceled, { outcome })).toMatchObject({ status: 'paid' })
      for (const hours of [1, 2, 3]) await sweep(hours / 24)
      const orders = await someone.client.call<{ items: Order[] }>('GET', '/payments/orders')
      expect(orders.data.items.map(({ id, status }) => [id, status])).toEqual([
        [kept.id, 'paid'],
        [canceled.id, 'refunded'],
      ])
      expect(await subscription(someone)).toMatchObject({ status: 'active', plan: 'business' })
      expect(await planOf(someone)).toBe('business')
      expect((await lots(someone.workspaceId)).map(({ available }) => available)).toEqual([10_000, 0])
      const ended = await world.db
        .selectFrom('sandbox_object')
        .select(sql<string>`state ->> 'status'`.as('status'))
        .where('kind', '=', 'subscription')
        .where(sql<string>`state ->> 'orderId'`, '=', canceled.id)
        .executeTakeFirstOrThrow()
      expect(ended.status).toBe('canceled')
      expect(await findBrokenCreditRules(world.db, someone.workspaceId)).toEqual([])
    },
  )
})

describe('a refunded year', () => {
  it('pays back the share of its lot and of the remaining months, which then grant nothing', async () => {
    const someone = await person()
    const { id: orderId } = await buy(someone, { plan: 'pro', interval: 'year' })
    await sweep(40)
    expect(await lots(someone.workspaceId)).toHaveLength(2)
    const spend = { available: 600, spent: 400 }
    const [first, second] = await lots(someone.workspaceId)
    for (const lot of [first, second]) {
      await world.db
        .updateTable('credit_lot')
        .set(spend)
        .where('id', '=', lot?.id ?? '')
        .execute()
    }
    // 600 of the current month and ten more months, of twelve thousand.
    const most = Math.floor((29_000 * 10_600) / 12_000)
    const tooMuch = refund(someone, { orderId, amount: most + 1 })
    await expect(tooMuch).rejects.toMatchObject({ ...conflict, details: { refundable: most, currency: 'USD' } })
    expect(await refund(someone, { orderId, amount: 290 })).toMatchObject({ credits: 120 })
    expect(await refund(someone, { orderId, amount: most - 290 })).toMatchObject({ credits: 10_480 })
    await expect(refund(someone, { orderId })).rejects.toMatchObject(conflict)
    // Nothing of it is left to credit against a larger plan.
    const change = someone.client.call('POST', '/payments/subscription/change', {
      body: { plan: 'business', interval: 'year' },
    })
    await expect(change).rejects.toMatchObject(conflict)
    await sweep(200)
    expect(await lots(someone.workspaceId)).toMatchObject([{ available: 600 }, { available: 0, refunded: 600 }])
    expect(await planOf(someone)).toBe('pro')
  })

  it('has all its credits again when its refund fails, including months that began meanwhile', async () => {
    const someone = await person()
    const { id: orderId } = await buy(someone, { plan: 'pro', interval: 'year' }, { failRefunds: true })
    expect(await refund(someone, { orderId })).toMatchObject({ amount: 29_000, credits: 12_000 })
    const { months_granted } = paymentParts(paymentsOf(processDb('dispatcher', world.db), world.api, () => after(40)))
    expect((await sweepParts({ months_granted })).failures).toEqual([])
    expect(await lots(someone.workspaceId)).toMatchObject([{ available: 0, refunded: 1_000 }])
    await sweep(41)
    await sweep(360)
    const granted = await lots(someone.workspaceId)
    expect(granted.reduce((sum, { available }) => sum + available, 0)).toBe(12_000)
    expect(await findBrokenCreditRules(world.db, someone.workspaceId)).toEqual([])
  })
})

describe('an unrelated event that fails', () => {
  it('fails no payment, and is sent again', async () => {
    const [someone, other] = [await person(), await person()]
    const theirs = await buy(other, { plan: 'pro', interval: 'month' }, { outcome: 'delay' })
    const break_ = sql`jsonb_set(state, '{bought,plan}', '"gone"')`
    await sql`update sandbox_object set state = ${break_}
               where kind = 'invoice' and state ->> 'orderId' = ${theirs.id}`.execute(world.db)
    await world.db
      .updateTable('sandbox_event')
      .set({ due_at: new Date(0) })
      .where('delivered_at', 'is', null)
      .execute()
    expect(await buy(someone, { packId: 'small' })).toMatchObject({ status: 'paid' })
    const mend = sql`jsonb_set(state, '{bought,plan}', '"pro"')`
    await sql`update sandbox_object set state = ${mend}
               where kind = 'invoice' and state ->> 'orderId' = ${theirs.id}`.execute(world.db)
    await sweep(0.1)
    expect(await planOf(other)).toBe('pro')
  })
})
