import { setImmediate as turn } from 'node:timers/promises'
import type { ClaimedTask } from '@matte/core/task/run/claim-task'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { recordAttempt } from './attempt-record.ts'
import { inferMasks } from './infer-masks.ts'
import { pod as anyPod, given as givenPicker } from './routing/pod-picker.fixtures.ts'
import type { Pod } from './routing/pod-source.ts'
import { createTaskMetrics } from './task-metrics.ts'
import type { InferInput } from './triton/infer-stream.ts'
import { InferenceError } from './triton/inference-error.ts'

const size = 4
const never = new AbortController().signal
const task = (changes: Partial<ClaimedTask> = {}) =>
  ({ id: 'task', run: 1, claim: 'c', attempt: 1, modelVersion: 'service-v2', ...changes }) as ClaimedTask
/** Only red: pixel 5 in the left half, pixel 11 in the right. */
const image = new Uint8Array(size * size * 3)
image[5 * 3] = 250
image[11 * 3] = 90

const highestOf = (values: Uint8Array = new Uint8Array()): number => values.indexOf(Math.max(...values))

/** A model that sees only the left half. */
const leftHalf = ({ image }: InferInput): Buffer =>
  Buffer.from(Array.from({ length: size * size }, (_none, at) => (at % size < size / 2 ? (image[at * 3] ?? 0) : 0)))

type Asked = InferInput & { readonly address: string; readonly end: (how?: InferenceError) => void }

/** Pods whose requests the test ends, or that answer at once. */
function given(pods: readonly [address: string, slots: number, changes?: Partial<Pod>][], atOnce = false) {
  const open: Asked[] = []
  const all: Asked[] = []
  const client = (address: string) => ({
    infer: (input: InferInput): Promise<Buffer> =>
      new Promise((resolve, reject) => {
        const end = (how?: InferenceError): void => {
          if (!open.includes(asked)) return
          open.splice(open.indexOf(asked), 1)
          if (how) reject(how)
          else resolve(leftHalf(input))
        }
        const asked = { ...input, address, end }
        open.push(asked)
        all.push(asked)
        input.signal.addEventListener('abort', () => end(new InferenceError('unavailable', 'stopped')))
        if (atOnce) setImmediate(end)
      }),
  })
  const { picker, set, reports } = givenPicker(
    ...pods.map(([address, slots, changes]) =>
      anyPod(address, slots, {
        shape: { inputSize: size, slots, views: 2 },
        client: client(address) as unknown as Pod['client'],
        ...changes,
      }),
    ),
  )
  const recorded: [string, number][] = []
  const registry = new Registry()
  const metrics = createTaskMetrics(registry, {})
  const inferences = {
    record: (pod: Pod, how: string, seconds: number) => recorded.push([`${pod.revision} ${how}`, seconds]),
  }
  const deps = { picker, attempt: recordAttempt(metrics), inferences: inferences as never, inferenceTimeoutMs: 1_000 }
  const ask = (signal = never, changes: Partial<ClaimedTask> = {}) => {
    const asked = inferMasks(deps, { task: task(changes), inputFor: async () => image }, signal)
    asked.catch(() => undefined)
    return asked
  }
  const stages = async (): Promise<number> => {
    const found = (await registry.getMetricsAsJSON()).find(({ name }) => name === 'matte_task_stage_seconds')
    const counts = found?.values as unknown as { metricName: string; labels: { stage?: string }; value: number }[]
    return (
      counts.find(({ metricName, labels }) => metricName.endsWith('_count') && labels.stage === 'infer')?.value ?? 0
    )
  }
  return { ask, open, all, picker, set, reports, recorded, stages }
}

describe('inferMasks', () => {
  it('requests both views of a lone task at once, from two pods, and returns both masks', async () => {
    const { ask, open, reports, recorded, stages } = given([
      ['a', 1],
      ['b', 1],
    ])
    const asked = ask()
    await turn()
    expect(open.map(({ address, id }) => [address, id])).toEqual([
      ['a', 'task/1/c/photo'],
      ['b', 'task/1/c/mirror'],
    ])
    // Pixel 5 is right of the middle in the mirror image.
    expect(highestOf(open[1]?.image.filter((_value, i) => i % 3 === 0))).toBe(6)
    for (const one of [...open]) one.end()
    const { masks, pod } = await asked
    expect(pod.address).toBe('a')
    expect([...masks.mask.entries()].filter(([, value]) => value > 0)).toEqual([[5, 250]])
    // The model sees the left half of the mirror image, which is the photo's right.
    expect(highestOf(masks.mirrored)).toBe(8)
    expect(reports).toEqual(['a ok', 'b ok'])
    expect(recorded).toEqual([['a ok', expect.any(Number)]])
    expect(await stages()).toBe(1)
  })

  it('requests only the photo if the model has one view', async () => {
    const { ask, all } = given([['a', 2, { shape: { inputSize: size, slots: 2, views: 1 } }]], true)
    const { masks } = await ask()
    expect(all).toHaveLength(1)
    expect(masks.mirrored).toBeUndefined()
    expect([...masks.mask.entries()].filter(([, value]) => value > 0)).toEqual([[5, 250]])
  })

  it('runs fifty tasks with one slot, each to its end before the next', async () => {
    const { ask, all } = given([['a', 1]], true)
    await Promise.all(Array.from({ length: 50 }, (_none, index) => ask(never, { id: `t${index}` })))
    expect(all.map(({ id }) => id)).toEqual(
      Array.from({ length: 50 }, (_none, index) => [`t${index}/1/c/photo`, `t${index}/1/c/mirror`]).flat(),
    )
  })

  it('does not deadlock if tasks hold every slot and all want a second one', async () => {
    const { ask, all, picker } = given(
      [
        ['a', 2],
        ['b', 2],
      ],
      true,
    )
    await Promise.all(Array.from({ length: 9 }, () => ask()))
    expect(all).toHaveLength(18)
    expect(picker.slotsUsed()).toBe(0)
  })

  it('sends the mirror image to the revision of the photo, even if another has a free slot', async () => {
    const canary = { role: 'canary', revision: 'new', weight: 100 } as const
    const { ask, open } = given([
      ['new', 1, canary],
      ['a', 3],
    ])
    const asked = ask()
    await turn()
    expect(open.map(({ address }) => address)).toEqual(['new'])
    open[0]?.end()
    await turn()
    expect(open.map(({ address, id }) => [address, id])).toEqual([['new', 'task/1/c/mirror']])
    open[0]?.end()
    await asked
  })

  it('counts a task once for the share of a canary', async () => {
    const shares = { weight: 50 }
    const { ask, all } = given(
      [
        ['a', 4, shares],
        ['new', 4, { ...shares, role: 'canary', revision: 'new' }],
      ],
      true,
    )
    for (let round = 0; round < 10; round++) await ask()
    expect(all.filter(({ address }) => address === 'new')).toHaveLength(10)
  })

  it.each(['failed', 'timeout', 'unavailable'] as const)(
    'ends both views if one ends as %s, and reports only its pod, once',
    async (kind) => {
      const { ask, open, reports, recorded, stages, picker } = given([
        ['a', 1],
        ['b', 1],
      ])
      const asked = ask()
      await turn()
      open[1]?.end(new InferenceError(kind, 'no'))
      await expect(asked).rejects.toMatchObject({ kind, message: 'no' })
      expect(open).toEqual([])
      expect(reports).toEqual([`b ${kind}`])
      expect(recorded).toEqual([[`a ${kind}`, 0]])
      expect([await stages(), picker.slotsUsed()]).toEqual([1, 0])
    },
  )

  it('removes the mirror image from the queue when the photo fails', async () => {
    const { ask, open, all, picker } = given([['a', 1]])
    const asked = ask()
    await turn()
    open[0]?.end(new InferenceError('failed', 'no'))
    await expect(asked).rejects.toMatchObject({ kind: 'failed' })
    await turn()
    expect([all.length, picker.slotsUsed()]).toEqual([1, 0])
  })

  it('stops waiting for a second pod when that of the photo stalls and is ejected', async () => {
    const { ask, open, picker, set } = given([
      ['a', 1],
      ['b', 1],
    ])
    const first = ask()
    await turn()
    const second = ask()
    await turn()
    open.find(({ address }) => address === 'a')?.end()
    await turn()
    expect(open.map(({ address, id }) => [address, id])).toEqual([
      ['b', 'task/1/c/mirror'],
      ['a', 'task/1/c/photo'],
    ])
    set([anyPod('b', 1)])
    open[1]?.end(new InferenceError('timeout', 'no answer'))
    await expect(second).rejects.toMatchObject({ kind: 'timeout' })
    open[0]?.end()
    await first
    expect(picker.slotsUsed()).toBe(0)
  })

  it('reports unavailable if the pods of its revision go before the mirror image has a slot', async () => {
    const { ask, open, set } = given([['a', 1]])
    const asked = ask()
    await turn()
    set([anyPod('other', 5, { revision: 'new' })])
    await expect(asked).rejects.toMatchObject({ kind: 'unavailable' })
    expect(open).toEqual([])
  })

  it('ends both views when cancelled, and reports nothing about the pods', async () => {
    const { ask, open, reports, recorded, picker } = given([
      ['a', 1],
      ['b', 1],
    ])
    const stop = new AbortController()
    const asked = ask(stop.signal)
    await turn()
    expect(open).toHaveLength(2)
    stop.abort()
    await expect(asked).rejects.toMatchObject({ kind: 'unavailable' })
    expect([open.length, reports, recorded, picker.slotsUsed()]).toEqual([0, [], [], 0])
  })

  it('releases both slots if the input cannot be made', async () => {
    const { picker } = given([['a', 2]])
    const deps = {
      picker,
      attempt: recordAttempt(createTaskMetrics(new Registry(), {})),
      inferences: {} as never,
      inferenceTimeoutMs: 1_000,
    }
    const inputFor = () => Promise.reject(new Error('no input'))
    await expect(inferMasks(deps, { task: task(), inputFor }, never)).rejects.toThrow('no input')
    expect(picker.slotsUsed()).toBe(0)
  })
})
