// Plan changes at Stripe. A scheduled downgrade has already changed the item's price without a proration. Stripe then
// credits the unused rest of that price (billing mode `classic`) or of the charged price (`flexible`). An upgrade
// corrects the credit in the same request as the charge, so a failed charge leaves the scheduled downgrade in place.
import type Stripe from 'stripe'
import { shareDown } from '../arithmetic.ts'
import type { Change, Facts, PricedPlan } from '../provider.ts'
import { ProviderRefused } from '../provider-errors.ts'
import { toStripeAmount } from './stripe-amount.ts'
import { callStripe, unusedKey } from './stripe-client.ts'
import { ofInvoice, ofSubscription, type StripeParts } from './stripe-read.ts'

export async function changeAtStripe(parts: StripeParts, { subscriptionId, from, to, when }: Change): Promise<Facts> {
  const { stripe, prices } = parts
  const [fromPrice, toPrice] = await Promise.all([prices.idOf(from), prices.idOf(to)])
  const { items } = await callStripe(stripe.subscriptions.retrieve(subscriptionId))
  const [item] = items.data
  if (item === undefined) throw new ProviderRefused('the subscription has no item')
  const update = (more: Stripe.SubscriptionUpdateParams) =>
    callStripe(stripe.subscriptions.update(subscriptionId, { items: [{ id: item.id, price: toPrice }], ...more }))
  if (when === 'renewal') return ofSubscription(parts, await update({ proration_behavior: 'none' }))
  const isPlanned = ![fromPrice, toPrice].includes(item.price.id)
  const corrected = isPlanned ? await correctCredit(parts, { subscriptionId, item, from, fromPrice, toPrice }) : {}
  const changed = await update({
    proration_behavior: 'always_invoice',
    payment_behavior: 'error_if_incomplete',
    expand: ['latest_invoice.payments'],
    ...corrected,
  })
  const invoice = changed.latest_invoice
  return {
    ...(await ofSubscription(parts, changed)),
    ...(invoice && typeof invoice === 'object' && (await ofInvoice(parts, invoice))),
  }
}

type Planned = {
  readonly subscriptionId: string
  readonly item: Stripe.SubscriptionItem
  readonly from: PricedPlan
  readonly fromPrice: string
  readonly toPrice: string
}

/** Corrects Stripe's own credit, read from a preview. The line names the paid plan even if the difference is zero. */
async function correctCredit({ stripe }: StripeParts, planned: Planned): Promise<Stripe.SubscriptionUpdateParams> {
  const { subscriptionId: subscription, item, from, fromPrice, toPrice } = planned
  const { current_period_start: start, current_period_end: end } = item
  const at = Math.max(start, Math.floor(Date.now() / 1_000))
  const subscription_details: Stripe.InvoiceCreatePreviewParams.SubscriptionDetails = {
    items: [{ id: item.id, price: toPrice }],
    proration_behavior: 'always_invoice',
    proration_date: at,
  }
  const [{ product }, preview] = await Promise.all([
    callStripe(stripe.prices.retrieve(fromPrice)),
    callStripe(stripe.invoices.createPreview({ subscription, subscription_details })),
  ])
  const rest = shareDown(toStripeAmount(from.amount, from.currency), Math.max(0, end - at), end - start)
  const price_data = {
    currency: from.currency.toLowerCase(),
    product: typeof product === 'string' ? product : product.id,
    unit_amount: -rest - creditOf(preview),
  }
  return { proration_date: at, add_invoice_items: [{ price_data, metadata: { [unusedKey]: from.plan } }] }
}

const creditOf = ({ lines }: Stripe.Invoice): number =>
  lines.data
    .filter(({ amount, parent }) => amount < 0 && isProration(parent))
    .reduce((sum, { amount }) => sum + amount, 0)

const isProration = (parent: Stripe.InvoiceLineItem['parent']): boolean =>
  (parent?.subscription_item_details ?? parent?.invoice_item_details)?.proration === true
