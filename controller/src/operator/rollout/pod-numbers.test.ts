import { describe, expect, it } from 'vitest'
import { type Replacement, replacePods, resolveBounds } from './pod-numbers.ts'

describe('the bounds of a rollout', () => {
  const canary = { strategy: 'Canary', maxSurge: 1, maxUnavailable: 0 } as const

  it.each([
    [{ ...canary }, 4, { maxSurge: 1, maxUnavailable: 0 }],
    [{ ...canary, maxSurge: '25%' }, 5, { maxSurge: 2, maxUnavailable: 0 }],
    [{ ...canary, maxUnavailable: '25%' }, 7, { maxSurge: 1, maxUnavailable: 1 }],
    [{ ...canary, maxUnavailable: '25%' }, 3, { maxSurge: 1, maxUnavailable: 0 }],
    [{ ...canary, maxSurge: 0, maxUnavailable: '10%' }, 4, { maxSurge: 0, maxUnavailable: 1 }],
    [{ ...canary, maxSurge: '100%' }, 0, { maxSurge: 0, maxUnavailable: 1 }],
    [{ ...canary, strategy: 'Recreate' as const }, 4, { maxSurge: 0, maxUnavailable: 4 }],
  ])('are those of a Deployment: %j of %d', (rollout, desired, bounds) => {
    expect(resolveBounds(rollout, desired)).toEqual(bounds)
  })
})

const group = (replicas: number, more: { pods?: number; ready?: number } = {}) => ({
  replicas,
  pods: replicas,
  ready: replicas,
  ...more,
})
const rule = (maxSurge: number, maxUnavailable: number) => ({ bounds: { maxSurge, maxUnavailable } })

function numbers(changes: Partial<Replacement>): [growing: number, shrinking: number] {
  const { growing, shrinking } = replacePods({
    desired: 4,
    ...rule(1, 0),
    growing: { ...group(0), goal: 4, hasNoRoom: false },
    shrinking: { ...group(4), keep: 0, mayGrow: true },
    leaving: 0,
    ...changes,
  })
  return [growing, shrinking]
}

const growing = (replicas: number, ready: number, hasNoRoom = false) => ({
  growing: { ...group(replicas, { ready }), goal: 4, hasNoRoom },
})
const shrinking = (
  replicas: number,
  more: { pods?: number; ready?: number; keep?: number; mayGrow?: boolean } = {},
) => ({
  shrinking: { ...group(replicas, more), keep: 0, mayGrow: true, ...more },
})

describe('the pods of two revisions, the new one first', () => {
  it.each([
    ['the surge comes first', {}, [1, 4]],
    ['an old pod is removed when the new one is ready', growing(1, 1), [1, 3]],
    ['the next one waits until the old one has gone', { ...growing(1, 1), ...shrinking(3, { pods: 4 }) }, [1, 3]],
    ['and then starts', { ...growing(1, 1), ...shrinking(3) }, [2, 3]],
    ['a larger surge is used at once', rule(2, 0), [2, 4]],
    ['without room and maxUnavailable it waits', growing(1, 0, true), [1, 4]],
    ['draining pods of a third revision occupy slots', { leaving: 1 }, [0, 4]],
  ] as const)('by default: %s', (_what, changes, expected) => {
    expect(numbers(changes)).toEqual(expected)
  })

  it.each([
    ['no pod is removed while there is room', growing(1, 0), [1, 4]],
    ['one is removed for a pod without room', growing(1, 0, true), [1, 3]],
    ['and is not replaced while its successor starts', { ...growing(1, 0), ...shrinking(3) }, [2, 3]],
    ['nor is a second one removed', { ...growing(2, 0, true), ...shrinking(3) }, [2, 3]],
    ['the next one is removed when the first is ready', { ...growing(2, 1, true), ...shrinking(3) }, [2, 2]],
    ['unready old pods count as unavailable', { ...growing(1, 0, true), ...shrinking(4, { ready: 3 }) }, [1, 3]],
  ] as const)('with maxUnavailable 1: %s', (_what, changes, expected) => {
    expect(numbers({ ...rule(1, 1), ...changes })).toEqual(expected)
  })

  it.each([
    ['an old pod is removed first', {}, [0, 3]],
    ['a new one waits until it has gone', { ...shrinking(3, { pods: 4 }) }, [0, 3]],
    ['and then starts', shrinking(3), [1, 3]],
    ['until all are new', { ...growing(3, 3), ...shrinking(0) }, [4, 0]],
  ] as const)('with maxSurge 0 and maxUnavailable 1: %s', (_what, changes, expected) => {
    expect(numbers({ ...rule(0, 1), ...changes })).toEqual(expected)
  })

  it('with all unavailable: all old ones are removed, then the new ones start', () => {
    expect(numbers(rule(0, 4))).toEqual([0, 0])
    expect(numbers({ ...rule(0, 4), ...shrinking(0, { pods: 4 }) })).toEqual([0, 0])
    expect(numbers({ ...rule(0, 4), ...shrinking(0) })).toEqual([4, 0])
  })

  it('keeps the old revision’s share, unless there is no room', () => {
    const one = { desired: 1, growing: { ...group(1), goal: 1, hasNoRoom: false } }
    expect(numbers({ ...one, ...shrinking(1, { keep: 1 }) })).toEqual([1, 1])
    const full = { ...one, ...rule(1, 1), growing: { ...one.growing, ready: 0, hasNoRoom: true } }
    expect(numbers({ ...full, ...shrinking(1, { keep: 1 }) })).toEqual([1, 0])
  })

  it('follows the desired number, except for a canary in a rollback', () => {
    const more = { desired: 8, growing: { ...group(1), goal: 1, hasNoRoom: false } }
    expect(numbers({ ...more, ...shrinking(3, { keep: 7 }) })).toEqual([1, 7])
    expect(numbers({ ...more, ...shrinking(3, { mayGrow: false }) })).toEqual([1, 3])
    expect(numbers({ ...more, ...rule(1, 1), ...shrinking(3, { keep: 7 }) })).toEqual([1, 7])
    expect(numbers({ desired: 0, growing: { ...group(1), goal: 0, hasNoRoom: false } })).toEqual([0, 0])
  })
})
