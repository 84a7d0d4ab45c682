import { describe, expect, it } from 'vitest'
import { covers } from './json.ts'

describe('covers', () => {
  it.each([
    [{ a: 1, b: 2 }, { a: 1 }],
    [{ a: { b: [1, { c: 2, d: 3 }] } }, { a: { b: [1, { c: 2 }] } }],
    [{ cpu: '1' }, { cpu: '1000m' }],
    [{ cpu: '500m' }, { cpu: 0.5 }],
    [{ memory: '1Gi' }, { memory: '1024Mi' }],
    [{ 'nvidia.com/gpu': '1' }, { 'nvidia.com/gpu': 1 }],
    [{}, { env: [], affinity: {}, hostNetwork: false }],
  ])('is true for %j and %j', (live, wanted) => {
    expect(covers(live, wanted)).toBe(true)
  })

  it.each([
    [{ a: 1 }, { a: 2 }],
    [{ a: 1 }, { b: 1 }],
    [{ args: ['x', 'y'] }, { args: ['x'] }],
    [{ args: ['x'] }, { args: ['y'] }],
    [{ cpu: '1' }, { cpu: '1001m' }],
    [{ image: 'triton:1' }, { image: 'triton:2' }],
    [{ a: { b: 1 } }, { a: 'b' }],
  ])('is false for %j and %j', (live, wanted) => {
    expect(covers(live, wanted)).toBe(false)
  })
})
