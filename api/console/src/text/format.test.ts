import { describe, expect, it } from 'vitest'
import { createFormat } from './format.ts'

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

  it('follow the language', () => {
    expect(de.number(1234.5)).toBe('1.234,5')
    expect(de.money(29_00, 'EUR')).toMatch(/^29,00.€$/)
    expect(en.money(500, 'JPY')).toBe('¥500')
    expect(de.bytes(1_500_000)).toMatch(/^1,5.MB$/)
    expect(en.relative('2026-11-24T10:00:00Z', Date.parse('2026-11-24T10:05:00Z'))).toBe('5 minutes ago')
  })
})
