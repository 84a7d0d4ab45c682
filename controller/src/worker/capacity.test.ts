import { describe, expect, it } from 'vitest'
import { linesOf, roomOf } from './capacity.ts'
import type { Pod } from './routing/pod-source.ts'

const pod = (address: string, slots: number, versions: string[], changes: Partial<Pod> = {}): Pod => ({
  address,
  name: address,
  pool: 'standard',
  revision: 'a',
  role: 'stable',
  weight: 100,
  tritonModel: 'u2netp',
  modelVersions: versions,
  client: {} as Pod['client'],
  shape: { inputSize: 320, slots, views: 1 },
  podSlots: slots,
  onProbation: false,
  ...changes,
})
const fast = (address: string): Pod => pod(address, 1, ['fast', 'service-v2'])
const fine = (address: string): Pod => pod(address, 1, ['fine'])
const elsewhere = pod('c', 1, ['fine'], { pool: 'other' })

describe('roomOf', () => {
  it.each<[string, Pod[], string[], string[]]>([
    ['none without a pod', [], [], []],
    ['every name of a pod with a free slot', [fast('a')], [], ['fast', 'service-v2']],
    ['none of a pod whose slots are taken under any of its names', [fast('a')], ['service-v2'], []],
    ['those of a second pod', [fast('a'), fast('b')], ['fast'], ['fast', 'service-v2']],
    ['each model of one pod while the pod has room', [fast('a'), fine('a')], [], ['fast', 'service-v2', 'fine']],
    ['no other model of a pod that is full', [fast('a'), fine('a')], ['fine'], []],
    ['a model of another pool, whatever is in flight here', [fast('a'), elsewhere], ['fast'], ['fine']],
    ['none of a canary without a share', [pod('a', 1, ['v3'], { role: 'canary', weight: 0 })], [], []],
    [
      'one name of two revisions alone, when the other has its slots taken',
      [fast('a'), pod('b', 1, ['v3', 'fast'])],
      ['v3'],
      ['fast', 'service-v2'],
    ],
  ])('has %s', (_what, pods, inFlight, expected) => {
    expect(roomOf(linesOf(pods, 0), inFlight).versions).toEqual(expected)
  })

  it('adds the tasks ahead per pod', () => {
    const lines = linesOf([fast('a'), fast('b')], 2)
    expect(roomOf(lines, Array(5).fill('fast'))).toEqual({ versions: ['fast', 'service-v2'], tasks: 1 })
    expect(roomOf(lines, Array(6).fill('fast'))).toEqual({ versions: [], tasks: 0 })
  })

  it.each<[string, Pod[], string[], number]>([
    ['the free slots of one model', [pod('a', 4, ['fast']), pod('b', 2, ['fast'])], ['fast'], 5],
    ['those of the model with the fewest', [pod('a', 4, ['fast']), pod('b', 1, ['fine'], { pool: 'other' })], [], 1],
    ['those of the pool that models share', [pod('a', 2, ['fast']), pod('a', 2, ['fine'])], ['fine'], 1],
  ])('counts %s', (_what, pods, inFlight, expected) => {
    expect(roomOf(linesOf(pods, 0), inFlight).tasks).toBe(expected)
  })
})
