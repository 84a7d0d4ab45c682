// How many digits the minor unit of a currency has, by ISO 4217. `Intl` has the habits of shops instead: of HUF it
// prints none, and 900 would read as nine hundred where nine are charged.

const withoutMinor = [
  ...['BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'VND', 'VUV', 'XAF', 'XOF', 'XPF'],
]
const withThree = ['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND']

export const minorDigits = (currency: string): number =>
  withoutMinor.includes(currency) ? 0 : withThree.includes(currency) ? 3 : 2
