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

/** The locale that the client prefers by `Accept-Language`; undefined without a valid one. */
export const acceptedLocale = ({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined =>
  new Negotiator({ headers })
    .languages()
    .map(canonicalLocale)
    .find((locale) => locale !== undefined)
