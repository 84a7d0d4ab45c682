import { describe, expect, it } from 'vitest'
import { chooseVictims, type PodChoice } from './choose-victims.ts'

const pod = (name: string, more: Partial<PodChoice> = {}): PodChoice => ({
  name,
  ready: true,
  slotsUsed: 1,
  createdAt: new Date(0),
  node: name,
  cost: undefined,
  ...more,
})

const victims = (pods: readonly PodChoice[], count: number): string[] =>
  chooseVictims(pods, count)
    .filter(({ cost }) => cost === '-1')
    .map(({ pod }) => pod)
    .sort()

describe('chooseVictims', () => {
  it('takes unready pods first', () => {
    expect(victims([pod('a', { slotsUsed: 0 }), pod('b', { ready: false, slotsUsed: 5 })], 1)).toEqual(['b'])
  })

  it('takes idle pods before the newest, then the least loaded', () => {
    const pods = [
      pod('busy', { slotsUsed: 2, createdAt: new Date(9) }),
      pod('idle', { slotsUsed: 0 }),
      pod('half', { slotsUsed: 1 }),
    ]
    expect(victims(pods, 1)).toEqual(['idle'])
    expect(victims(pods, 2)).toEqual(['half', 'idle'])
  })

  it('takes one of two pods on a node before a pod that is alone on its node', () => {
    const pods = [pod('alone'), pod('first', { node: 'n1' }), pod('second', { node: 'n1' })]
    expect(victims(pods, 1)).toEqual(['first'])
  })

  it('leaves a pod on each node as long as possible', () => {
    const pods = ['n1', 'n1', 'n1', 'n2', 'n2'].map((node, index) => pod(`p${index}`, { node }))
    const left = (count: number): (string | undefined)[] =>
      pods.filter(({ name }) => !victims(pods, count).includes(name)).map(({ node }) => node)
    expect(left(3).sort()).toEqual(['n1', 'n2'])
  })

  it('takes the newest of equal pods', () => {
    const pods = [pod('old'), pod('new', { createdAt: new Date(60_000) })]
    expect(victims(pods, 1)).toEqual(['new'])
  })

  it('writes only changes, and removes obsolete costs', () => {
    const pods = [pod('a', { slotsUsed: 0, cost: '-1' }), pod('b', { cost: '-1' }), pod('c')]
    expect(chooseVictims(pods, 1)).toEqual([{ pod: 'b', cost: null }])
  })

  it.each([0, 3, 4])('annotates nothing when %i of three go', (count) => {
    expect(chooseVictims([pod('a'), pod('b'), pod('c')], count)).toEqual([])
  })
})
