// Each payment event from its cause to the signed webhook, and the endpoint for events of a provider.

import { sweepParts } from '@matte/core/db/sweep'
import { createEndpoint } from '@matte/core/webhook/endpoint/endpoint'
import { paymentParts } from '@matte/people/payment/due-payments'
import { signatureToleranceSeconds } from '@matte/people/payment/provider/provider'
import { signSandboxEvent } from '@matte/people/payment/provider/sandbox/sandbox-signature'
import { describe, expect, it, vi } from 'vitest'
import { useApi } from '../api/given.ts'
import { createDispatcher } from '../dispatcher/in-process.ts'
import { buy, type Order, order, pay, paymentsOf } from '../support/app/payments.ts'
import { givenPerson } from '../support/app/people.ts'
import { startReceiver } from '../support/receiver.ts'
import { processDb } from '../support/roles.ts'
import { verifySignature } from '../support/verify-signature.ts'

const world = useApi()
const dayMs = 24 * 60 * 60 * 1_000

describe('payment events', () => {
  it('reach an endpoint, signed, each from its cause', async () => {
    const { db, api } = world
    const receiver = await startReceiver()
    const dispatcher = createDispatcher(db, { masterKeys: api.config.masterKeys })
    const someone = await givenPerson(db, api, { plan: 'free', credits: 0 })
    const { workspaceId, client } = someone
    const url = new URL(receiver.url)
    const input = { workspaceId, targetUrl: url.href, url, eventTypes: [], description: null }
    const { signingSecret } = await createEndpoint(db, api.config.masterKeys, input)
    await dispatcher.due.start()

    const failed = await buy(someone, { packId: 'small' }, { outcome: 'fail' })
    await pay(someone, failed)
    const body = { orderId: failed.id, amount: 90, reason: 'test' }
    const refund = await client.call<{ id: string }>('POST', '/payments/refunds', { body })
    const first = await buy(someone, { plan: 'pro', interval: 'month' })
    await client.call('POST', '/payments/subscription/cancel')
    await client.call('POST', '/payments/subscription/resume')
    await client.call('POST', '/payments/subscription/change', { body: { plan: 'business', interval: 'month' } })
    const later = new Date(Date.now() + 32 * dayMs)
    const { failures } = await sweepParts(paymentParts(paymentsOf(processDb('dispatcher', db), api, () => later)))
    expect(failures).toEqual([])
    dispatcher.due.wake()

    const webhooks = await receiver.until(12)
    await dispatcher.stop()
    const bodies = webhooks.map(({ bytes, headers }) => {
      const text = bytes.toString('utf8')
      expect(verifySignature(headers['x-service-signature']?.toString(), text, signingSecret)).toBe(true)
      return JSON.parse(text) as Record<string, unknown> & { event: string }
    })
    const of = (event: string) => bodies.filter((each) => each.event === event)
    expect(of('payment.failed')).toMatchObject([{ order_id: failed.id }])
    expect(of('credits.pack_purchased')).toMatchObject([{ credits: 100, pack_name: 'Small pack' }])
    expect(of('refund.succeeded')).toMatchObject([
      { refund_id: refund.data.id, order_id: failed.id, amount: 90, currency: 'USD' },
    ])
    expect(of('credits.refunded')).toMatchObject([{ amount: 10 }])
    expect(of('subscription.canceled')).toHaveLength(1)
    expect(of('subscription.updated').map(({ plan }) => plan)).toEqual(expect.arrayContaining(['pro', 'business']))
    expect(of('subscription.renewed')).toMatchObject([{ plan_name: 'business' }])
    const paid = of('payment.succeeded')
    expect(paid).toHaveLength(4)
    expect(paid).toContainEqual(expect.objectContaining({ order_id: failed.id, amount: 900, currency: 'USD' }))
    expect(paid).toContainEqual(expect.objectContaining({ order_id: first.id, amount: 2_900, currency: 'USD' }))
    await receiver.close()
  })
})

describe('the endpoint for provider events', () => {
  const send = (body: string, headers: Record<string, string>, provider = 'sandbox') =>
    fetch(`${world.api.url}/api/v1/app/payments/providers/${provider}/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
  const signed = (body: string) => signSandboxEvent(world.api.config.masterKeys, body)

  it('accepts an event over its raw body, once', async () => {
    const someone = await givenPerson(world.db, world.api, { plan: 'free', credits: 0 })
    const made = await buy(someone, { packId: 'small' }, { outcome: 'delay' })
    const row = await world.db
      .selectFrom('sandbox_event')
      .select('body')
      .where('body', 'like', `%${made.id}%`)
      .executeTakeFirstOrThrow()
    const answers = [await send(row.body, signed(row.body)), await send(row.body, signed(row.body))]
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    const outcomes = (await Promise.all(answers.map((answer) => answer.json()))) as { data: { outcome: string } }[]
    expect(outcomes.map(({ data }) => data.outcome)).toEqual(['applied', 'repeated'])
    const { data } = await someone.client.call<Order>('GET', `/payments/orders/${made.id}`)
    expect(data).toMatchObject({ status: 'paid' })
    // Insignificant blanks in JSON are bytes of the signature.
    expect((await send(`${row.body} `, signed(row.body))).status).toBe(401)
  })

  it('rejects unsigned events and unknown providers', async () => {
    const body = JSON.stringify({ id: 'x', type: 'y', about: null, failure: null })
    expect((await send(body, {})).status).toBe(401)
    expect((await send('', signed(''))).status).toBe(401)
    const now = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - (signatureToleranceSeconds + 1) * 1_000)
    const old = signed(body)
    now.mockRestore()
    expect((await send(body, old)).status).toBe(401)
    expect((await send(body, signed(body), 'stripe')).status).toBe(404)
    expect((await send(body, signed(body), 'none')).status).toBe(404)
  })
})

describe('without a provider', () => {
  const closed = useApi({ PAYMENTS_PROVIDER: 'none' })

  it('nothing can be bought, and past purchases stay readable', async () => {
    const someone = await givenPerson(closed.db, closed.api)
    const conflict = { status: 409, code: 'CONFLICT' }
    await expect(order(someone, { packId: 'small' })).rejects.toMatchObject(conflict)
    await expect(someone.client.call('POST', '/payments/subscription/cancel')).rejects.toMatchObject(conflict)
    expect((await someone.client.call<{ total: number }>('GET', '/payments/orders')).data.total).toBe(0)
    const id = crypto.randomUUID()
    await expect(pay(someone, { id })).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
  })
})
