import { expect, it } from 'vitest'
import { textsFor } from './page-texts.ts'

it.each([
  ['de', 'de'],
  ['de-AT,de;q=0.9,en;q=0.8', 'de'],
  ['en-GB,en;q=0.9,de;q=0.8', 'en'],
  ['fr,de;q=0.5', 'de'],
  ['fr', 'en'],
  ['de;q=0', 'en'],
  ['*', 'en'],
  ['', 'en'],
  [undefined, 'en'],
])('Accept-Language %j chooses %s', (accepted, language) => {
  const headers = accepted === undefined ? {} : { 'accept-language': accepted }
  expect(textsFor({ headers }).language).toBe(language)
})
