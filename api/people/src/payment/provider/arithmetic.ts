// Proportional amounts in integers; BigInt, because products may exceed 2^53.

/** `amount × part ÷ whole`, rounded down; 0 if the whole is 0. */
export const shareDown = (amount: number, part: number, whole: number): number =>
  whole === 0 ? 0 : Number((BigInt(amount) * BigInt(part)) / BigInt(whole))

export const shareUp = (amount: number, part: number, whole: number): number =>
  whole === 0 ? 0 : Number((BigInt(amount) * BigInt(part) + BigInt(whole) - 1n) / BigInt(whole))

/** Adds calendar months in UTC, negative ones too; the 31st becomes the last day of a shorter month. */
export function addMonths(date: Date, months: number): Date {
  const moved = new Date(date)
  moved.setUTCMonth(moved.getUTCMonth() + months, 1)
  const lastDay = new Date(Date.UTC(moved.getUTCFullYear(), moved.getUTCMonth() + 1, 0)).getUTCDate()
  moved.setUTCDate(Math.min(date.getUTCDate(), lastDay))
  return moved
}

// Digits of the minor unit by ISO 4217. `Intl` follows retail habits instead: it shows no digits for HUF.

const withoutMinor = [
  ...['BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'VND', 'VUV', 'XAF', 'XOF', 'XPF'],
]
const withThree = ['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND']

export const minorDigits = (currency: string): number =>
  withoutMinor.includes(currency) ? 0 : withThree.includes(currency) ? 3 : 2
