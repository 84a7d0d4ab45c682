import { expect, it } from 'vitest'
import { type ElapsedTimes, elapsedSince, keepTimes } from './elapsed-times.ts'

const since = '2026-11-23T12:00:00Z'
const at = (second: number, nowMs: number) => ({ now: new Date(Date.parse(since) + second * 1_000), nowMs })

it('continues from the time in status, by the monotonic clock only', () => {
  const known: ElapsedTimes = new Map()
  expect(elapsedSince(known, since, at(40, 5_000))).toBe(40)
  expect(elapsedSince(known, since, at(41, 6_000))).toBe(41)
  expect(elapsedSince(known, since, at(90_000, 7_000))).toBe(42)
  expect(elapsedSince(known, since, at(-90_000, 8_000))).toBe(43)
})

it('is zero for a time in the future, as from a former leader with a fast clock', () => {
  expect(elapsedSince(new Map(), since, at(-30, 5_000))).toBe(0)
})

it('measures from the write of a time, and forgets it when the status drops it', () => {
  const known: ElapsedTimes = new Map()
  keepTimes(known, [since, undefined], at(0, 5_000))
  expect(elapsedSince(known, since, at(3_600, 6_000))).toBe(1)
  keepTimes(known, [], at(3_601, 7_000))
  expect(known.size).toBe(0)
})
