import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createProbeQueue } from './probe-queue.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function given(atOnceMax = 2) {
  const probed: string[] = []
  const ends = new Map<string, () => void>()
  const unwanted = new Set<string>()
  const queue = createProbeQueue<string>({
    atOnceMax,
    isWanted: (target) => !unwanted.has(target),
    probe: (target) => {
      probed.push(target)
      return new Promise((resolve) => ends.set(target, resolve))
    },
  })
  queue.start()
  const end = async (target: string): Promise<void> => {
    ends.get(target)?.()
    await vi.advanceTimersByTimeAsync(0)
  }
  return { queue, probed, end, unwanted }
}

describe('createProbeQueue', () => {
  it('probes when due, with limited concurrency', async () => {
    const { queue, probed, end } = given(2)
    for (const target of ['a', 'b', 'c']) queue.plan(target, 100)
    await vi.advanceTimersByTimeAsync(99)
    expect(probed).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(probed).toEqual(['a', 'b'])
    await end('a')
    expect(probed).toEqual(['a', 'b', 'c'])
  })

  it('uses the last plan, even for a probe that waits its turn', async () => {
    const { queue, probed, end } = given(1)
    queue.plan('a', 100)
    queue.plan('b', 100)
    queue.plan('a', 50)
    await vi.advanceTimersByTimeAsync(100)
    expect(probed).toEqual(['a'])
    queue.plan('b', 1_000)
    await end('a')
    expect(probed).toEqual(['a'])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(probed).toEqual(['a', 'b'])
  })

  it('never probes a target twice at a time, nor a cancelled or unwanted one', async () => {
    const { queue, probed, unwanted } = given(3)
    queue.plan('a', 0)
    await vi.advanceTimersByTimeAsync(0)
    for (const target of ['a', 'b', 'c']) queue.plan(target, 0)
    queue.cancel('b')
    unwanted.add('c')
    await vi.advanceTimersByTimeAsync(0)
    expect(probed).toEqual(['a'])
  })

  it('waits for running probes on stop, and starts none afterwards', async () => {
    const { queue, probed, end } = given(1)
    queue.plan('a', 0)
    queue.plan('b', 0)
    await vi.advanceTimersByTimeAsync(0)
    const stopped = vi.fn()
    void queue.stop().then(stopped)
    await vi.advanceTimersByTimeAsync(0)
    expect(stopped).not.toHaveBeenCalled()
    queue.plan('c', 0)
    await end('a')
    expect(stopped).toHaveBeenCalledOnce()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(probed).toEqual(['a'])
  })
})
