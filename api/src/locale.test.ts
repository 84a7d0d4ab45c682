import { expect, it } from 'vitest'
import { acceptedLocale } from './locale.ts'

it.each([
  ['de', 'de'],
  ['fr;q=0.3, de-at;q=0.8', 'de-AT'],
  ['*', undefined],
  ['not_a_locale, en-GB;q=0.5', 'en-GB'],
  ['a'.repeat(4_000), undefined],
  [`${'x,'.repeat(500)}de`, undefined],
  [undefined, undefined],
])('Accept-Language %j names the locale %j', (accepted, locale) => {
  expect(acceptedLocale({ headers: accepted === undefined ? {} : { 'accept-language': accepted } })).toBe(locale)
})
