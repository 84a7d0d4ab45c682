import { type Logger, pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { KubeError } from './http/kube-error.ts'
import { createKubeMetrics } from './kube-metrics.ts'
import { NotLeaderError } from './leadership.ts'
import { type WorkQueueOptions, workQueue } from './work-queue.ts'

const logger = pino({ level: 'silent' })

type Run = { readonly key: string; readonly signal: AbortSignal; end(result?: number | Error): Promise<void> }

/** A queue whose reconciles are ended by the test. Timers are fake; `tick` lets them pass. */
function given(options: Partial<WorkQueueOptions> = {}) {
  const runs: Run[] = []
  const metrics = createKubeMetrics(new Registry())
  const subject = workQueue({
    name: 'test',
    concurrency: 2,
    logger,
    metrics,
    reconcile: (key, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
      runs.push({
        key,
        signal,
        end: async (result) => {
          if (result instanceof Error) reject(result)
          else resolve(result)
          await tick()
        },
      })
      return promise
    },
    ...options,
  })
  const outcomes = async () =>
    Object.fromEntries(
      (await metrics.reconciles.get()).values
        .filter(({ value }) => value > 0)
        .map(({ labels, value }) => [labels.outcome, value]),
    )
  const keys = (): string[] => runs.map(({ key }) => key)
  const run = (n: number): Run => {
    const found = runs[n]
    if (found === undefined) throw new Error(`there is no run ${n}`)
    return found
  }
  return { subject, runs, run, keys, outcomes }
}
const tick = (ms = 0) => vi.advanceTimersByTimeAsync(ms)

describe('a work queue', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    vi.spyOn(Math, 'random').mockReturnValue(1)
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  it('remembers keys added before its start, once each, in order of arrival', async () => {
    const { subject, keys } = given()
    for (const key of ['a', 'b', 'a']) subject.add(key)
    await tick()
    expect(keys()).toEqual([])
    await subject.start()
    expect(keys()).toEqual(['a', 'b'])
  })

  it('does not begin within add, because the caller may be in the middle of a change', async () => {
    const { subject, keys } = given()
    await subject.start()
    subject.add('a')
    expect(keys()).toEqual([])
    await tick()
    expect(keys()).toEqual(['a'])
  })

  it('limits concurrent passes', async () => {
    const { subject, run, keys } = given()
    await subject.start()
    for (const key of ['a', 'b', 'c', 'd']) subject.add(key)
    await tick()
    expect(keys()).toEqual(['a', 'b'])
    await run(1).end()
    expect(keys()).toEqual(['a', 'b', 'c'])
  })

  it('runs one pass per key at a time, and one more if added meanwhile', async () => {
    const { subject, run, keys } = given()
    await subject.start()
    subject.add('a')
    await tick()
    for (let n = 0; n < 5; n += 1) subject.add('a')
    await tick(10_000)
    expect(keys()).toEqual(['a'])
    await run(0).end()
    expect(keys()).toEqual(['a', 'a'])
    await run(1).end()
    await tick(10_000)
    expect(keys()).toEqual(['a', 'a'])
  })

  it('requeues after the time that the pass returns', async () => {
    const { subject, run, keys } = given()
    await subject.start()
    subject.add('a')
    await tick()
    await run(0).end(500)
    await tick(499)
    expect(keys()).toHaveLength(1)
    await tick(1)
    expect(keys()).toHaveLength(2)
  })

  it('keeps the earliest of several times, and a later one across an earlier pass', async () => {
    const { subject, run, keys } = given()
    await subject.start()
    subject.addAfter('a', 5_000)
    subject.addAfter('a', 1_000)
    subject.addAfter('a', 3_000)
    await tick(1_000)
    expect(keys()).toHaveLength(1)
    await run(0).end()
    subject.addAfter('b', 1_000)
    subject.add('b')
    await tick()
    await run(1).end()
    await tick(1_000)
    expect(keys()).toEqual(['a', 'b', 'b'])
  })

  it('rejects an invalid time; from a pass it counts as a failure', async () => {
    const { subject, run, outcomes } = given()
    expect(() => subject.addAfter('a', -1)).toThrow(RangeError)
    expect(() => subject.addAfter('a', Number.NaN)).toThrow(RangeError)
    await subject.start()
    subject.add('a')
    await tick()
    await run(0).end(Number.NaN)
    expect(await outcomes()).toEqual({ failed: 1 })
  })

  it('backs off longer after each failure up to a limit, and resets after a success', async () => {
    const { subject, run, keys } = given()
    await subject.start()
    subject.add('a')
    await tick()
    for (const [n, backoffMs] of [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000].entries()) {
      await run(n).end(new Error('no'))
      await tick(backoffMs - 1)
      expect(keys()).toHaveLength(n + 1)
      await tick(1)
      expect(keys()).toHaveLength(n + 2)
    }
    await run(11).end()
    subject.add('a')
    await tick()
    await run(12).end(new Error('no'))
    await tick(100)
    expect(keys()).toHaveLength(14)
  })

  it('does not shorten a backoff, and runs once at its end', async () => {
    const { subject, run, keys } = given()
    await subject.start()
    subject.add('a')
    await tick()
    subject.add('a')
    await run(0).end(new Error('no'))
    subject.add('a')
    subject.addAfter('a', 10)
    await tick(99)
    expect(keys()).toHaveLength(1)
    await tick(1)
    expect(keys()).toHaveLength(2)
    await run(1).end()
    await tick(10_000)
    expect(keys()).toHaveLength(2)
  })

  it('backs off for the API server’s Retry-After', async () => {
    const { subject, run, keys } = given()
    await subject.start()
    subject.add('a')
    await tick()
    await run(0).end(new KubeError(429, 'TooManyRequests', 'busy', { retryAfterMs: 5_000 }))
    await tick(4_999)
    expect(keys()).toHaveLength(1)
    await tick(1)
    expect(keys()).toHaveLength(2)
  })

  it('randomizes the backoff of keys that failed together', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const { subject, run, keys } = given()
    await subject.start()
    subject.add('a')
    await tick()
    await run(0).end(new Error('no'))
    await tick(50)
    expect(keys()).toHaveLength(2)
  })

  it('aborts a pass that takes too long, and begins no other before it has ended', async () => {
    const { subject, run, keys, outcomes } = given()
    await subject.start()
    subject.add('a')
    await tick(99_999)
    expect(run(0).signal.aborted).toBe(false)
    await tick(1)
    expect(run(0).signal.aborted).toBe(true)
    subject.add('a')
    await tick(60_000)
    expect(keys()).toHaveLength(1)
    await run(0).end(new Error('given up'))
    await tick(100)
    expect(keys()).toHaveLength(2)
    expect(await outcomes()).toEqual({ timeout: 1 })
  })

  it('counts a pass that ends after its time limit as timed out', async () => {
    const { subject, run, outcomes } = given()
    await subject.start()
    subject.add('a')
    await tick(100_000)
    await run(0).end(1_000)
    expect(await outcomes()).toEqual({ timeout: 1 })
  })

  it('backs off at most a second after a conflict, despite earlier failures', async () => {
    const { subject, run, keys } = given()
    await subject.start()
    subject.add('a')
    await tick()
    const [no, conflict] = [new Error('no'), new KubeError(409, 'Conflict', 'modified')]
    const pauses = [100, 200, 400, 800, 1_600, 100, 200, 400, 800, 1_000, 1_000, 3_200]
    for (const [n, pauseMs] of pauses.entries()) {
      await run(n).end(n > 4 && n < 11 ? conflict : no)
      await tick(pauseMs - 1)
      expect(keys()).toHaveLength(n + 1)
      await tick(1)
      expect(keys()).toHaveLength(n + 2)
    }
  })

  it('counts each outcome', async () => {
    const { subject, run, outcomes } = given({ concurrency: 9 })
    await subject.start()
    for (const key of ['a', 'b', 'c', 'd', 'e']) subject.add(key)
    await tick()
    await run(0).end()
    await run(1).end(1)
    await run(2).end(new Error('no'))
    await run(3).end(new KubeError(409, 'Conflict', 'modified'))
    await run(4).end(new NotLeaderError('no more'))
    expect(await outcomes()).toEqual({ done: 1, requeued: 1, failed: 1, conflict: 1, not_leader: 1 })
  })

  it('retries after a second, without a warning or backoff, when the leadership ends', async () => {
    const logger = { child: () => logger, debug: vi.fn(), warn: vi.fn(), error: vi.fn() }
    const { subject, run, keys } = given({ logger: logger as unknown as Logger })
    await subject.start()
    subject.add('a')
    await tick()
    await run(0).end(new Error('the API server is away'))
    await tick(100)
    await run(1).end(new NotLeaderError('no more'))
    expect(logger.warn).toHaveBeenCalledTimes(1)
    await tick(999)
    expect(keys()).toHaveLength(2)
    await tick(1)
    expect(keys()).toHaveLength(3)
    await run(2).end(new Error('the API server is away'))
    await tick(100)
    expect(keys()).toHaveLength(4)
  })

  it('aborts running passes on stop, waits for them, and begins no more', async () => {
    const { subject, run, keys } = given({ concurrency: 1 })
    await subject.start()
    for (const key of ['a', 'b']) subject.add(key)
    subject.addAfter('c', 10)
    await tick()
    let stopped = false
    const stopping = Promise.resolve(subject.stop()).then(() => {
      stopped = true
    })
    await tick(1_000)
    expect(run(0).signal.aborted).toBe(true)
    expect(stopped).toBe(false)
    await run(0).end(new Error('given up'))
    await stopping
    subject.add('d')
    await tick(100_000)
    expect(keys()).toEqual(['a'])
  })
})
