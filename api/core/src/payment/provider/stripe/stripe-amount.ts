// Amounts as Stripe counts them: in the minor unit, with exceptions (https://docs.stripe.com/currencies). ISK and UGX
// have no minor unit, but Stripe counts hundredths of them. MGA has one, which Stripe does not count. Of three digits
// the last must be 0, which the share of a refund is not. TWD and HUF differ in payouts alone.
import { minorDigits } from '../currency.ts'

const inHundredths = ['ISK', 'UGX']

const factorOf = (currency: string): number => (inHundredths.includes(currency.toUpperCase()) ? 100 : 1)

export const toStripeAmount = (amount: number, currency: string): number => amount * factorOf(currency)

export const fromStripeAmount = (amount: number, currency: string): number => Math.round(amount / factorOf(currency))

/** Eight digits. */
const amountMax = 99_999_999

/** Why this cannot be charged at Stripe as it stands in the settings. Undefined: it can. */
export function whyNotAtStripe({ amount, currency }: { readonly amount: number; readonly currency: string }) {
  if (currency === 'MGA' || minorDigits(currency) === 3) return `${currency} cannot be charged exactly at Stripe`
  if (toStripeAmount(amount, currency) > amountMax) return `${amount} ${currency} is more than Stripe charges at once`
  return undefined
}
