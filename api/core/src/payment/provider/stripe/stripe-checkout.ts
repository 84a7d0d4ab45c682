import type Stripe from 'stripe'
import type { Checkout, NewCheckout } from '../provider.ts'
import { ProviderRefused, ProviderUnavailable } from '../provider-errors.ts'
import { toStripeAmount } from './stripe-amount.ts'
import { asking } from './stripe-client.ts'
import { orderKey } from './stripe-metadata.ts'
import type { StripeParts } from './stripe-read.ts'

export async function openCheckout({ stripe, prices }: StripeParts, checkout: NewCheckout): Promise<Checkout> {
  const price = checkout.subscription && (await prices.idOf(checkout.subscription))
  const session = await asking(
    stripe.checkout.sessions.create(toSession(checkout, price), { idempotencyKey: `checkout:${checkout.orderId}` }),
  )
  if (session.url === null) throw new ProviderUnavailable('Stripe answered a checkout without a URL')
  return { id: session.id, url: session.url }
}

export async function expireCheckout({ stripe }: StripeParts, checkoutId: string): Promise<void> {
  try {
    await asking(stripe.checkout.sessions.expire(checkoutId))
  } catch (error) {
    // Complete or expired already: the caller reads which.
    if (!(error instanceof ProviderRefused)) throw error
  }
}

function toSession(checkout: NewCheckout, price: string | null): Stripe.Checkout.SessionCreateParams {
  const { orderId, description, amount, currency, email, returnUrl } = checkout
  const metadata = { [orderKey]: orderId }
  const common = {
    client_reference_id: orderId,
    metadata,
    success_url: returnUrl,
    cancel_url: returnUrl,
    ...(email !== null && { customer_email: email }),
  }
  if (price !== null) {
    const subscription_data = { metadata }
    return { ...common, mode: 'subscription', line_items: [{ price, quantity: 1 }], subscription_data }
  }
  const unit_amount = toStripeAmount(amount, currency)
  const price_data = { currency: currency.toLowerCase(), unit_amount, product_data: { name: description } }
  return {
    ...common,
    mode: 'payment',
    line_items: [{ price_data, quantity: 1 }],
    payment_intent_data: { metadata },
  }
}
