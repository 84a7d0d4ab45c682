import { expect, it } from 'vitest'
import { answerMsAfter, waitSecondsAfter } from './login-attempts.ts'

it('the wait doubles from the fifth failure on, up to 15 minutes', () => {
  const waits = Array.from({ length: 18 }, (_, index) => waitSecondsAfter(index + 1))
  expect(waits).toEqual([0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900])
})

it('responses for an account slow down from the 11th failure on, to two seconds', () => {
  expect([0, 10, 11, 15, 20, 1_000].map(answerMsAfter)).toEqual([0, 0, 200, 1_000, 2_000, 2_000])
})
