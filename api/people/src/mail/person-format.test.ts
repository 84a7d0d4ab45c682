import { expect, it } from 'vitest'
import { personFormat } from './person-format.ts'

const instant = new Date('2026-12-31T20:30:00Z')

it.each([
  ['de-DE', 'Europe/Berlin', '1.234.567', '31. Dezember 2026'],
  ['en-US', 'America/New_York', '1,234,567', 'December 31, 2026'],
  ['ja-JP', 'Asia/Tokyo', '1,234,567', '2027年1月1日'],
  ['ar-EG', 'Africa/Cairo', '\u2068١٬٢٣٤٬٥٦٧\u2069', '\u2068٣١ ديسمبر ٢٠٢٦\u2069'],
  ['ne-NP', 'Asia/Kathmandu', '१२,३४,५६७', '२०२७ जनवरी १'],
  ['en', 'Asia/Kathmandu', '1,234,567', 'January 1, 2027'],
])('formats numbers and days for %s in %s', (locale, timeZone, number, day) => {
  const format = personFormat({ locale, timeZone })
  expect([format.number(1_234_567), format.day(instant)]).toEqual([number, day])
})

it.each(['tlh', 'x', '', 'not a locale'])('formats as English for the unknown locale %j', (locale) => {
  const format = personFormat({ locale, timeZone: 'Mars/Olympus' })
  expect([format.number(1_234), format.day(instant)]).toEqual(['1,234', 'December 31, 2026'])
})

it('uses the minor units of each currency, and the code of an unknown one', () => {
  const { money } = personFormat({ locale: 'de-DE', timeZone: 'UTC' })
  expect([money(1_999, 'EUR'), money(1_500, 'JPY'), money(1_999, 'XX')]).toEqual([
    '19,99\u00a0€',
    '1.500\u00a0¥',
    '1.999 XX',
  ])
})
