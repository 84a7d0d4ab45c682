import type { Language } from '@matte/people/mail/person-format'
import type { FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { englishPages, type PageTexts } from './english-pages.ts'
import { germanPages } from './german-pages.ts'

export const pageTexts: Readonly<Record<Language, PageTexts>> = { en: englishPages, de: germanPages }

/** Texts in the language that the browser prefers, by default English. */
export function textsFor({ headers }: Pick<FastifyRequest, 'headers'>): PageTexts {
  const language = new Negotiator({ headers }).language(Object.keys(pageTexts))
  return pageTexts[language as Language] ?? englishPages
}
