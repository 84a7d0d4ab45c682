import { expect, it } from 'vitest'
import { answerMsAfter, waitSecondsAfter } from './delay.ts'

it('the wait doubles from the fifth failure on, up to a quarter of an hour', () => {
  const waits = Array.from({ length: 18 }, (_, index) => waitSecondsAfter(index + 1))
  expect(waits).toEqual([0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900])
})

it('answers of an account slow down from the eleventh failure on, to two seconds', () => {
  expect([0, 10, 11, 15, 20, 1_000].map(answerMsAfter)).toEqual([0, 0, 200, 1_000, 2_000, 2_000])
})
