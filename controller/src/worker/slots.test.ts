import type { ClaimedTask, Claims } from '@matte/core/task/run/claim-task'
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
  const inFlight: { version: string; end: (mayClaim?: boolean) => void }[] = []
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
    claim: async ({ versions, tasks: limit }) => {
      asked.push(versions)
      const isNext = (version: string): boolean => versions.includes(version)
      const tasks = waiting.filter(isNext).slice(0, limit)
      for (const version of tasks) waiting.splice(waiting.indexOf(version), 1)
      return { tasks: tasks.map((modelVersion) => ({ modelVersion }) as ClaimedTask), more: waiting.some(isNext) }
    },
    run: (task, signal) =>
      new Promise((resolve) => {
        inFlight.push({ version: task.modelVersion, end: (mayClaim = false) => resolve(mayClaim) })
        signal.addEventListener('abort', () => resolve(false))
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
    end: (at: number, mayClaim?: boolean) => inFlight[at]?.end(mayClaim),
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

  it('asks once for all its room', async () => {
    const { settle, asked, inFlight } = given([pod('a', 3)], Array(5).fill('fast'))
    await settle()
    expect([asked.length, inFlight().length]).toEqual([1, 3])
  })

  it('asks nothing at the end of a task when nothing waits, until news comes', async () => {
    const waiting = ['fast']
    const { slots, settle, asked, end, inFlight } = given([pod('a', 2)], waiting)
    await settle()
    expect(asked.length).toBe(1)
    end(0)
    await settle()
    expect(asked.length).toBe(1)
    waiting.push('fast')
    slots.lookNow()
    await settle()
    expect([asked.length, inFlight().length]).toEqual([2, 2])
  })

  it('asks at the end of a task whose workspace has more', async () => {
    const { settle, asked, end } = given([pod('a', 2)], ['fast'])
    await settle()
    end(0, true)
    await settle()
    expect(asked.length).toBe(2)
  })

  it('asks at the end of a task if another model got room by it', async () => {
    const pods = [pod('a', 1), pod('b', 1, { ...isnet, pool: 'other' })]
    const waiting = ['fine', 'fast', 'fine']
    const { settle, end, inFlight } = given(pods, waiting)
    await settle()
    expect(inFlight()).toEqual(['fine', 'fast'])
    end(0)
    await settle()
    expect(inFlight()).toEqual(['fine', 'fast', 'fine'])
  })

  it('keeps news that comes while it asks', async () => {
    const answers = [Promise.withResolvers<Claims>(), Promise.withResolvers<Claims>()]
    let asked = 0
    const claim = (): Promise<Claims> => answers[asked++]?.promise ?? Promise.resolve({ tasks: [], more: false })
    const { slots, settle } = given([pod('a', 1)], [], { claim })
    await settle()
    slots.lookNow()
    answers[0]?.resolve({ tasks: [], more: false })
    await settle()
    expect(asked).toBe(2)
    answers[1]?.resolve({ tasks: [], more: false })
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
