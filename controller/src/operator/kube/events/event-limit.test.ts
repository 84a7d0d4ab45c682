import { describe, expect, it } from 'vitest'
import { createEventLimit } from './event-limit.ts'

function given(options = {}) {
  let now = 1_000
  const clock = { monotonicMs: () => now, nowMs: () => 0 }
  const limit = createEventLimit({ clock, burst: 3, everyMs: 100, ...options })
  const takes = (object: string, times: number): number =>
    Array.from({ length: times }, () => limit.take(object)).filter(Boolean).length
  return {
    takes,
    pass: (ms: number) => {
      now += ms
    },
  }
}

describe('the limit of Events', () => {
  it('lets a burst through, and then one at a time', () => {
    const { takes, pass } = given()
    expect(takes('object', 10)).toBe(3)
    pass(99)
    expect(takes('object', 10)).toBe(0)
    pass(1)
    expect(takes('object', 10)).toBe(1)
    pass(250)
    expect(takes('object', 10)).toBe(2)
    pass(1_000_000)
    expect(takes('object', 10)).toBe(3)
  })

  it('is each object’s own', () => {
    const { takes } = given()
    takes('loud', 100)
    expect(takes('quiet', 1)).toBe(1)
  })

  it('remembers a bounded number of objects, the latest', () => {
    const { takes } = given({ objectsMax: 2 })
    expect(takes('first', 3)).toBe(3)
    takes('second', 3)
    takes('first', 1)
    takes('third', 3)
    expect(takes('first', 3)).toBe(0)
    expect(takes('second', 3)).toBe(3)
  })
})
