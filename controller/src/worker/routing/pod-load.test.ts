import { describe, expect, it } from 'vitest'
import { addRequest, findLeastLoaded, forgetIdle, noLoad, type PodLoad, removeRequest } from './pod-load.ts'
import { pod } from './pod-picker.fixtures.ts'
import type { Pod } from './pod-source.ts'

const [a, b, large] = [pod('a', 2), pod('b', 2), pod('large', 8)]
const isnet = pod('a', 2, { tritonModel: 'isnet' })
const oneSlot = pod('a', 4, { shape: { inputSize: 320, slots: 1, views: 1 } })

function loadOf(firstIndex: number, ...inFlight: Pod[]): PodLoad {
  const load = noLoad(firstIndex)
  for (const each of inFlight) addRequest(load, each)
  return load
}

describe('findLeastLoaded', () => {
  it.each<[string, Pod[], Pod[], number, string | undefined]>([
    ['the first of equals, where this process begins', [], [a, b], 0, 'a'],
    ['another first in another process', [], [a, b], 1, 'b'],
    ['the one with less in flight', [a], [a, b], 0, 'b'],
    ['the one with the smaller share of its slots', [a, large, large], [a, large], 0, 'large'],
    ['of equals the one picked longest ago', [b, a], [a, b], 0, 'b'],
    ['none when every slot is taken', [a, a], [a], 0, undefined],
    ['none when other models fill the pod', [isnet, isnet], [a], 0, undefined],
    ['none when the model has its share of the pod', [oneSlot], [oneSlot], 0, undefined],
    ['none of no pods', [], [], 0, undefined],
  ])('is %s', (_what, inFlight, pods, firstIndex, address) => {
    expect(findLeastLoaded(loadOf(firstIndex, ...inFlight), pods)?.address).toBe(address)
  })
})

describe('the load of a pod', () => {
  it('is counted by address, model and revision, and given back', () => {
    const load = loadOf(0, a, isnet, pod('b', 2, { revision: 'b' }))
    expect(load.byAddress.get('a')).toMatchObject({
      total: 2,
      byModel: new Map([
        ['u2netp', 1],
        ['isnet', 1],
      ]),
    })
    expect([...load.byRevision.values()].map(({ revision, slots }) => [revision, slots])).toEqual([
      ['a', 2],
      ['b', 1],
    ])
    removeRequest(load, a)
    removeRequest(load, isnet)
    expect(load.byAddress.get('a')).toMatchObject({ total: 0 })
    expect([...load.byRevision.keys()]).toEqual(['standard b'])
  })

  it('is forgotten with its address once nothing is in flight there', () => {
    const load = loadOf(0, a, b)
    removeRequest(load, a)
    forgetIdle(load)
    expect([...load.byAddress.keys()]).toEqual(['b'])
  })
})
