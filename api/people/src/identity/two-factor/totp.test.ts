import { Secret, TOTP } from 'otpauth'
import { describe, expect, it } from 'vitest'
import { isTotp, matchStep, newSeed, otpauthUrl } from './totp.ts'

const seed = newSeed()
const at = new Date('2026-11-22T10:00:10Z')
const step = Math.floor(at.getTime() / 30_000)
const codeOf = (timeStep: number) => new TOTP({ secret: seed }).generate({ timestamp: timeStep * 30_000 })

describe('matchStep', () => {
  it.each([
    [-2, false],
    [-1, true],
    [0, true],
    [1, true],
    [2, false],
  ])('accepts the code %d steps off: %s', (off, taken) => {
    const found = matchStep(seed, { code: codeOf(step + off), at, lastStep: null })
    expect(found).toBe(taken ? step + off : undefined)
  })

  it('rejects codes of a used step and of earlier ones', () => {
    for (const off of [-1, 0]) expect(matchStep(seed, { code: codeOf(step + off), at, lastStep: step })).toBeUndefined()
    expect(matchStep(seed, { code: codeOf(step + 1), at, lastStep: step })).toBe(step + 1)
  })

  it('rejects codes of another seed', () => {
    expect(matchStep(newSeed(), { code: codeOf(step), at, lastStep: null })).toBeUndefined()
  })

  // RFC 6238, appendix B, SHA-1, last six digits.
  it.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [2_000_000_000, '279037'],
  ])('matches the code of the RFC at %d', (seconds, code) => {
    const rfc = Secret.fromUTF8('12345678901234567890').base32
    const time = new Date(seconds * 1_000)
    expect(matchStep(rfc, { code, at: time, lastStep: null })).toBe(Math.floor(seconds / 30))
  })
})

it('a seed has 160 bits and is random', () => {
  expect(Secret.fromBase32(seed).bytes.length).toBe(20)
  expect(newSeed()).not.toBe(seed)
})

it('the URL names the service and the account', () => {
  const url = otpauthUrl(seed, 'anna@example.com')
  expect(url).toMatch(/^otpauth:\/\/totp\/Matte:anna%40example\.com\?issuer=Matte&/)
  expect(url).toContain(`secret=${seed}`)
})

it.each([
  ['123456', true],
  ['12345', false],
  ['1234567', false],
  ['12345a', false],
  ['١٢٣٤٥٦', false],
])('%s has the form of a TOTP code: %s', (text, expected) => expect(isTotp(text)).toBe(expected))
