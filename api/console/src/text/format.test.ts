import { describe, expect, it } from 'vitest'
import type { Session } from '../session/session.ts'
import { createFormat, timeZoneOf } from './format.ts'
import { counted } from './text.ts'

it.each([
  ['0', '0 photos'],
  ['1', '1 photo'],
  ['1,000', '1,000 photos'],
])('%s counts %s', (count, text) => {
  expect(counted(count, 'photo', 'photos')).toBe(text)
})

describe('formats', () => {
  const [en, de] = [createFormat('en'), createFormat('de')]

  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_500, '1.5 s'],
    [90_000, '90 s'],
    [1_800_000, '30 min'],
    [21_600_000, '6 h'],
    [86_400_000, '24 h'],
    [604_800_000, '7 d'],
  ])('write %i ms as %s', (ms, text) => {
    expect(en.duration(ms)).toBe(text)
  })

  it.each([
    [600, '10 minutes', '10 Minuten'],
    [3_600, '1 hour', '1 Stunde'],
    [86_400, '1 day', '1 Tag'],
    [90_000, '25 hours', '25 Stunden'],
    [601, '601 seconds', '601 Sekunden'],
  ])('write a chosen time of %i s as %s', (seconds, inEnglish, inGerman) => {
    expect([en, de].map((format) => format.period(seconds))).toEqual([inEnglish, inGerman])
  })

  it('follow the language', () => {
    expect(de.number(1234.5)).toBe('1.234,5')
    expect(de.money(29_00, 'EUR')).toMatch(/^29,00.€$/)
    expect(en.money(500, 'JPY')).toBe('¥500')
    expect(de.bytes(1_500_000)).toMatch(/^1,5.MB$/)
    const [at, nowMs] = ['2026-11-24T10:00:00Z', Date.parse('2026-11-24T10:05:00Z')] as const
    expect(en.relative(at, nowMs)).toBe('5 minutes ago')
    expect([en, de].map((format) => format.relativeShort(at, nowMs))).toEqual(['5m ago', 'vor 5 Min.'])
  })

  it('write times in the zone of the profile, and days of the service as they are', () => {
    const [tokyo, lima] = [createFormat('en', 'Asia/Tokyo'), createFormat('en', 'America/Lima')]
    expect(tokyo.date('2026-11-16T20:00:00Z')).toBe('Nov 17, 2026')
    expect(lima.dateTime('2026-11-16T02:00:00Z')).toMatch(/^Nov 15, 2026, 9:00:00.PM$/)
    expect([tokyo, lima].map((format) => format.day('2026-11-16'))).toEqual(['Nov 16, 2026', 'Nov 16, 2026'])
  })

  it.each([
    ['Asia/Tokyo', 'Asia/Tokyo'],
    ['UTC', undefined],
    ['Moon/Sea_of_Tranquility', undefined],
  ])('take %s of the profile as %s', (timeZone, taken) => {
    expect(timeZoneOf({ kind: 'member', user: { timeZone }, workspaceId: 'w', role: 'owner' } as Session)).toBe(taken)
    expect(timeZoneOf({ kind: 'key' })).toBeUndefined()
  })
})
