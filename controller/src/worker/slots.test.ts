import type { ClaimedTask } from '@matte/core/task/run/claim-task'
import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import type { Pod, PodSource } from './routing/pod-source.ts'
import { createSlots, type SlotsOptions } from './slots.ts'

const pod = (address: string, slots: number, changes: Partial<Pod> = {}): Pod => ({
  address,
  name: address,
  pool: 'standard',
  revision: 'a',
  role: 'stable',
  weight: 100,
  tritonModel: 'u2netp',
  modelVersions: ['fast', 'service-v2'],
  client: {} as Pod['client'],
  shape: { inputSize: 320, slots, views: 1 },
  podSlots: slots,
  onProbation: false,
  ...changes,
})
const isnet = { tritonModel: 'isnet', modelVersions: ['fine'] }

let running: ReturnType<typeof createSlots> | undefined
afterEach(() => running?.stop())

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Slots over these pods, with tasks of the given versions waiting, oldest first. */
function given(pods: readonly Pod[], waiting: string[], options: Partial<SlotsOptions> = {}) {
  const listeners: (() => void)[] = []
  const asked: (readonly string[])[] = []
  const inFlight: { version: string; end: () => void }[] = []
  let ready = pods
  let storeDown = false
  const source = {
    pods: () => ready,
    onChange: (listener: () => void) => listeners.push(listener),
  } as unknown as PodSource // slots use nothing else of it
  const slots = createSlots({
    source,
    store: { isDown: () => storeDown, onBack: (listener) => void listeners.push(listener) },
    ahead: 0,
    inFlightMax: 100,
    claimEveryMs: 600_000,
    finishWithinMs: 0,
    claimFailed: () => undefined,
    logger: pino({ enabled: false }),
    claim: async (models) => {
      asked.push(models)
      const index = waiting.findIndex((version) => models.includes(version))
      if (index < 0) return undefined
      const [modelVersion] = waiting.splice(index, 1)
      return { modelVersion } as ClaimedTask
    },
    run: (task, signal) =>
      new Promise((resolve) => {
        inFlight.push({ version: task.modelVersion, end: resolve })
        signal.addEventListener('abort', () => resolve())
      }),
    ...options,
  })
  running = slots
  void slots.start()
  const change = (next: readonly Pod[]): void => {
    ready = next
    for (const listener of listeners) listener()
  }
  const settle = async (): Promise<void> => {
    for (let turns = 0; turns < 20; turns++) await turn()
  }
  return {
    slots,
    asked,
    change,
    settle,
    inFlight: () => inFlight.map(({ version }) => version),
    end: (at: number) => inFlight[at]?.end(),
    setStore: (state: 'down' | 'back') => {
      storeDown = state === 'down'
      if (!storeDown) for (const listener of listeners) listener()
    },
  }
}

describe('createSlots', () => {
  it('claims as many tasks as pods have slots, and some ahead', async () => {
    const { slots, settle, inFlight } = given([pod('a', 2), pod('b', 1)], Array(20).fill('fast'), { ahead: 1 })
    slots.lookNow()
    await settle()
    expect(inFlight()).toHaveLength(5)
  })

  it('claims at most the process’s limit, however many pods there are', async () => {
    const pods = Array.from({ length: 50 }, (_none, index) => pod(`p${index}`, 4))
    const { slots, settle, end } = given(pods, Array(300).fill('fast'), { inFlightMax: 7 })
    slots.lookNow()
    await settle()
    expect(slots.tasksInFlight()).toBe(7)
    end(0)
    await settle()
    expect(slots.tasksInFlight()).toBe(7)
  })

  it('claims nothing while no pod is ready, and claims again when one is', async () => {
    const { slots, settle, asked, change, inFlight } = given([], ['fast'])
    slots.lookNow()
    await settle()
    expect(asked).toEqual([])
    change([pod('a', 1)])
    await settle()
    expect(inFlight()).toEqual(['fast'])
  })

  it('claims nothing while the store is down, and resumes when it is back', async () => {
    const { slots, settle, asked, setStore, inFlight } = given([pod('a', 1)], [])
    await settle()
    const before = asked.length
    setStore('down')
    let wanted = false
    void slots.untilRoom(new AbortController().signal).then(() => {
      wanted = true
    })
    slots.lookNow()
    await settle()
    expect([asked.length, wanted, inFlight()]).toEqual([before, false, []])
    setStore('back')
    await settle()
    expect([asked.length, wanted]).toEqual([before + 1, true])
  })

  it('counts both names of a model as one', async () => {
    const { slots, settle, inFlight } = given([pod('a', 2)], ['fast', 'service-v2', 'fast'])
    slots.lookNow()
    await settle()
    expect(inFlight()).toEqual(['fast', 'service-v2'])
  })

  it('limits the models of a pool together, because they share its pods', async () => {
    const pods = [pod('a', 2), pod('a', 2, isnet)]
    const { slots, settle, inFlight } = given(pods, ['fast', 'fine', 'fast', 'fine'])
    slots.lookNow()
    await settle()
    expect(inFlight()).toEqual(['fast', 'fine'])
  })

  it('limits each model separately, so another is not blocked', async () => {
    const pods = [pod('a', 1), pod('b', 1, { ...isnet, pool: 'other' })]
    const { slots, settle, inFlight } = given(pods, ['fast', 'fast', 'fast', 'fine'])
    slots.lookNow()
    await settle()
    expect(inFlight()).toEqual(['fast', 'fine'])
  })

  it('counts the pods of both models together during a change of model', async () => {
    const next = pod('b', 2, { tritonModel: 'isnet', revision: 'b', role: 'canary', weight: 50 })
    const { slots, settle, inFlight } = given([pod('a', 2), next], Array(9).fill('fast'))
    slots.lookNow()
    await settle()
    expect(inFlight()).toHaveLength(4)
  })

  it('counts one slot for a pod on probation', async () => {
    const probation = { shape: { inputSize: 320, slots: 1, views: 1 }, podSlots: 1 } as const
    const { slots, settle, inFlight } = given([pod('a', 4, probation)], Array(9).fill('fast'))
    slots.lookNow()
    await settle()
    expect(inFlight()).toHaveLength(1)
  })

  describe('while a canary serves another version', () => {
    const old = (address: string) => pod(address, 2, { modelVersions: ['v2', 'service-v2'], weight: 50 })
    const canary = { tritonModel: 'isnet', modelVersions: ['v3', 'service-v2'], revision: 'b', role: 'canary' } as const

    it('limits each version to the slots of its pods', async () => {
      const pods = [old('a'), old('b'), pod('c', 2, { ...canary, weight: 50 })]
      const { slots, settle, inFlight } = given(pods, [...Array(9).fill('v3'), ...Array(9).fill('v2')])
      slots.lookNow()
      await settle()
      expect(inFlight().toSorted()).toEqual(['v2', 'v2', 'v2', 'v2', 'v3', 'v3'])
    })

    it('lets the common version fill all of them', async () => {
      const pods = [old('a'), pod('c', 2, { ...canary, weight: 50 })]
      const { slots, settle, inFlight } = given(pods, Array(9).fill('service-v2'))
      slots.lookNow()
      await settle()
      expect(inFlight()).toHaveLength(4)
    })

    it('claims nothing for pods without a share', async () => {
      const pods = [old('a'), pod('c', 2, { ...canary, weight: 0 })]
      const { slots, settle, inFlight, asked } = given(pods, ['v3', ...Array(9).fill('service-v2')])
      slots.lookNow()
      await settle()
      expect(inFlight()).toEqual(['service-v2', 'service-v2'])
      expect(asked.flat()).not.toContain('v3')
    })
  })

  it('joins models when a later pod serves both', async () => {
    const both = { tritonModel: 'both', modelVersions: ['fast', 'fine'] }
    const pods = [pod('a', 2, { modelVersions: ['fast'] }), pod('b', 2, { ...isnet, revision: 'b' }), pod('c', 2, both)]
    const { slots, settle, inFlight } = given(pods, [...Array(9).fill('fast'), ...Array(9).fill('fine')])
    slots.lookNow()
    await settle()
    expect(inFlight()).toHaveLength(6)
  })
})
