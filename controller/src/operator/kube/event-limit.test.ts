import { describe, expect, it } from 'vitest'
import { createEventLimit } from './events.ts'

function given() {
  let now = 1_000
  const clock = { monotonicMs: () => now, nowMs: () => 0 }
  const limit = createEventLimit(clock)
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
    expect(takes('object', 100)).toBe(20)
    pass(9_999)
    expect(takes('object', 100)).toBe(0)
    pass(1)
    expect(takes('object', 100)).toBe(1)
    pass(25_000)
    expect(takes('object', 100)).toBe(2)
    pass(1_000_000)
    expect(takes('object', 100)).toBe(20)
  })

  it('is each object’s own', () => {
    const { takes } = given()
    takes('loud', 100)
    expect(takes('quiet', 1)).toBe(1)
  })

  it('remembers a bounded number of objects, the latest', () => {
    const { takes } = given()
    expect(takes('first', 20)).toBe(20)
    takes('second', 20)
    for (let n = 2; n < 1_000; n += 1) takes(`object ${n}`, 1)
    takes('first', 1)
    takes('one more', 1)
    expect(takes('first', 20)).toBe(0)
    expect(takes('second', 20)).toBe(20)
  })
})
