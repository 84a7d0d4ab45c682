import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { given, hold, pod, wish, withSlot } from './pod-picker.fixtures.ts'
import type { PodPicker } from './pod-picker.ts'
import type { Pod } from './pod-source.ts'

const v9 = { modelVersions: ['v9'], tritonModel: 'isnet' }

describe('the picker by roles of pods', () => {
  const stable = (name: string, slots = 4, weight = 95): Pod => pod(name, slots, { weight })
  const canary = (name: string, weight: number, slots = 4): Pod =>
    pod(name, slots, { role: 'canary', revision: 'new', weight })

  /** Sends requests one after the other; true for each that the canary got. */
  async function send(picker: PodPicker, count: number, version = 'service-v2') {
    const turns: boolean[] = []
    for (let request = 0; request < count; request++) {
      await withSlot(picker, wish(version), async ({ role }) => void turns.push(role === 'canary'))
    }
    return turns
  }
  const ofAnyHundred = (turns: readonly boolean[]): number[] => {
    const counts = turns.slice(99).map((_turn, index) => turns.slice(index, index + 100).filter(Boolean).length)
    return [Math.min(...counts), Math.max(...counts)]
  }

  it.each([1, 5, 33, 50, 75, 99, 100])(
    'gives a canary its weight of %d in any hundred requests, give or take one',
    async (weight) => {
      const { picker } = given(stable('s1', 4, 100 - weight), stable('s2', 4, 100 - weight), canary('c', weight))
      const [least = 0, most = 0] = ofAnyHundred(await send(picker, 400))
      expect(least).toBeGreaterThanOrEqual(weight - 1)
      expect(most).toBeLessThanOrEqual(weight + 1)
    },
  )

  it('gives a canary nothing at weight 0', async () => {
    const { picker } = given(stable('s', 4, 100), canary('c', 0))
    expect((await send(picker, 200)).filter(Boolean)).toEqual([])
  })

  it('gives a canary everything while no stable pod is ready, and nothing once it is gone', async () => {
    const { picker, set } = given(canary('c', 5))
    expect((await send(picker, 10)).filter(Boolean)).toHaveLength(10)
    set([stable('s')])
    expect((await send(picker, 10)).filter(Boolean)).toHaveLength(0)
  })

  it('gives a canary without a share no requests, not even for a version that only it serves', async () => {
    const own = pod('c', 4, { role: 'canary', revision: 'new', weight: 0, modelVersions: ['v3'] })
    const { picker } = given(stable('s', 4, 100), own)
    await expect(withSlot(picker, wish('v3'), async () => undefined)).rejects.toMatchObject({
      kind: 'unavailable',
    })
  })

  it('gives a canary no more than its share when stable slots are taken, even if it is idle', async () => {
    const { picker } = given(stable('s', 1), canary('c', 5))
    const first = hold(picker)
    const second = hold(picker)
    await turn()
    expect([first.on(), second.on()]).toEqual(['s', undefined])
    first.free()
    await turn()
    expect(second.on()).toBe('s')
    second.free()
    await second.done
  })

  it('gives the turns of a full canary to stable pods, and never catches up in a burst', async () => {
    const { picker } = given(stable('s', 8), canary('c', 50, 1))
    await send(picker, 1)
    const held = hold(picker)
    await turn()
    expect(held.on()).toBe('c')
    expect((await send(picker, 100)).filter(Boolean)).toHaveLength(0)
    held.free()
    await held.done
    const [, most = 0] = ofAnyHundred(await send(picker, 300))
    expect(most).toBeLessThanOrEqual(51)
  })

  it('counts the share of a canary per model', async () => {
    const models = (base: Pod): Pod[] => [base, { ...base, ...v9 }]
    const { picker } = given(...models(stable('s', 4, 50)), ...models(canary('c', 50)))
    const turns: boolean[] = []
    for (let pair = 0; pair < 100; pair++) {
      await send(picker, 1)
      turns.push(...(await send(picker, 1, 'v9')))
    }
    expect(turns.filter(Boolean)).toHaveLength(50)
  })

  it('uses a leftover revision only if there is no other', async () => {
    const left = pod('old', 4, { role: 'other', revision: 'old', weight: 0 })
    const { picker, set } = given(left, stable('s', 1))
    const held = hold(picker)
    await turn()
    expect(held.on()).toBe('s')
    const waiting = hold(picker)
    await turn()
    expect(waiting.on()).toBeUndefined()
    set([left])
    await turn()
    expect(waiting.on()).toBe('old')
    for (const one of [held, waiting]) one.free()
    await Promise.all([held.done, waiting.done])
  })
})
