import { expect, it } from 'vitest'
import { mailPace } from './mail-pace.ts'

function given(perMinute: number) {
  let nowMs = 0
  const pace = mailPace(perMinute, { monotonicMs: () => nowMs })
  /** Sends as many as allowed once a second; returns the total. */
  const sendFor = (seconds: number): number => {
    let sent = 0
    for (let second = 0; second < seconds; second++) {
      const now = pace.allows()
      pace.took(now)
      sent += now
      nowMs += 1_000
    }
    return sent
  }
  return { pace, sendFor }
}

it.each([6, 60, 300])('allows at most %i a minute', (perMinute) => {
  const { sendFor } = given(perMinute)
  const first = sendFor(60)
  expect(first).toBeGreaterThanOrEqual(perMinute - 1)
  expect(first).toBeLessThanOrEqual(perMinute + Math.max(1, perMinute / 60))
  expect(sendFor(60)).toBeLessThanOrEqual(perMinute + 1)
})

it('is unbounded at 0', () => {
  expect(given(0).pace.allows()).toBe(Number.POSITIVE_INFINITY)
})
