import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { given, shape, spec } from './pod-list.fixtures.ts'

/** Advances the clock and runs due timers. */
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('a list of pods', () => {
  it('never uses a model whose licence is rejected, whether the pod or the source declares it', async () => {
    const { list, shapes, names } = given(spec('a'), spec('b'), spec('c'))
    shapes.set('a:8001', { ...shape, licence: 'CC-BY-NC-4.0' })
    shapes.set('b:8001', { ...shape, licence: 'MIT' })
    await pass(60_000)
    expect(names()).toEqual(['b', 'c'])
    const [[, error] = []] = [...list.errors()]
    expect(error).toEqual({ reason: 'LicenceRefused', message: expect.stringContaining('under CC-BY-NC-4.0') })
    const models = spec('b').models.map((model) => ({ ...model, licence: 'AGPL-3.0-only' }))
    list.set([spec('b', { models }), spec('c')])
    await pass(30_000)
    expect(names()).toEqual(['c'])
    list.set([spec('b'), spec('c')])
    await pass(30_000)
    expect(names()).toEqual(['b', 'c'])
    expect(list.errors().size).toBe(0)
  })
})
