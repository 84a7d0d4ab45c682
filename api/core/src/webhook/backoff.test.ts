import { expect, it } from 'vitest'
import { retryDelayMs } from './backoff.ts'

it('waits 2, 4, 8, 16, 32 and then 60 minutes, twelve times, and gives up after the thirteenth attempt', () => {
  const policy = { maxRetries: 12, retryUnitMs: 60_000 }
  const minutes = Array.from({ length: 14 }, (_, i) => retryDelayMs(i + 1, policy)).map((ms) => ms && ms / 60_000)
  expect(minutes).toEqual([2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60, 60, undefined, undefined])
})

it('uses the configured unit', () => {
  expect(retryDelayMs(3, { maxRetries: 12, retryUnitMs: 1_000 })).toBe(8_000)
  expect(retryDelayMs(1, { maxRetries: 0, retryUnitMs: 1_000 })).toBeUndefined()
})
