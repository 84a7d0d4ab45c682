import { describe, expect, it } from 'vitest'
import { add, addAt, begin, fail, type KeyState, nextRingMs, ring, succeed } from './queue-state.ts'

const never = Number.POSITIVE_INFINITY
const waiting: KeyState = { state: 'waiting', failures: 0, conflicts: 0, atMs: 500 }
const due: KeyState = { state: 'due', failures: 0, conflicts: 0, atMs: never }
const running = begin(due)
const backoff = fail(running, 1_000)

describe('the state of a key', () => {
  it.each([
    ['unknown', undefined, due],
    ['waiting', waiting, { ...due, atMs: 500 }],
    ['due', due, due],
    ['running', running, { ...running, again: true }],
    ['in backoff', backoff, backoff],
  ])('when it is added while %s', (_state, key, next) => {
    expect(add(key)).toEqual(next)
  })

  it('keeps the earliest requested time', () => {
    const first = addAt(500)
    expect(first).toEqual(waiting)
    expect(addAt(900, first)).toEqual(waiting)
    expect(addAt(100, first)).toEqual({ ...waiting, atMs: 100 })
    expect(addAt(500, running)).toEqual({ ...running, atMs: 500 })
  })

  it.each([
    ['unknown without a requeue', running, undefined, undefined],
    ['waiting for the requeue', running, 500, waiting],
    ['waiting for the earlier of the requeue and a requested time', { ...running, atMs: 500 }, 900, waiting],
    [
      'due if added meanwhile, and keeps the requested time',
      { ...running, again: true, atMs: 500 },
      900,
      { ...due, atMs: 500 },
    ],
    ['reset to no failures and conflicts', { ...running, failures: 3, conflicts: 2 }, 500, waiting],
  ])('after a success is %s', (_what, key, requeueAtMs, next) => {
    expect(succeed(key, requeueAtMs)).toEqual(next)
  })

  it('counts consecutive failures, and an addition does not shorten the backoff', () => {
    const failed = fail({ ...running, again: true, failures: 2 }, 1_000)
    expect(failed).toEqual({ state: 'backoff', failures: 3, conflicts: 0, atMs: never, untilMs: 1_000 })
    expect(begin(ring(failed, 1_000))).toMatchObject({ failures: 3, again: false })
  })

  it('counts conflicts and failures separately', () => {
    const met = fail({ ...running, failures: 2, conflicts: 1 }, 1_000, 'conflicts')
    expect(met).toEqual({ state: 'backoff', failures: 2, conflicts: 2, atMs: never, untilMs: 1_000 })
    expect(fail(begin(ring(met, 1_000)), 2_000)).toMatchObject({ failures: 3, conflicts: 2 })
  })

  it.each([
    ['waiting', waiting, 500, due],
    ['running', { ...running, atMs: 500 }, 500, { ...running, again: true }],
    ['in backoff, at its end', backoff, 1_000, { ...due, failures: 1 }],
    ['in backoff, at a time before its end', { ...backoff, atMs: 500 }, 500, backoff],
    ['in backoff, with a time after its end', { ...backoff, atMs: 1_500 }, 1_000, { ...due, failures: 1, atMs: 1_500 }],
  ])('when its timer fires while %s', (_state, key, nowMs, next) => {
    expect(nextRingMs(key)).toBe(nowMs)
    expect(ring(key, nowMs)).toEqual(next)
  })

  it('has no timer without a requested time', () => {
    expect([due, running].map(nextRingMs)).toEqual([never, never])
  })
})
