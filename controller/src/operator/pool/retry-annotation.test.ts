import { describe, expect, it } from 'vitest'
import { findBadRetry, isRetryAsked, retriedOf } from './owner-requests.ts'

const failed = { revision: 'new', reason: 'CanaryLatency', message: 'x', time: '2026-11-23T12:00:00Z' } as const

describe('the annotation matte.dev/retry', () => {
  it.each([
    ['2026-11-23T12:00:01Z', true],
    ['2026-11-23T13:30:00+01:00', true],
    ['2026-11-23T13:00:00+01:00', false],
    ['2026-11-23T12:00:00Z', false],
    ['2026-11-23 12:30:00', false],
    ['2026-11-23T12:30:00', false],
    ['2026-13-23T12:30:00Z', false],
    ['1', false],
    ['', false],
  ])('with the value %j acts: %s', (value, acts) => {
    expect(isRetryAsked(value, { failed })).toBe(acts)
    expect(findBadRetry(value, { failed }).length === 0).toBe(acts)
    expect(retriedOf(value, { failed })).toEqual(acts ? { retried: value } : {})
  })

  it('acts once, and is not reported afterwards', () => {
    const value = '2026-11-23T12:00:01Z'
    const again = { failed: { ...failed, time: '2026-11-23T11:00:00Z' }, retried: value }
    expect(isRetryAsked(value, again)).toBe(false)
    expect(findBadRetry(value, again)).toEqual([])
    expect(retriedOf(value, again)).toEqual({ retried: value })
  })

  it('does not act if it was set before the failure', () => {
    const value = '2030-01-01T00:00:00Z'
    const { retried } = retriedOf(value, undefined)
    expect(retried).toBe(value)
    expect(isRetryAsked(value, { failed, retried: value })).toBe(false)
  })

  it('reports the error in a value', () => {
    const saying = (value: string | undefined, rollout?: { failed: typeof failed }) =>
      findBadRetry(value, rollout).map(({ message }) => message)
    expect(saying('now')).toEqual(['its value "now" is not a time in RFC 3339, such as 2026-11-23T12:00:00Z'])
    expect(saying('2026-11-23T11:00:00Z', { failed })).toEqual([
      `its time 2026-11-23T11:00:00Z is not after the rollback at ${failed.time}`,
    ])
    expect(saying(undefined, { failed })).toEqual([])
  })
})
