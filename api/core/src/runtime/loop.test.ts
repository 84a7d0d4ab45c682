import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { loop, repeat } from './loop.ts'
import { deferred } from './service.ts'

const logger = pino({ level: 'silent' })
const hour = 3_600_000

/** A loop whose passes are counted and can be waited for. */
function given(pass: (n: number, signal: AbortSignal) => Promise<void> = async () => undefined) {
  let count = 0
  let waiting: { n: number; resolve: () => void }[] = []
  const subject = loop({
    name: 'test',
    everyMs: hour,
    logger,
    run: async (signal) => {
      count += 1
      waiting = waiting.filter(({ n, resolve }) => (n <= count ? void resolve() : true))
      await pass(count, signal)
      return {}
    },
  })
  const reached = (n: number): Promise<void> => {
    const { promise, resolve } = deferred<void>()
    if (count >= n) resolve()
    else waiting.push({ n, resolve })
    return promise
  }
  return { subject, reached, count: () => count }
}

describe('loop', () => {
  it('runs at once when started, and once more for each wake', async () => {
    const { subject, reached } = given()
    await subject.start()
    await reached(1)
    subject.wake()
    await reached(2)
    await subject.stop()
  })

  it('never overlaps, and runs again after a wake during a pass', async () => {
    const gate = deferred<void>()
    let inside = 0
    let most = 0
    const { subject, reached } = given(async (n) => {
      inside += 1
      most = Math.max(most, inside)
      if (n === 1) await gate.promise
      inside -= 1
    })
    await subject.start()
    await reached(1)
    subject.wake()
    subject.wake()
    gate.resolve()
    await reached(2)
    await subject.stop()
    expect(most).toBe(1)
  })

  it('continues after a pass that throws', async () => {
    const { subject, reached } = given(async (n) => {
      if (n === 1) throw new Error('no')
    })
    await subject.start()
    await reached(1)
    subject.wake()
    await reached(2)
    await subject.stop()
  })

  it('aborts the running pass on stop and waits for it', async () => {
    const ended: string[] = []
    const { subject, reached } = given(async (_n, signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      ended.push('pass')
    })
    await subject.start()
    await reached(1)
    await subject.stop()
    expect(ended).toEqual(['pass'])
  })

  it('can be stopped without a start, twice, and does not start again', async () => {
    const { subject, count } = given()
    await subject.stop()
    await subject.stop()
    expect(count()).toBe(0)
  })
})

describe('repeat', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })
  const times: number[] = []
  const given = (pauses: number[], firstAfterMs?: number) => {
    const begun = performance.now()
    times.length = 0
    const pass = async () => {
      times.push(performance.now() - begun)
      return pauses[times.length - 1] ?? hour
    }
    return repeat({ name: 'test', pass, ...(firstAfterMs !== undefined && { firstAfterMs }) })
  }

  it('starts with the service, and pauses for the time that each pass returns', async () => {
    const subject = given([100, 5])
    void subject.start()
    expect(times).toEqual([0])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(times).toEqual([0, 100, 105])
    await subject.stop()
  })

  it('waits for firstAfterMs before the first pass, unless woken', async () => {
    const subject = given([100], 50)
    void subject.start()
    await vi.advanceTimersByTimeAsync(20)
    subject.wake()
    await vi.advanceTimersByTimeAsync(100)
    expect(times).toEqual([20, 120])
    await subject.stop()
  })

  it('runs no pass if stopped before the first', async () => {
    const subject = given([100], 50)
    void subject.start()
    await subject.stop()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(times).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })
})
