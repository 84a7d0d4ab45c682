import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { InferenceError } from '../triton/inference-error.ts'
import type { ModelShape } from '../triton/model-shape.ts'
import type { Readiness } from '../triton/probe.ts'
import { given, shape, spec } from './pod-list.fixtures.ts'

/** Advances the clock and runs due timers. */
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('createPodList', () => {
  it('uses a pod once its shape is known, and returns the same list until something changes', async () => {
    const { list, shapes, names, podNamed } = given(spec('a'))
    shapes.set('a:8001', undefined)
    await pass(0)
    expect(names()).toEqual([])
    shapes.set('a:8001', shape)
    await pass(250)
    expect(podNamed('a')).toMatchObject({ pool: 'standard', revision: 'a', shape, podSlots: 4 })
    expect(list.pods()).toBe(list.pods())
  })

  it('settles when each pod has been probed once, and does not wait for draining or removed pods', async () => {
    const slow = Promise.withResolvers<ModelShape>()
    const { list, shapes } = given(spec('a'), spec('b'), spec('c', { accepts: false }))
    shapes.set('b:8001', slow.promise)
    const settled = vi.fn()
    void list.settled().then(settled)
    await pass(100)
    expect(settled).not.toHaveBeenCalled()
    slow.resolve(shape)
    await pass(1)
    expect(settled).toHaveBeenCalledOnce()
    shapes.set('d:8001', new Promise(() => undefined))
    list.set([spec('d')])
    const again = list.settled()
    list.set([])
    await again
  })

  it('notifies once for several changes', async () => {
    const { list, names } = given(spec('a'), spec('b'), spec('c'))
    const notified = vi.fn()
    list.onChange(notified)
    await pass(1)
    expect(names()).toHaveLength(3)
    expect(notified.mock.calls.length).toBeLessThanOrEqual(2)
  })

  it.each(['timeout', 'unavailable'] as const)('ejects a pod after %s, and counts it', async (outcome) => {
    const { names, report, registry } = given(spec('a'), spec('b'))
    await pass(0)
    report('a', outcome)
    expect(names()).toEqual(['b'])
    const text = await registry.metrics()
    expect(text).toContain(`matte_pod_ejections_total{reason="${outcome}"} 1`)
    expect(text).toContain(`matte_stream_errors_total{kind="${outcome}"} 1`)
  })

  it('readmits it on probation with one slot, and fully after three good answers', async () => {
    const { names, report, podNamed } = given(spec('a'), spec('b'))
    await pass(0)
    report('a', 'timeout')
    await pass(999)
    expect(names()).toEqual(['b'])
    await pass(1)
    expect(podNamed('a')).toMatchObject({ podSlots: 1, shape: { inputSize: 320, slots: 1 }, onProbation: true })
    report('a', 'ok', 'ok')
    expect(podNamed('a').podSlots).toBe(1)
    report('a', 'ok')
    expect(podNamed('a')).toMatchObject({ podSlots: 4, onProbation: false })
  })

  it('waits longer after each failed probation', async () => {
    const { names, report } = given(spec('a'), spec('b'))
    await pass(0)
    for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
      report('a', 'unavailable')
      await pass(seconds * 1_000 - 1)
      expect(names()).toEqual(['b'])
      await pass(1)
      expect(names()).toEqual(['a', 'b'])
    }
  })

  it('keeps a failing pod that is the pool’s last, and ejects it when another succeeds', async () => {
    const { names, report } = given(spec('a'), spec('b'))
    await pass(0)
    report('b', 'unavailable')
    report('a', 'failed', 'failed', 'failed', 'failed', 'failed')
    expect(names()).toEqual(['a'])
    await pass(1_000)
    report('b', 'ok')
    report('a', 'failed')
    expect(names()).toEqual(['b'])
  })

  it('ignores successes of other pods before its failures began', async () => {
    const { names, report } = given(spec('a'), spec('b'))
    await pass(0)
    report('b', 'ok')
    await pass(1)
    report('a', 'failed', 'failed', 'failed', 'failed')
    expect(names()).toEqual(['a', 'b'])
  })

  it('does not compare failures of one pool with successes of another', async () => {
    const other = [{ pool: 'other', tritonModel: 'isnet', modelVersions: ['v9'] }]
    const { names, report } = given(spec('a'), spec('b', { models: other }))
    await pass(0)
    report('a', 'failed')
    report('b', 'ok')
    report('a', 'failed', 'failed', 'failed')
    expect(names()).toEqual(['a', 'b'])
  })

  it('ignores an answer from before an ejection', async () => {
    const { list, names, podNamed, report } = given(spec('a'))
    await pass(0)
    const before = podNamed('a')
    report('a', 'unavailable')
    await pass(1_000)
    list.report(before, 'unavailable')
    expect(names()).toEqual(['a'])
  })

  it('ignores a probe from before an ejection', async () => {
    const { list, shapes, names, podNamed } = given(spec('a'))
    await pass(0)
    const pod = podNamed('a')
    const { promise, resolve } = Promise.withResolvers<Readiness>()
    vi.spyOn(pod.client, 'isReady').mockReturnValueOnce(promise)
    await pass(10_000)
    shapes.set('a:8001', undefined)
    list.report(pod, 'timeout')
    resolve('ready')
    await pass(10)
    expect(names()).toEqual([])
  })

  it('ejects a pod that a probe finds unready', async () => {
    const { shapes, names } = given(spec('a'))
    await pass(0)
    shapes.set('a:8001', undefined)
    await pass(10_000)
    expect(names()).toEqual([])
    shapes.set('a:8001', shape)
    await pass(1_000)
    expect(names()).toEqual(['a'])
  })

  it('keeps a pod that misses a probe as long as it returns masks', async () => {
    const { names, report, podNamed } = given(spec('a'))
    await pass(0)
    vi.spyOn(podNamed('a').client, 'isReady').mockResolvedValue('silent')
    await pass(9_999)
    report('a', 'ok')
    await pass(9_000)
    expect(names()).toEqual(['a'])
    await pass(2_000)
    expect(names()).toEqual([])
  })

  it('never uses a pod with wrong shapes, reports the error, and clears it when fixed', async () => {
    const { list, shapes, names } = given(spec('a'), spec('b'))
    shapes.set('a:8001', new InferenceError('failed', 'model u2netp must take image'))
    await pass(60_000)
    expect(names()).toEqual(['b'])
    const message = 'model u2netp must take image'
    expect([...list.errors()]).toEqual([['a:8001', { reason: 'ModelShapeWrong', message }]])
    shapes.set('a:8001', shape)
    await pass(30_000)
    expect(names()).toEqual(['a', 'b'])
    expect(list.errors().size).toBe(0)
  })

  it('probes a healthy pod every ten seconds, and a missing one with backoff', async () => {
    const { shapes, asked } = given(spec('a'))
    await pass(0)
    asked()
    await pass(60_000)
    expect(asked()).toBe(6)
    shapes.set('a:8001', undefined)
    await pass(60_000)
    asked()
    await pass(120_000)
    expect(asked()).toBe(4)
  })

  it('limits concurrent probes', async () => {
    const specs = Array.from({ length: 100 }, (_none, index) => spec(`p${index}`))
    const { promise: released, resolve } = Promise.withResolvers<ModelShape>()
    const { shapes, asked, names } = given(...specs)
    for (const { address } of specs) shapes.set(address, released)
    await pass(0)
    expect(asked()).toBe(32)
    resolve(shape)
    await pass(1)
    expect(asked()).toBe(68)
    expect(names()).toHaveLength(100)
  })

  it('sends no new request to a draining pod, and closes it when it is removed', async () => {
    const { list, names, calls } = given(spec('a'), spec('b'))
    await pass(0)
    calls.splice(0)
    list.set([spec('a', { accepts: false }), spec('b')])
    expect(names()).toEqual(['b'])
    expect(calls).toEqual(['a:8001 ends idle streams'])
    await pass(60_000)
    expect(calls.filter((call) => call.startsWith('a:8001'))).toEqual(['a:8001 ends idle streams'])
    list.set([spec('b')])
    expect(calls.at(-1)).toBe('a:8001 retired')
  })

  it('does not count the end of a draining or removed pod as an ejection', async () => {
    const { list, podNamed, registry, calls } = given(spec('a'), spec('b'))
    await pass(0)
    const [a, b] = [podNamed('a'), podNamed('b')]
    list.set([spec('a', { accepts: false })])
    list.report(a, 'unavailable')
    list.report(b, 'unavailable')
    const text = await registry.metrics()
    expect(text).toContain('matte_pod_ejections_total{reason="unavailable"} 0')
    expect(text).toContain('matte_stream_errors_total{kind="unavailable"} 2')
    calls.splice(0)
    await pass(60_000)
    expect(calls).toEqual([])
  })

  it('probes a pod that accepts again before using it', async () => {
    const { list, shapes, names } = given(spec('a'))
    await pass(0)
    list.set([spec('a', { accepts: false })])
    shapes.set('a:8001', undefined)
    list.set([spec('a')])
    expect(names()).toEqual([])
    await pass(100)
    expect(names()).toEqual([])
    shapes.set('a:8001', shape)
    await pass(1_000)
    expect(names()).toEqual(['a'])
  })

  it('handles an address that moves to another pod', async () => {
    const { list, podNamed, calls } = given(spec('a', { address: '10.0.0.1:8001' }))
    await pass(0)
    const old = spec('a', { address: '10.0.0.1:8001', accepts: false })
    list.set([old, spec('b', { address: '10.0.0.1:8001' })])
    await pass(0)
    expect(podNamed('b').client).toBeDefined()
    expect(calls.filter((call) => call.includes('dialled'))).toHaveLength(2)
    list.set([spec('b', { address: '10.0.0.1:8001' })])
    expect(podNamed('b').name).toBe('b')
  })

  it('changes weight and role without probing again', async () => {
    const { list, podNamed, asked } = given(spec('a'))
    await pass(0)
    asked()
    list.set([spec('a', { weight: 5, role: 'canary' })])
    expect(podNamed('a')).toMatchObject({ weight: 5, role: 'canary' })
    expect(asked()).toBe(0)
  })

  it('counts an answer in flight while the weight changes', async () => {
    const { list, names, podNamed } = given(spec('a'), spec('b'))
    await pass(0)
    const before = podNamed('a')
    list.set([spec('a', { weight: 95 }), spec('b', { weight: 95 })])
    list.report(before, 'unavailable')
    expect(names()).toEqual(['b'])
  })

  it('caps the slots of a pod, and lists it once per ready model', async () => {
    const models = ['u2netp', 'isnet'].map((tritonModel) => ({
      pool: 'standard',
      tritonModel,
      modelVersions: [tritonModel],
    }))
    const { list, calls } = given(spec('a', { models, slotsMax: 3 }))
    await pass(0)
    expect(list.pods().map(({ tritonModel, shape: { slots }, podSlots }) => [tritonModel, slots, podSlots])).toEqual([
      ['u2netp', 3, 3],
      ['isnet', 3, 3],
    ])
    expect(calls.filter((call) => call.includes('dialled'))).toHaveLength(1)
    list.set([spec('a', { models: models.slice(0, 1) })])
    expect(list.pods().map(({ tritonModel, podSlots }) => [tritonModel, podSlots])).toEqual([['u2netp', 4]])
  })

  it('allows queued requests beyond a pod’s slots', async () => {
    const { list } = given(spec('a', { queued: 1 }))
    await pass(0)
    expect(list.pods().map(({ podSlots, shape: { slots } }) => [podSlots, slots])).toEqual([[5, 5]])
  })

  it('stops probing and closes connections on stop', async () => {
    const { list, calls, asked } = given(spec('a'))
    await pass(0)
    await list.stop()
    expect(calls.at(-1)).toBe('a:8001 closed')
    asked()
    await pass(60_000)
    expect(asked()).toBe(0)
  })
})
