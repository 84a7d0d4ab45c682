// How much money a part of the credits is worth, in integers. All is counted from the order's beginning, so that parts
// add up to the whole: the payer never gets money for credits that are kept, and loses less than one credit.
import { shareDown, shareUp } from '../provider/share.ts'

export type Refundable = {
  /** What the order cost, and all credits that it bought. */
  readonly amount: number
  readonly credits: number
  /** Of earlier refunds. */
  readonly refundedAmount: number
  readonly refundedCredits: number
  /** What is left of the lot (D71). */
  readonly available: number
}

/** The most that can be refunded: the share of what was refunded and what is left, less what was refunded. */
export function refundableAmount({ amount, credits, refundedAmount, refundedCredits, available }: Refundable): number {
  const share = shareDown(amount, Math.min(credits, refundedCredits + available), credits)
  return Math.max(0, share - refundedAmount)
}

/** The credits that go with so much money. At most `available` where the money is at most `refundableAmount`. */
export function creditsForRefund(order: Refundable, refund: number): number {
  const { amount, credits, refundedAmount, refundedCredits } = order
  return Math.max(0, shareUp(credits, refundedAmount + refund, amount) - refundedCredits)
}
