import { describe, expect, it, vi } from 'vitest'
import { orderedId } from './ordered-id.ts'

describe('orderedId', () => {
  it('is a UUID of version 7 that begins with the time', () => {
    vi.useFakeTimers({ now: 0x017f_22e2_79b0 })
    try {
      // The time of the example in RFC 9562.
      expect(orderedId()).toMatch(/^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    } finally {
      vi.useRealTimers()
    }
  })

  it('is different each time, and ordered by time', () => {
    const ids: string[] = []
    vi.useFakeTimers({ now: 1_000 })
    try {
      for (let i = 0; i < 1_000; i++) {
        ids.push(orderedId())
        vi.advanceTimersByTime(1)
      }
    } finally {
      vi.useRealTimers()
    }
    expect(new Set(ids).size).toBe(1_000)
    expect(ids.toSorted()).toEqual(ids)
  })
})
