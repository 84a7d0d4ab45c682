import type { Clock } from '@matte/core/runtime/clock'

type MailPace = {
  /** How many mails may begin now. */
  allows(): number
  took(count: number): void
}

const minuteMs = 60_000

/** Allows at most `perMinute` mails in any minute, in bursts of at most one second's share. 0: no bound. */
export function mailPace(perMinute: number, { monotonicMs }: Pick<Clock, 'monotonicMs'>): MailPace {
  if (perMinute === 0) return { allows: () => Number.POSITIVE_INFINITY, took: () => undefined }
  const most = Math.max(1, perMinute / 60)
  let left = most
  let atMs = monotonicMs()
  return {
    allows: () => {
      const nowMs = monotonicMs()
      left = Math.min(most, left + ((nowMs - atMs) * perMinute) / minuteMs)
      atMs = nowMs
      return Math.floor(left)
    },
    took: (count) => {
      left -= count
    },
  }
}
