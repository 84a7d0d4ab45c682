// Purchases from the order to their results: status, ledger, invoice, and signed event.
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { buy, type Order, order, pay, paymentsOf } from '../support/app/payments.ts'
import { givenPerson, type PersonOptions } from '../support/app/people.ts'
import { findBrokenCreditRules } from '../support/credit-rules.ts'

const world = useApi()
const person = (options: PersonOptions = {}) =>
  givenPerson(world.db, world.api, { plan: 'free', credits: 0, ...options })
const conflict = { status: 409, code: 'CONFLICT' }
const notFound = { status: 404, code: 'NOT_FOUND' }

/** Bodies of the workspace's webhooks, by event. */
async function published(workspaceId: string): Promise<string[]> {
  const rows = await world.db
    .selectFrom('notification_due')
    .select('event')
    .where('workspace_id', '=', workspaceId)
    .orderBy('id')
    .execute()
  return rows.map(({ event }) => event)
}

const lots = (workspaceId: string) =>
  world.db.selectFrom('credit_lot').selectAll().where('workspace_id', '=', workspaceId).orderBy('created_at').execute()

describe('the catalog', () => {
  it('has plans and packs with their prices', async () => {
    const { client } = await person()
    const plans = await client.call<{ items: unknown[] }>('GET', '/payments/plans')
    expect(plans.data.items).toContainEqual(
      expect.objectContaining({
        plan: 'pro',
        interval: 'month',
        amount: 2_900,
        currency: 'USD',
        monthlyCredits: 1_000,
      }),
    )
    const packs = await client.call<{ items: unknown[] }>('GET', '/payments/credit-packs')
    expect(packs.data.items).toContainEqual(expect.objectContaining({ id: 'small', credits: 100, amount: 900 }))
  })
})

describe('a pack', () => {
  it('is paid in the sandbox, granted, invoiced and announced', async () => {
    const someone = await person()
    const made = await order(someone, { packId: 'small' })
    expect(made).toMatchObject({ status: 'pending', amount: 900, credits: 100 })
    expect(made.checkoutUrl).toContain(made.id)
    expect(await lots(someone.workspaceId)).toEqual([])
    expect(await pay(someone, made)).toMatchObject({ status: 'paid', checkoutUrl: null })
    expect(await lots(someone.workspaceId)).toMatchObject([{ kind: 'pack', granted: 100, available: 100 }])
    expect((await published(someone.workspaceId)).sort()).toEqual(['credits.pack_purchased', 'payment.succeeded'])
    const { data } = await someone.client.call<{ items: { id: string }[] }>('GET', '/payments/invoices')
    expect(data.items).toMatchObject([{ kind: 'invoice', orderId: made.id, total: 900, currency: 'USD' }])
  })

  it('is the same order under the same key, with its checkout', async () => {
    const { client, workspaceId } = await person()
    const call = () =>
      client.call<Order>('POST', '/payments/orders', {
        body: { kind: 'pack', packId: 'small' },
        headers: { 'idempotency-key': 'once' },
      })
    const [first, second] = [await call(), await call()]
    expect(second.data).toEqual(first.data)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    const orders = await client.call<{ total: number }>('GET', '/payments/orders')
    expect(orders.data.total).toBe(1)
    // The process died between the order and its checkout.
    await world.db
      .updateTable('payment_order')
      .set({ checkout_id: null, checkout_url: null })
      .where('workspace_id', '=', workspaceId)
      .execute()
    expect((await call()).data.checkoutUrl).toBe(first.data.checkoutUrl)
  })

  it.each(['duplicate', 'reorder'])('is granted once with the sandbox outcome %s', async (outcome) => {
    const someone = await person()
    expect(await buy(someone, { packId: 'small' }, { outcome })).toMatchObject({ status: 'paid' })
    expect(await lots(someone.workspaceId)).toMatchObject([{ granted: 100 }])
  })

  it('waits for late events', async () => {
    const someone = await person()
    const made = await buy(someone, { packId: 'small' }, { outcome: 'delay' })
    expect(made).toMatchObject({ status: 'pending' })
    await world.db
      .updateTable('sandbox_event')
      .set({ due_at: new Date(0) })
      .where('delivered_at', 'is', null)
      .execute()
    const { deliverSandboxEvents } = await import('@matte/people/payment/sandbox')
    await deliverSandboxEvents(paymentsOf(world.db, world.api))
    const after = await someone.client.call<Order>('GET', `/payments/orders/${made.id}`)
    expect(after.data).toMatchObject({ status: 'paid' })
  })

  it('can fail, which is announced, and be tried again', async () => {
    const someone = await person()
    const failed = await buy(someone, { packId: 'small' }, { outcome: 'fail' })
    expect(failed).toMatchObject({ status: 'failed', failure: 'The sandbox declined this charge.' })
    expect(await published(someone.workspaceId)).toEqual(['payment.failed'])
    expect(await pay(someone, failed)).toMatchObject({ status: 'paid', failure: null })
  })

  it('can be canceled before payment, and not afterwards', async () => {
    const someone = await person()
    const made = await order(someone, { packId: 'small' })
    const cancel = (id: string) => someone.client.call<Order>('POST', `/payments/orders/${id}/cancel`)
    expect((await cancel(made.id)).data).toMatchObject({ status: 'canceled', checkoutUrl: null })
    await expect(pay(someone, made)).rejects.toMatchObject(conflict)
    await expect(cancel(made.id)).rejects.toMatchObject(conflict)
    const paid = await buy(someone, { packId: 'small' })
    await expect(cancel(paid.id)).rejects.toMatchObject(conflict)
    await expect(cancel(randomUUID())).rejects.toMatchObject(notFound)
  })

  it('can have five unpaid orders; a sixth is CONFLICT with the open ones', async () => {
    const someone = await person()
    const asked = await Promise.allSettled(Array.from({ length: 7 }, () => order(someone, { packId: 'small' })))
    const open = asked.flatMap((each) => (each.status === 'fulfilled' ? [each.value.id] : []))
    expect(open).toHaveLength(5)
    const refusal = await order(someone, { plan: 'pro', interval: 'month' }).catch((error) => error)
    expect(refusal).toMatchObject({ ...conflict, details: { limit: 5 } })
    expect(refusal.details.orderIds.sort()).toEqual([...open].sort())
    for (const id of open) expect(refusal.message).toContain(id)
    await someone.client.call('POST', `/payments/orders/${open[0]}/cancel`)
    expect(await order(someone, { packId: 'small' })).toMatchObject({ status: 'pending' })
    const other = await person()
    expect(await order(other, { packId: 'small' })).toMatchObject({ status: 'pending' })
  })

  it('cannot be ordered when it is not on sale', async () => {
    const someone = await person()
    const invalid = { status: 400, code: 'INVALID_PARAMS' }
    await expect(order(someone, { packId: 'none' })).rejects.toMatchObject(invalid)
    await expect(order(someone, { plan: 'internal', interval: 'month' })).rejects.toMatchObject(invalid)
    const body = { kind: 'pack' }
    await expect(someone.client.call('POST', '/payments/orders', { body })).rejects.toMatchObject(invalid)
  })
})

describe('a refund', () => {
  const refund = ({ client }: Awaited<ReturnType<typeof person>>, body: object) =>
    client.call<{ id: string; amount: number; credits: number; status: string }>('POST', '/payments/refunds', {
      body: { reason: 'test', ...body },
    })

  it('pays back the share of remaining credits, in parts that add up', async () => {
    const someone = await person()
    const { id: orderId } = await buy(someone, { packId: 'small' })
    const part = await refund(someone, { orderId, amount: 1 })
    expect(part.status).toBe(201)
    expect(part.data).toMatchObject({ amount: 1, credits: 1, status: 'succeeded' })
    const rest = await refund(someone, { orderId })
    expect(rest.data).toMatchObject({ amount: 899, credits: 99 })
    expect(await lots(someone.workspaceId)).toMatchObject([{ available: 0, refunded: 100 }])
    const { data } = await someone.client.call<Order>('GET', `/payments/orders/${orderId}`)
    expect(data).toMatchObject({ status: 'refunded', refundedAmount: 900 })
    await expect(refund(someone, { orderId })).rejects.toMatchObject(conflict)
    const events = await published(someone.workspaceId)
    expect(events.filter((event) => event === 'refund.succeeded')).toHaveLength(2)
    expect(events.filter((event) => event === 'credits.refunded')).toHaveLength(2)
    const invoices = await someone.client.call<{ items: object[] }>('GET', '/payments/invoices')
    expect(invoices.data.items).toMatchObject([
      { kind: 'credit_note', total: 899 },
      { kind: 'credit_note', total: 1 },
      { kind: 'invoice', total: 900 },
    ])
    expect(await findBrokenCreditRules(world.db, someone.workspaceId)).toEqual([])
  })

  it('pays nothing back for spent credits', async () => {
    const someone = await person()
    const { id: orderId } = await buy(someone, { packId: 'small' })
    await world.db
      .updateTable('credit_lot')
      .set({ available: 40, spent: 60 })
      .where('workspace_id', '=', someone.workspaceId)
      .execute()
    const tooMuch = refund(someone, { orderId, amount: 361 })
    await expect(tooMuch).rejects.toMatchObject({ ...conflict, details: { refundable: 360, currency: 'USD' } })
    expect((await refund(someone, { orderId, amount: 360 })).data).toMatchObject({ amount: 360, credits: 40 })
  })

  it('is made once under its key, and once with two concurrent requests', async () => {
    const someone = await person()
    const { id: orderId } = await buy(someone, { packId: 'small' })
    const headers = { 'idempotency-key': 'k' }
    const body = { orderId, amount: 100, reason: 'test' }
    const call = () => someone.client.call<{ id: string }>('POST', '/payments/refunds', { body, headers })
    expect((await call()).data).toEqual((await call()).data)
    const both = await Promise.allSettled([refund(someone, { orderId }), refund(someone, { orderId })])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await lots(someone.workspaceId)).toMatchObject([{ available: 0, refunded: 100 }])
  })

  it('requires a paid order of the workspace', async () => {
    const someone = await person()
    const { id: orderId } = await buy(await person(), { packId: 'small' })
    await expect(refund(someone, { orderId })).rejects.toMatchObject(notFound)
    const open = await order(someone, { packId: 'small' })
    await expect(refund(someone, { orderId: open.id })).rejects.toMatchObject(conflict)
  })
})

describe('an invoice', () => {
  it('has the workspace’s billing details, and is a PDF', async () => {
    const someone = await person()
    const billing = { name: 'Example GmbH', addressLines: ['Weg 1', '10115 Berlin'], taxId: 'DE123', email: null }
    await world.db
      .updateTable('workspace')
      .set({ billing: JSON.stringify(billing) })
      .where('id', '=', someone.workspaceId)
      .execute()
    await buy(someone, { packId: 'small' })
    type Invoice = { id: string; number: string; buyer: object }
    const { data } = await someone.client.call<{ items: Invoice[] }>('GET', '/payments/invoices')
    const [invoice] = data.items
    expect(invoice?.buyer).toEqual({ ...billing, email: someone.email })
    expect(invoice?.number).toMatch(/^\d{4}-\d{6}$/)
    const pdf = await fetch(`${world.api.url}/api/v1/app/payments/invoices/${invoice?.id}/pdf`, {
      headers: { authorization: `Bearer ${someone.accessToken}` },
    })
    expect(pdf.headers.get('content-type')).toBe('application/pdf')
    expect((await pdf.text()).slice(0, 5)).toBe('%PDF-')
    const other = await person()
    await expect(other.client.call('GET', `/payments/invoices/${invoice?.id}`)).rejects.toMatchObject(notFound)
  })

  it('has a number without gaps, with concurrent payments and failures', async () => {
    const people = await Promise.all(Array.from({ length: 6 }, () => person()))
    await Promise.all(people.map((someone) => buy(someone, { packId: 'small' })))
    const rows = await world.db.selectFrom('invoice').select('number').orderBy('number').execute()
    const numbers = rows.map(({ number }) => Number(number.slice(5)))
    expect(numbers).toEqual(numbers.map((_, index) => index + 1))
  })
})

describe('access to purchases', () => {
  it('requires owner or billing of the workspace', async () => {
    const owner = await person()
    const as = (role: 'admin' | 'billing' | 'member') => person({ member: { workspaceId: owner.workspaceId, role } })
    const forbidden = { status: 403, code: 'AUTH_FORBIDDEN' }
    for (const role of ['admin', 'member'] as const) {
      await expect(order(await as(role), { packId: 'small' })).rejects.toMatchObject(forbidden)
    }
    const made = await order(await as('billing'), { packId: 'small' })
    const stranger = await person()
    await expect(stranger.client.call('GET', `/payments/orders/${made.id}`)).rejects.toMatchObject(notFound)
    await expect(pay(stranger, made)).rejects.toMatchObject(notFound)
  })
})
