// What was paid with: the same card has the same fingerprint, whoever pays with it.
import type Stripe from 'stripe'

type Instrument = Pick<Stripe.PaymentMethod, 'card' | 'us_bank_account' | 'sepa_debit'>
type Charged = Pick<Stripe.Charge.PaymentMethodDetails, 'card' | 'us_bank_account' | 'sepa_debit'>

/** Of what was paid with, where it was expanded; nothing where Stripe knows none. */
export function fingerprintOf(paidWith: Instrument | Charged | string | null | undefined): { fingerprint?: string } {
  if (typeof paidWith === 'string' || paidWith == null) return {}
  const { card, us_bank_account, sepa_debit } = paidWith
  const fingerprint = [card, us_bank_account, sepa_debit].find((each) => each?.fingerprint != null)?.fingerprint
  return fingerprint == null ? {} : { fingerprint }
}

/** Of a single payment. */
export function chargeOf({ payment_intent: intent }: Stripe.Checkout.Session): Stripe.Charge | null {
  const charge = typeof intent === 'string' ? null : intent?.latest_charge
  return typeof charge === 'string' ? null : (charge ?? null)
}
