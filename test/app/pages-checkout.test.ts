// The sandbox's checkout page, used through its buttons.
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { type Order, order } from '../support/app/payments.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { sweepPayments } from '../support/app/sweep-payments.ts'
import { visit } from '../support/app/visitor/browser.ts'

const world = useApi({ OPEN_REQUESTS_PER_MINUTE: '1000000' })
const person = () => givenPerson(world.db, world.api, { plan: 'free', credits: 0 })

const checkoutOf = ({ checkoutUrl }: Order) => visit(checkoutUrl ?? '')
const statusOf = async ({ client }: Person, { id }: Order) =>
  (await client.call<Order>('GET', `/payments/orders/${id}`)).data.status
const creditsOf = async ({ client }: Person) =>
  (await client.call<{ available: number }>('GET', '/credits/balance')).data.available

describe('the sandbox checkout', () => {
  it('ends in a paid order after one button press, once', async () => {
    const someone = await person()
    const made = await order(someone, { packId: 'small' })
    const page = await checkoutOf(made)
    expect([page.status, page.heading]).toEqual([200, 'Pay $9.00'])
    expect(await statusOf(someone, made)).toBe('pending')
    expect((await page.submit({}, { button: 'succeed' })).heading).toBe('The order is paid')
    expect([await statusOf(someone, made), await creditsOf(someone)]).toEqual(['paid', 100])
    expect((await page.submit({}, { button: 'duplicate' })).heading).toBe('The order is paid')
    expect(await creditsOf(someone)).toBe(100)
  })

  it('declines, and can be paid afterwards', async () => {
    const someone = await person()
    const made = await order(someone, { packId: 'small' })
    const declined = await (await checkoutOf(made)).submit({}, { button: 'fail' })
    expect(declined.text).toContain('The card was declined.')
    expect(await statusOf(someone, made)).toBe('failed')
    await declined.submit({}, { button: 'reorder' })
    expect(await statusOf(someone, made)).toBe('paid')
  })

  it('cancels the order, which cannot be paid afterwards', async () => {
    const someone = await person()
    const made = await order(someone, { packId: 'small' })
    const page = await checkoutOf(made)
    expect((await page.submit({}, { button: 'cancel' })).heading).toBe('The order is canceled')
    expect((await page.submit({}, { button: 'succeed' })).heading).toBe('The order is canceled')
    expect([await statusOf(someone, made), await creditsOf(someone)]).toEqual(['canceled', 0])
  })

  it('delays the report of a payment, and the page says so', async () => {
    const someone = await person()
    const made = await order(someone, { packId: 'small' })
    const page = await checkoutOf(made)
    expect((await page.submit({}, { button: 'delay' })).heading).toBe('Paid, and not reported yet')
    expect((await page.submit({}, { button: 'succeed' })).heading).toBe('Paid, and not reported yet')
    expect(await statusOf(someone, made)).toBe('pending')
    const later = new Date(Date.now() + 60_000)
    await sweepPayments(world, later)
    expect(await statusOf(someone, made)).toBe('paid')
    expect((await checkoutOf(made)).heading).toBe('The order is paid')
  })

  it('starts a subscription whose renewals are declined', async () => {
    const someone = await person()
    const made = await order(someone, { plan: 'pro', interval: 'month' })
    await (await checkoutOf(made)).submit({ declineRenewals: 'yes' }, { button: 'succeed' })
    expect(await statusOf(someone, made)).toBe('paid')
    const objects = world.db.selectFrom('sandbox_object').select('state').where('kind', '=', 'subscription')
    expect((await objects.execute()).map(({ state }) => state)).toContainEqual(
      expect.objectContaining({ orderId: made.id, declines: true }),
    )
  })

  it('opens by its link only: neither by the id of an order, nor with the signature of another', async () => {
    const someone = await person()
    const [one, two] = [await order(someone, { packId: 'small' }), await order(someone, { packId: 'large' })]
    const tokenOf = ({ checkoutUrl }: Order) => URL.parse(checkoutUrl ?? '')?.searchParams.get('token') ?? ''
    const [, signature] = tokenOf(two).split('.')
    for (const token of ['', one.id, `${one.id}.`, `${one.id}.${signature}`, `${tokenOf(one)}A`, 'nonsense']) {
      const url = new URL(one.checkoutUrl ?? '')
      url.searchParams.set('token', token)
      expect((await visit(url.href)).heading, token).toBe('There is nothing to pay here')
      const body = new URLSearchParams({ token: token || 'x', outcome: 'succeed' })
      await visit(`${url.origin}${url.pathname}`, { method: 'POST', body })
    }
    expect(await statusOf(someone, one)).toBe('pending')
  })

  it("formats the price for the buyer's locale, and escapes user text", async () => {
    const someone = await person()
    await someone.client.call('PATCH', '/users/profile', { body: { locale: 'de-DE' } })
    const made = await order(someone, { packId: 'small' })
    expect((await checkoutOf(made)).heading).toBe('Pay 9,00 $')
    const description = '<script>alert(1)</script>'
    await world.db.updateTable('payment_order').set({ description }).where('id', '=', made.id).execute()
    const page = await checkoutOf(made)
    expect(page.html).not.toContain('<script')
    expect(page.text).toContain(description)
  })
})
