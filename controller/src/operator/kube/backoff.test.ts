import { expect, it } from 'vitest'
import { backoffMs, jittered } from './backoff.ts'

const backoff = { baseMs: 100, maxMs: 1_000 }

it('doubles from the base to the limit, and stays there however long it lasts', () => {
  const longest = [0, 1, 2, 3, 4, 5, 6, 2_000].map((failures) => backoffMs(failures, backoff, () => 1))
  expect(longest).toEqual([0, 100, 200, 400, 800, 1_000, 1_000, 1_000])
})

it('lies anywhere in the upper half', () => {
  expect(backoffMs(2, backoff, () => 0)).toBe(100)
  expect(backoffMs(2, backoff, () => 0.5)).toBe(150)
})

it('spreads regular times by a tenth', () => {
  expect([0, 0.5, 1].map((random) => jittered(1_000, () => random))).toEqual([900, 1_000, 1_100])
})
