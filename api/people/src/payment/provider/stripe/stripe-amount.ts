// Stripe's minor units (https://docs.stripe.com/currencies). Exceptions: ISK and UGX are counted in hundredths, MGA
// without its minor unit, and amounts with three digits must end in 0, which refund shares do not.
import { minorDigits } from '../arithmetic.ts'

const inHundredths = ['ISK', 'UGX']

const factorOf = (currency: string): number => (inHundredths.includes(currency.toUpperCase()) ? 100 : 1)

export const toStripeAmount = (amount: number, currency: string): number => amount * factorOf(currency)

export const fromStripeAmount = (amount: number, currency: string): number => Math.round(amount / factorOf(currency))

const amountMax = 99_999_999

/** Reason why Stripe cannot charge the price exactly; undefined if it can. */
export function unsupportedAtStripe({ amount, currency }: { readonly amount: number; readonly currency: string }) {
  if (currency === 'MGA' || minorDigits(currency) === 3) return `${currency} cannot be charged exactly at Stripe`
  if (toStripeAmount(amount, currency) > amountMax) return `${amount} ${currency} is more than Stripe charges at once`
  return undefined
}
