import { describe, expect, it } from 'vitest'
import { blockedUntil, warnsOwner, withFailure, withWrongCode } from './failure-limit.ts'

const start = Date.parse('2026-11-22T10:00:00Z')
const minutes = (after: number) => new Date(start + after * 60_000)
const failures = (...after: number[]) => after.map(minutes)

describe('TOTP codes', () => {
  it('are blocked for 15 minutes after the fifth wrong one within 15 minutes', () => {
    expect(blockedUntil('totp', failures(0, 5, 10, 14, 15), minutes(15))).toEqual(minutes(30))
    expect(blockedUntil('totp', failures(0, 5, 10, 14, 15), minutes(30))).toBeUndefined()
  })
  it('stay allowed after four failures, and after five over a longer time', () => {
    expect(blockedUntil('totp', failures(0, 1, 2, 3), minutes(3))).toBeUndefined()
    expect(blockedUntil('totp', failures(0, 5, 10, 14, 16), minutes(16))).toBeUndefined()
  })
})

describe('recovery codes', () => {
  it('are blocked until the fifth last failure is an hour old', () => {
    expect(blockedUntil('recovery', failures(0, 10, 20, 30, 59), minutes(59))).toEqual(minutes(60))
    expect(blockedUntil('recovery', failures(0, 10, 20, 30, 59), minutes(60))).toBeUndefined()
    expect(blockedUntil('recovery', failures(0, 10, 20, 30), minutes(30))).toBeUndefined()
  })
})

it('keeps the last five failures', () => {
  expect(withFailure(failures(0, 1, 2, 3, 4), minutes(5))).toEqual(failures(1, 2, 3, 4, 5))
  expect(withFailure([], minutes(5))).toEqual(failures(5))
})

describe('the owner', () => {
  const hours = (...after: number[]) => after.map((hour) => minutes(hour * 60))
  const ten = hours(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)

  it('gets a mail after the tenth wrong code in a day, not before', () => {
    expect(warnsOwner(ten.slice(1), null, minutes(9 * 60))).toBe(false)
    expect(warnsOwner(ten, null, minutes(9 * 60))).toBe(true)
    expect(warnsOwner(withWrongCode(ten.slice(0, 9), minutes(24 * 60)), null, minutes(24 * 60))).toBe(false)
  })

  it('gets one mail in a day', () => {
    const next = withWrongCode(ten, minutes(10 * 60))
    expect(next).toHaveLength(10)
    expect(warnsOwner(next, minutes(9 * 60), minutes(10 * 60))).toBe(false)
    const later = ten.map((time) => new Date(time.getTime() + 24 * 3_600_000))
    expect(warnsOwner(later, minutes(9 * 60), later.at(-1) ?? minutes(0))).toBe(true)
  })
})
