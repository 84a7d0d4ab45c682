// Shares are computed from the order's totals, so partial refunds add up; rounding loses less than one credit.
import { shareDown, shareUp } from '../provider/arithmetic.ts'

export type Refundable = {
  readonly amount: number
  readonly credits: number
  readonly refundedAmount: number
  readonly refundedCredits: number
  /** Credits left in the lot. */
  readonly available: number
}

/** Maximum refund: the share of refunded and available credits, minus earlier refunds. */
export function refundableAmount({ amount, credits, refundedAmount, refundedCredits, available }: Refundable): number {
  const share = shareDown(amount, Math.min(credits, refundedCredits + available), credits)
  return Math.max(0, share - refundedAmount)
}

/** Credits taken back for an amount; at most `available` if the amount is at most `refundableAmount`. */
export function creditsForRefund(order: Refundable, refund: number): number {
  const { amount, credits, refundedAmount, refundedCredits } = order
  return Math.max(0, shareUp(credits, refundedAmount + refund, amount) - refundedCredits)
}
