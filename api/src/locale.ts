// Locales that callers name: BCP 47, as stored for a person.
import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/** Length of the columns. */
const lengthMax = 35

/** Undefined: not BCP 47. */
export function canonicalLocale(text: string): string | undefined {
  try {
    const [locale] = Intl.getCanonicalLocales(text)
    return locale !== undefined && locale.length >= 2 && locale.length <= lengthMax ? locale : undefined
  } catch {
    return undefined
  }
}

export const localeRefused = { path: '/body/locale', message: 'must be BCP 47, such as pt-BR' }

/** Browsers send fewer than 100 characters. A header of 16 KiB with 8,000 locales would take 46 ms. */
const acceptedMax = 1_000

/** The locale that the client prefers by `Accept-Language`; undefined without a valid one in the first characters. */
export const acceptedLocale = ({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined =>
  new Negotiator({ headers: { 'accept-language': headers['accept-language']?.slice(0, acceptedMax) } })
    .languages()
    .map(canonicalLocale)
    .find((locale) => locale !== undefined)
