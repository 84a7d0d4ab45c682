import { afterEach, expect, it, vi } from 'vitest'
import { backoffMs, jittered } from './backoff.ts'

const backoff = { baseMs: 100, maxMs: 1_000 }
const randomIs = (value: number) => vi.spyOn(Math, 'random').mockReturnValue(value)
afterEach(() => {
  vi.restoreAllMocks()
})

it('doubles from the base to the limit and stays there', () => {
  randomIs(1)
  const longest = [0, 1, 2, 3, 4, 5, 6, 2_000].map((failures) => backoffMs(failures, backoff))
  expect(longest).toEqual([0, 100, 200, 400, 800, 1_000, 1_000, 1_000])
})

it('is random in the upper half', () => {
  randomIs(0)
  expect(backoffMs(2, backoff)).toBe(100)
  randomIs(0.5)
  expect(backoffMs(2, backoff)).toBe(150)
})

it('varies an interval by a tenth', () => {
  const spread = [0, 0.5, 1].map((random) => {
    randomIs(random)
    return jittered(1_000)
  })
  expect(spread).toEqual([900, 1_000, 1_100])
})
