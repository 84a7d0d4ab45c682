import { expect, it } from 'vitest'
import { grow, shrink, startConcurrency } from './concurrency.ts'

const times = <T>(count: number, change: (state: T) => T, state: T): T =>
  Array.from({ length: count }).reduce<T>(change, state)

it('starts at 4 and adds one after as many successes as the limit', () => {
  const start = startConcurrency('auto')
  expect(start.limit).toBe(4)
  expect(times(3, grow, start).limit).toBe(4)
  expect(times(4, grow, start).limit).toBe(5)
  expect(times(4 + 5, grow, start).limit).toBe(6)
})

it('grows to 64 at most', () => {
  expect(times(100_000, grow, startConcurrency('auto')).limit).toBe(64)
})

it('halves on a refusal, down to 1', () => {
  const start = { ...startConcurrency('auto'), limit: 9 }
  expect(shrink(start, 0).limit).toBe(4)
  expect(times(10, (state) => shrink(state, state.epoch), start).limit).toBe(1)
})

it('halves once for refusals of the same moment', () => {
  const start = { ...startConcurrency('auto'), limit: 16 }
  const once = shrink(start, 0)
  expect(shrink(shrink(once, 0), 0)).toBe(once)
  expect(shrink(once, 1).limit).toBe(4)
})

it('grows back to a number of the caller and not beyond it', () => {
  expect(times(1_000, grow, shrink(startConcurrency(6), 0)).limit).toBe(6)
})
