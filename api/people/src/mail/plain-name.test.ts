import { expect, it } from 'vitest'
import { plainName, plainNamePattern } from './plain-name.ts'

it.each([
  ['Ada Lovelace', 'Ada Lovelace'],
  ['J.R. Smith-Ödegård, Jr.', 'J.R. Smith-Ödegård, Jr.'],
  ['山田 太郎', '山田 太郎'],
  ["D'Arcy & Söhne (2026)", "D'Arcy & Söhne (2026)"],
  ['Win at https://evil.example/now', 'Win at https evil example now'],
  ['evil.example', 'evil example'],
  ['support@bank.example', 'support bank example'],
  ['<a href="x">Click</a>', 'a href="x" Click a'],
  ['Ada\r\nBcc: all@example.com', 'Ada Bcc: all example com'],
  ['Ada\u202emoc.live\u2066', 'Ada moc live'],
  ['evil．example', 'evil example'],
  ['javascript:alert', 'javascript alert'],
])('%j is shown as %j', (name, shown) => {
  expect(plainName(name)).toBe(shown)
  expect(shown).toMatch(new RegExp(plainNamePattern, 'u'))
})

it.each(['', '  ', '@@//', '<>', '\u202e\u200b', '…'])('returns undefined for %j', (name) => {
  expect(plainName(name)).toBeUndefined()
})

it('cuts a name at 80 characters, never inside one', () => {
  expect(plainName('😀'.repeat(100))).toBeUndefined()
  expect(Array.from(plainName(`A${'😀'.repeat(100)}`) ?? '')).toHaveLength(80)
})
