import { describe, expect, it } from 'vitest'
import { boundsInForce, limitOf, type ScheduleBounds } from './bounds.ts'

describe('boundsInForce', () => {
  it.each<[string, ScheduleBounds | undefined, number, number]>([
    ["are the pool's own without a schedule", undefined, 2, 10],
    ['use a minimum that a schedule raises', { names: ['a'], minReplicas: 5 }, 5, 10],
    ['use a minimum that a schedule lowers', { names: ['a'], minReplicas: 0 }, 0, 10],
    ['use a maximum that a schedule lowers', { names: ['a'], maxReplicas: 4 }, 2, 4],
    ['use a maximum that a schedule raises', { names: ['a'], maxReplicas: 30 }, 2, 30],
    ['prefer the minimum if two schedules conflict', { names: ['a', 'b'], minReplicas: 8, maxReplicas: 4 }, 8, 8],
    ["prefer a schedule's minimum over the pool's maximum", { names: ['a'], minReplicas: 12 }, 12, 12],
  ])('%s', (_name, schedule, minReplicas, maxReplicas) => {
    const expected = { minReplicas, maxReplicas, ...(schedule && { schedules: schedule.names }) }
    expect(boundsInForce({ minReplicas: 2, maxReplicas: 10, schedule })).toEqual(expected)
  })
})

describe('limitOf', () => {
  it.each<[number, ScheduleBounds | undefined, string | undefined]>([
    [1, undefined, 'minimum'],
    [2, undefined, undefined],
    [10, undefined, undefined],
    [11, undefined, 'maximum'],
    [4, { names: ['a'], minReplicas: 5 }, 'schedule'],
    [11, { names: ['a'], minReplicas: 5 }, 'maximum'],
    [1, { names: ['a'], maxReplicas: 5 }, 'minimum'],
    [6, { names: ['a'], maxReplicas: 5 }, 'schedule'],
    [13, { names: ['a'], minReplicas: 12 }, 'schedule'],
  ])('of %d pods under schedule %j is %s', (replicas, schedule, limit) => {
    expect(limitOf(replicas, { minReplicas: 2, maxReplicas: 10, schedule })).toBe(limit)
  })
})
