// Shares of amounts in integers: a product of two of ours may pass 2^53.

/** `amount × part ÷ whole`, rounded down; 0 where the whole is 0. */
export const shareDown = (amount: number, part: number, whole: number): number =>
  whole === 0 ? 0 : Number((BigInt(amount) * BigInt(part)) / BigInt(whole))

/** The same, rounded up. */
export const shareUp = (amount: number, part: number, whole: number): number =>
  whole === 0 ? 0 : Number((BigInt(amount) * BigInt(part) + BigInt(whole) - 1n) / BigInt(whole))
