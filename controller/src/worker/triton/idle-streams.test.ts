import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createIdleStreams } from './idle-streams.ts'
import type { InferStream } from './infer-stream.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const stream = (isAlive = true): InferStream => ({
  isTraced: false,
  isAlive: () => isAlive,
  end: vi.fn(),
  ask: () => Promise.reject(new Error('not asked for')),
})

describe('createIdleStreams', () => {
  it('gives out the stream used last, once', () => {
    const idle = createIdleStreams(1_000)
    const [first, second] = [stream(), stream()]
    idle.add(first)
    idle.add(second)
    expect([idle.take(), idle.take(), idle.take()]).toEqual([second, first, undefined])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('drops a stream that died idle', () => {
    const idle = createIdleStreams(1_000)
    const alive = stream()
    idle.add(alive)
    idle.add(stream(false))
    expect(idle.take()).toBe(alive)
  })

  it('ends each stream when its time has passed, and keeps the younger', () => {
    const idle = createIdleStreams(1_000)
    const [old, young] = [stream(), stream()]
    idle.add(old)
    vi.advanceTimersByTime(500)
    idle.add(young)
    vi.advanceTimersByTime(500)
    expect(old.end).toHaveBeenCalledOnce()
    expect(young.end).not.toHaveBeenCalled()
    expect([idle.take(), idle.take()]).toEqual([young, undefined])
  })

  it('ends all at once', () => {
    const idle = createIdleStreams(1_000)
    const streams = [stream(), stream()]
    for (const each of streams) idle.add(each)
    idle.endAll()
    for (const each of streams) expect(each.end).toHaveBeenCalledOnce()
    expect(idle.take()).toBeUndefined()
    expect(vi.getTimerCount()).toBe(0)
  })
})
