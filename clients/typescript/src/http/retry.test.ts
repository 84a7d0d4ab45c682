import { expect, it } from 'vitest'
import { pollDelayMs, readRetryAfterMs, retryDelayMs } from './retry.ts'

const most = () => 1

it('doubles the bound of the jitter up to 16 s', () => {
  const bounds = [0, 1, 2, 3, 4, 5, 6, 7].map((retry) => retryDelayMs(retry, undefined, most))
  expect(bounds).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 16_000, 16_000])
  expect(retryDelayMs(3, undefined, () => 0)).toBe(0)
})

it('waits at least for Retry-After, and not for longer than two minutes', () => {
  expect(retryDelayMs(4, 60_000, () => 0)).toBe(60_000)
  expect(retryDelayMs(4, 60_000, most)).toBe(60_500)
  expect(retryDelayMs(0, 120_001)).toBeUndefined()
})

it.each([
  ['7', 7_000],
  [' 7 ', 7_000],
  ['0', 0],
  ['Sat, 21 Nov 2026 09:30:05 GMT', 5_000],
  ['Sat, 21 Nov 2026 09:29:00 GMT', 0],
  ['soon', undefined],
  [null, undefined],
])('reads Retry-After %s as %s ms', (header, ms) => {
  expect(readRetryAfterMs(header, Date.parse('2026-11-21T09:30:00Z'))).toBe(ms)
})

it('backs the polls off from 0.25 s to 2 s', () => {
  const delays = [0, 1, 2, 5, 6, 50].map((poll) => Math.round(pollDelayMs(poll, undefined)))
  expect(delays).toEqual([250, 375, 563, 1_898, 2_000, 2_000])
})

it('spreads the polls of all tasks over what is left of the rate limit', () => {
  const resetMs = 60_000
  expect(pollDelayMs(9, { remaining: 600, resetMs }, 4)).toBe(2_000)
  expect(pollDelayMs(9, { remaining: 60, resetMs }, 4)).toBe(4_000)
  expect(pollDelayMs(9, { remaining: 1, resetMs }, 4)).toBe(resetMs)
  expect(pollDelayMs(9, { remaining: 0, resetMs }, 4)).toBe(resetMs)
})
