import { getEventListeners } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { InferenceError } from '../triton/inference-error.ts'
import { given, hold, pod, wish, withSlot } from './pod-picker.fixtures.ts'
import { createPodPicker, type PodPicker } from './pod-picker.ts'
import type { Pod, PodSource } from './pod-source.ts'

const never = new AbortController().signal
const v9 = { modelVersions: ['v9'], tritonModel: 'isnet' }

describe('createPodPicker', () => {
  it('chooses the least loaded pod, by its share of slots', async () => {
    const { picker } = given(pod('small', 1), pod('large', 3))
    const held = [hold(picker), hold(picker), hold(picker), hold(picker)]
    await turn()
    expect(held.map((one) => one.on())).toEqual(['small', 'large', 'large', 'large'])
    expect(picker.slotsUsed()).toBe(4)
    for (const one of held) one.free()
    await Promise.all(held.map((one) => one.done))
    expect(picker.slotsUsed()).toBe(0)
  })

  it('queues requests without a slot, first come first served', async () => {
    const { picker } = given(pod('only', 1))
    const [first, second, third] = [hold(picker), hold(picker), hold(picker)]
    await turn()
    expect([second.on(), third.on()]).toEqual([undefined, undefined])
    first.free()
    await first.done
    await turn()
    expect([second.on(), third.on()]).toEqual(['only', undefined])
    second.free()
    third.free()
    await third.done
  })

  it('rejects waiting requests when the last pod of their model goes', async () => {
    const { picker, set } = given(pod('only', 1), pod('other', 1, v9))
    const first = hold(picker)
    const second = hold(picker)
    await turn()
    set([pod('other', 1, v9)])
    await expect(second.done).rejects.toMatchObject({ kind: 'unavailable' })
    first.free()
    await first.done
  })

  it('gives a slot of a new pod to a waiting request', async () => {
    const { picker, set } = given(pod('only', 1))
    const first = hold(picker)
    const second = hold(picker)
    await turn()
    set([pod('only', 1), pod('new', 1)])
    await turn()
    expect(second.on()).toBe('new')
    first.free()
    second.free()
    await second.done
  })

  it('rejects at once a request for a revision without pods', async () => {
    const gone = pod('gone', 1, { revision: 'before' })
    const { picker } = given(pod('a', 1))
    await expect(picker.takeSlot({ ...wish('service-v2'), like: gone }, never)).rejects.toMatchObject({
      kind: 'unavailable',
    })
  })

  it('rejects at once when no pod serves the model', async () => {
    const { picker } = given(pod('other', 1, v9))
    await expect(hold(picker).done).rejects.toMatchObject({ kind: 'unavailable' })
    expect(() => picker.inputSize('service-v2')).toThrow(InferenceError)
  })

  it('ends the wait when the signal aborts, without holding a slot', async () => {
    const { picker } = given(pod('only', 1))
    const first = hold(picker)
    const stop = new AbortController()
    const second = hold(picker, stop.signal)
    await turn()
    stop.abort()
    await expect(second.done).rejects.toMatchObject({ kind: 'unavailable' })
    first.free()
    await first.done
    expect(picker.slotsUsed()).toBe(0)
  })

  it('removes the abort listener once a task has its slot', async () => {
    const { picker } = given(pod('only', 1))
    const first = hold(picker)
    const stop = new AbortController()
    const second = hold(picker, stop.signal)
    await turn()
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1)
    first.free()
    await first.done
    await turn()
    expect(second.on()).toBe('only')
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0)
    second.free()
    await second.done
  })

  it('reports the outcome of an inference, unless the worker ended it', async () => {
    const { picker, reports } = given(pod('a', 1))
    const stop = new AbortController()
    const ask = (work: () => Promise<void>) =>
      withSlot(picker, { ...wish('service-v2'), signal: stop.signal }, work).catch((error: unknown) => error)
    await ask(async () => undefined)
    for (const kind of ['failed', 'timeout', 'unavailable'] as const) {
      await ask(() => Promise.reject(new InferenceError(kind, 'no')))
    }
    await ask(() => Promise.reject(new Error('of the image')))
    await ask(async () => {
      stop.abort()
      throw new InferenceError('unavailable', 'stopped')
    })
    expect(reports).toEqual(['a ok', 'a failed', 'a timeout', 'a unavailable'])
  })

  it('alternates between equally loaded pods', async () => {
    const { picker } = given(pod('a', 2), pod('b', 2), pod('c', 2))
    const seen: string[] = []
    for (let round = 0; round < 6; round++) {
      await withSlot(picker, wish('service-v2'), async ({ address }) => void seen.push(address))
    }
    expect(seen).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
  })

  it('starts at a random pod, so replicas do not all choose the same one', async () => {
    const pods = [pod('a', 1), pod('b', 1), pod('c', 1)]
    const first = async (chance: number): Promise<string> => {
      // A picker uses nothing else of a source.
      // The picker uses only these methods.
      const source = { pods: () => pods, report: () => undefined, onChange: () => undefined } as unknown as PodSource
      return withSlot(
        createPodPicker(source, () => chance),
        wish('service-v2'),
        async ({ address }) => address,
      )
    }
    expect([await first(0), await first(0.001), await first(0.002)]).toEqual(['a', 'b', 'c'])
  })

  it('limits requests in flight per address and per model', async () => {
    const { picker } = given(
      pod('a', 2, { shape: { inputSize: 320, slots: 1, views: 1 } }),
      pod('a', 2, { ...v9, shape: { inputSize: 512, slots: 2, views: 1 } }),
    )
    const small = [hold(picker), hold(picker)]
    await turn()
    expect(small.map((one) => one.on())).toEqual(['a', undefined])
    const large = [hold(picker, never, 'v9'), hold(picker, never, 'v9')]
    await turn()
    expect(large.map((one) => one.on())).toEqual(['a', undefined])
    expect(picker.slotsUsed()).toBe(2)
    large[0]?.free()
    await turn()
    expect(large[1]?.on()).toBe('a')
    for (const one of [...small, ...large]) one.free()
    await Promise.all([...small, ...large].map((one) => one.done))
    expect(picker.slotsUsed()).toBe(0)
  })

  it('reports the slots in use by pool and revision', async () => {
    const { picker } = given(pod('a', 1), pod('b', 1, { revision: 'b' }))
    const held = [hold(picker), hold(picker)]
    await turn()
    expect(picker.slotsByRevision()).toEqual([
      { pool: 'standard', revision: 'a', slots: 1 },
      { pool: 'standard', revision: 'b', slots: 1 },
    ])
    for (const one of held) one.free()
    await Promise.all(held.map((one) => one.done))
    expect(picker.slotsByRevision()).toEqual([])
  })
})

describe('a retry', () => {
  const good = pod('good', 1)
  const back = pod('back', 1, { onProbation: true })
  const fresh = pod('fresh', 1, { role: 'canary', revision: 'new', weight: 100 })

  function holdRetry(picker: PodPicker) {
    const { promise, resolve } = Promise.withResolvers<void>()
    let on: string | undefined
    const work = async ({ address }: Pod): Promise<void> => {
      on = address
      await promise
    }
    const done = withSlot(picker, { modelVersion: 'service-v2', isRetry: true }, work)
    return { done, free: resolve, on: () => on }
  }

  it('waits for a stable pod in good standing without blocking others', async () => {
    const { picker } = given(back, fresh, good)
    const first = holdRetry(picker)
    const second = holdRetry(picker)
    await turn()
    expect([first.on(), second.on()]).toEqual(['good', undefined])
    const others = [hold(picker), hold(picker)]
    await turn()
    expect(others.map((one) => one.on()).sort()).toEqual(['back', 'fresh'])
    first.free()
    await turn()
    expect(second.on()).toBe('good')
    for (const one of [first, second, ...others]) one.free()
    await Promise.all([first, second, ...others].map((one) => one.done))
  })

  it('uses any pod if there is no such pod', async () => {
    const { picker } = given(back)
    const only = holdRetry(picker)
    await turn()
    expect(only.on()).toBe('back')
    only.free()
    await only.done
  })
})
