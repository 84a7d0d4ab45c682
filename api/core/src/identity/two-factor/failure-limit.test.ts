import { describe, expect, it } from 'vitest'
import { stoppedUntil, warnsOwner, withFailure, withWrongCode } from './failure-limit.ts'

const start = Date.parse('2026-11-22T10:00:00Z')
const minutes = (after: number) => new Date(start + after * 60_000)
const failures = (...after: number[]) => after.map(minutes)

describe('codes by time', () => {
  it('are stopped for a quarter of an hour after the fifth wrong one of a quarter', () => {
    expect(stoppedUntil('totp', failures(0, 5, 10, 14, 15), minutes(15))).toEqual(minutes(30))
    expect(stoppedUntil('totp', failures(0, 5, 10, 14, 15), minutes(30))).toBeUndefined()
  })
  it('go on after four, and after five of a longer time', () => {
    expect(stoppedUntil('totp', failures(0, 1, 2, 3), minutes(3))).toBeUndefined()
    expect(stoppedUntil('totp', failures(0, 5, 10, 14, 16), minutes(16))).toBeUndefined()
  })
})

describe('recovery codes', () => {
  it('are stopped until the fifth last is an hour old', () => {
    expect(stoppedUntil('recovery', failures(0, 10, 20, 30, 59), minutes(59))).toEqual(minutes(60))
    expect(stoppedUntil('recovery', failures(0, 10, 20, 30, 59), minutes(60))).toBeUndefined()
    expect(stoppedUntil('recovery', failures(0, 10, 20, 30), minutes(30))).toBeUndefined()
  })
})

it('five failures are kept', () => {
  expect(withFailure(failures(0, 1, 2, 3, 4), minutes(5))).toEqual(failures(1, 2, 3, 4, 5))
  expect(withFailure([], minutes(5))).toEqual(failures(5))
})

describe('the owner', () => {
  const hours = (...after: number[]) => after.map((hour) => minutes(hour * 60))
  const ten = hours(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)

  it('gets a mail after the tenth wrong code in a day, and after no fewer', () => {
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
