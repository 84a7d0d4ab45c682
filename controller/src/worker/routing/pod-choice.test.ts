import { describe, expect, it } from 'vitest'
import { choosePod, countTurn, indexPods, isCanarysTurn, keepSharesOf, type OwedShares } from './pod-choice.ts'
import { addRequest, noLoad } from './pod-load.ts'
import type { Pod } from './pod-source.ts'

const pod = (address: string, changes: Partial<Pod> = {}): Pod => ({
  address,
  name: address,
  pool: 'standard',
  revision: 'a',
  role: 'stable',
  weight: 50,
  tritonModel: 'u2netp',
  modelVersions: ['service-v2'],
  client: {} as Pod['client'],
  shape: { inputSize: 320, slots: 1, views: 1 },
  podSlots: 1,
  onProbation: false,
  ...changes,
})
const stable = pod('stable')
const onProbation = pod('back', { onProbation: true })
const canary = pod('canary', { role: 'canary', revision: 'b' })
const always = pod('always', { role: 'canary', revision: 'b', weight: 100 })
const other = pod('other', { role: 'other', revision: 'old' })

/** Pods of the first requests, one slot each; no request ends. */
function choose(pods: readonly Pod[], requests: number, isRetry = false): (string | undefined)[] {
  const state = { load: noLoad(0), owed: new Map<string, number>() }
  const choice = indexPods(pods).get('service-v2')
  if (choice === undefined) throw new Error('no pod answers for service-v2')
  return Array.from({ length: requests }, () => {
    const chosen = choosePod(state, choice, { isRetry })
    if (chosen) addRequest(state.load, chosen)
    return chosen?.address
  })
}

describe('choosePod', () => {
  it.each<[string, Pod[], (string | undefined)[]]>([
    ['the stable pods until their slots are taken', [stable, onProbation], ['stable', 'back', undefined]],
    ['the canary when its share has added up', [stable, canary], ['stable', 'canary', undefined]],
    ['a canary of weight 100 first, then the stable pods', [stable, always], ['always', 'stable', undefined]],
    ['the canary alone while no stable pod is there', [canary, other], ['canary', undefined]],
    ['a leftover revision when there is nothing else', [other], ['other', undefined]],
    ['no leftover revision beside a stable pod', [other, stable], ['stable', undefined]],
  ])('takes %s', (_what, pods, chosen) => {
    expect(choose(pods, chosen.length)).toEqual(chosen)
  })

  it.each<[string, Pod[], (string | undefined)[]]>([
    ['to a stable pod in good standing, and waits for it', [onProbation, always, stable], ['stable', undefined]],
    ['to any pod with a free slot, if there is no such pod', [onProbation], ['back', undefined]],
  ])('sends a retry %s', (_what, pods, chosen) => {
    expect(choose(pods, chosen.length, true)).toEqual(chosen)
  })
})

describe('indexPods', () => {
  it('indexes a pod by each version that it serves, and skips a canary without a share', () => {
    const both = pod('both', { modelVersions: ['v2', 'service-v2'] })
    const idle = pod('idle', { role: 'canary', weight: 0, modelVersions: ['v3'] })
    const choices = indexPods([both, idle, onProbation])
    expect([...choices.keys()]).toEqual(['v2', 'service-v2'])
    expect(choices.get('service-v2')).toMatchObject({ stable: [both, onProbation], proven: [both] })
  })
})

const canaryOf = (weight: number, changes: Partial<Pod> = {}): Pod =>
  ({ pool: 'standard', tritonModel: 'u2netp', revision: 'new', role: 'canary', weight, ...changes }) as Pod

/** Turns of the canary, which takes each one while it has a free slot. */
function turns(owed: OwedShares, weight: number, count: number, hasFreeSlot = true): boolean[] {
  return Array.from({ length: count }, () => {
    const taken = isCanarysTurn(owed, canaryOf(weight)) && hasFreeSlot
    countTurn(owed, canaryOf(weight), taken)
    return taken
  })
}

describe('the turn of a canary', () => {
  it.each([0, 1, 33, 50, 99, 100])('comes %d times in a hundred requests', (weight) => {
    expect(turns(new Map(), weight, 100).filter(Boolean)).toHaveLength(weight)
  })

  it('comes first when the share has added up', () => {
    expect(turns(new Map(), 25, 8)).toEqual([false, false, false, true, false, false, false, true])
  })

  it('is kept only once while the canary has no free slot', () => {
    const owed: OwedShares = new Map()
    turns(owed, 50, 100, false)
    expect(turns(owed, 50, 6)).toEqual([true, true, false, true, false, true])
  })

  it('is counted per model and forgotten with the canary', () => {
    const owed: OwedShares = new Map()
    const [fast, fine] = [canaryOf(60), canaryOf(60, { tritonModel: 'isnet' })]
    countTurn(owed, fast, false)
    expect([isCanarysTurn(owed, fast), isCanarysTurn(owed, fine)]).toEqual([true, false])
    keepSharesOf(owed, [fast])
    expect(isCanarysTurn(owed, fast)).toBe(true)
    keepSharesOf(owed, [fine])
    expect(owed.size).toBe(0)
  })
})
