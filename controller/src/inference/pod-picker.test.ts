import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { InferenceError } from './inference-error.ts'
import { createPodPicker } from './pod-picker.ts'
import type { Pod, PodSource } from './pod-source.ts'

const pod = (address: string, slots: number, modelVersions = ['service-v2']): Pod => ({
  address,
  tritonModel: 'u2netp',
  modelVersions,
  client: {} as Pod['client'],
  shape: { inputSize: 320, slots },
})

function given(...pods: Pod[]) {
  const listeners: (() => void)[] = []
  let ready = pods
  const set = (next: Pod[]): void => {
    ready = next
    for (const listener of listeners) listener()
  }
  const source = {
    pods: () => ready,
    eject: (gone: Pod) => set(ready.filter((other) => other !== gone)),
    onChange: (listener: () => void) => listeners.push(listener),
  } as unknown as PodSource
  return { picker: createPodPicker(source), set, ready: () => ready.map(({ address }) => address) }
}

const never = new AbortController().signal

/** Takes a slot and holds it until `free` is called. */
function hold(picker: ReturnType<typeof createPodPicker>, signal = never) {
  const { promise, resolve } = Promise.withResolvers<void>()
  let on: string | undefined
  const done = picker.withSlot('service-v2', signal, async ({ address }) => {
    on = address
    await promise
    return address
  })
  done.catch(() => undefined)
  return { done, free: resolve, on: () => on }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

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

  it('lets those who find no slot wait, first come first served', async () => {
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

  it('sends the waiting away when the last pod for their model goes', async () => {
    const { picker, set } = given(pod('only', 1), pod('other', 1, ['v9']))
    const first = hold(picker)
    const second = hold(picker)
    await turn()
    set([pod('other', 1, ['v9'])])
    await expect(second.done).rejects.toMatchObject({ kind: 'unavailable' })
    first.free()
    await first.done
  })

  it('gives a slot of a new pod to one who waits', async () => {
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

  it('refuses at once when no pod serves the model', async () => {
    const { picker } = given(pod('other', 1, ['v9']))
    await expect(hold(picker).done).rejects.toMatchObject({ kind: 'unavailable' })
    expect(() => picker.inputSize('service-v2')).toThrow(InferenceError)
  })

  it('ends the wait when the signal fires, and leaves no place behind', async () => {
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

  it('listens no longer to the signal of a task that has its slot', async () => {
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

  it('takes a pod out that was unavailable, and none that merely failed', async () => {
    const { picker, ready } = given(pod('a', 1))
    const failing = (kind: InferenceError['kind']) =>
      picker.withSlot('service-v2', never, () => Promise.reject(new InferenceError(kind, 'no')))
    await expect(failing('failed')).rejects.toMatchObject({ kind: 'failed' })
    expect(ready()).toEqual(['a'])
    await expect(failing('unavailable')).rejects.toMatchObject({ kind: 'unavailable' })
    expect(ready()).toEqual([])
  })
})
