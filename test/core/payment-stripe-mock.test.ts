// Requests to Stripe, checked by stripe-mock if the machine has it.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { ProviderUnavailable } from '@matte/people/payment/provider/provider-errors'
import { stripeProvider } from '@matte/people/payment/provider/stripe/stripe-provider'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePorts } from '../support/free-ports.ts'
import { reportSkip } from '../support/report/skips.ts'
import { until } from '../support/until.ts'

const pack = {
  orderId: '8c1c3f0e-5f0b-4a77-9a44-2f8f3a1d9b10',
  ...{ description: 'Small pack', amount: 900, currency: 'USD', email: 'a@example.com', subscription: null },
  returnUrl: 'https://app.example.com/billing',
}
const pro = { plan: 'pro', interval: 'month', amount: 2_900, currency: 'USD' } as const
const business = { plan: 'business', interval: 'month', amount: 19_900, currency: 'USD' } as const

const hasMock = spawnSync('stripe-mock', ['-version']).error === undefined
if (!hasMock) reportSkip({ matching: 'stripe-mock takes', reason: 'stripe-mock is not in $PATH' })

describe.skipIf(!hasMock)('stripe-mock accepts', () => {
  let mock: ChildProcess | undefined
  let base = ''
  beforeAll(async () => {
    const [port = 0, https = 0] = await freePorts(2)
    base = `http://127.0.0.1:${port}`
    mock = spawn('stripe-mock', ['-http-addr', `127.0.0.1:${port}`, '-https-addr', `127.0.0.1:${https}`])
    await until('stripe-mock answers', async () => (await fetch(base)).status > 0)
  })
  afterAll(() => void mock?.kill())
  const mocked = () => stripeProvider({ secretKey: 'sk_test_123', webhookSecret: 'whsec_test', apiBase: base })

  it.each([
    ['a payment', () => mocked().createCheckout(pack)],
    ['a subscription', () => mocked().createCheckout({ ...pack, subscription: pro })],
    ['an end of a checkout', () => mocked().endCheckout('cs_1')],
    ['a question for a checkout', () => mocked().getOrder('cs_1')],
    ['a question for an invoice', () => mocked().read({ kind: 'invoice', id: 'in_1' })],
    ['a question for a refund', () => mocked().read({ kind: 'refund', id: 're_1' })],
    ['a question for a dispute', () => mocked().read({ kind: 'dispute', id: 'du_1' })],
    ['a refund', () => mocked().refund({ refundId: 'r', paymentId: 'pi_1', amount: 1, currency: 'USD' })],
    // Its subscription has a third price, as during a planned downgrade.
    ['a change', () => mocked().changeSubscription({ subscriptionId: 'sub_1', from: pro, to: business, when: 'now' })],
    ['a cancel', () => mocked().cancelSubscription('sub_1')],
    ['a resume', () => mocked().resumeSubscription('sub_1')],
  ])('%s', async (_what, call) => {
    // It checks parameters and paths against Stripe's own document. Its responses are fixed, so a refund may lack its
    // payment, and a session its URL.
    const fixed = /without (a URL|its payment)/
    const error: unknown = await (call() as Promise<unknown>).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    if (error instanceof ProviderUnavailable) expect(String(error.cause)).toMatch(fixed)
    else expect(error).toBeUndefined()
  })
})
