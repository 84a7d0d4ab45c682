// The queue of records: an outage of the database delays decisions and costs samples, and never a reconcile pass.
import type { PoolRecord } from '@matte/core/pool/record-pool'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { describe, expect, it, vi } from 'vitest'
import type { Observed } from '../reconcile/gather.ts'
import { gather } from '../reconcile/gather.ts'
import { poolOf, settled, worldOf } from '../reconcile/plan.fixtures.ts'
import { type PoolPlan, planPool } from '../reconcile/plan.ts'
import { newMemory } from '../reconcile/pool-memory.ts'
import { poolRecords } from './pool-records.ts'
import { createRecordMetrics } from './record-metrics.ts'

const term = { count: 4, lease: 'lease-uid' }
const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

async function given() {
  const registry = new Registry()
  const state = { nowMs: 0, failure: undefined as Error | undefined, isLater: false }
  const written: PoolRecord[] = []
  const ages: number[] = []
  const records = poolRecords({
    write: async (record, ageSeconds) => {
      if (state.failure) throw state.failure
      if (state.isLater) return false
      written.push(record)
      ages.push(ageSeconds)
      return true
    },
    forget: async () => undefined,
    metrics: createRecordMetrics(registry),
    logger: pino({ level: 'silent' }),
    clock: { monotonicMs: () => state.nowMs, nowMs: () => 0 },
  })
  const seen = await settled({ scaling: { minReplicas: 1, maxReplicas: 3 } }, ['a'])
  const memory = newMemory(seen.pool)
  const observed = (await gather(worldOf(seen), 'p', memory)) as Observed
  const plan = planPool(observed, { memory, term })
  const sample = (): void => {
    state.nowMs += 15_000
    records.observe(observed, plan, term)
  }
  const decide = (replicas: number): void => {
    const decided: PoolPlan = { ...plan, from: 0, decision: { ...plan.decision, replicas } }
    records.decided(observed, decided, term)
  }
  const observe = async ({ ready, afterMs }: { readonly ready: string[]; readonly afterMs: number }): Promise<void> => {
    state.nowMs += afterMs
    const seen = await settled({ scaling: { minReplicas: 1, maxReplicas: 3 } }, ready)
    const observed = (await gather(worldOf(seen), 'p', memory)) as Observed
    records.observe(observed, planPool(observed, { memory, term }), term)
  }
  const counts = async () => {
    const values = (await registry.getSingleMetric('matte_pool_records_total')?.get())?.values ?? []
    return Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]))
  }
  const settledQueue = () => records.stop()
  return { records, state, written, ages, sample, observe, decide, counts, settledQueue, pool: poolOf() }
}

describe('records about pools', () => {
  it('are written in their order', async () => {
    const { sample, decide, written, counts, settledQueue } = await given()
    sample()
    decide(2)
    decide(3)
    await settledQueue()
    expect(written.map(({ report }) => report.wanted)).toEqual([1, 2, 3])
    expect(await counts()).toMatchObject({ written: 3, dropped: 0, failed: 0 })
  })

  it('have a sample as soon as a pod becomes ready, at most one a second', async () => {
    const { observe, written, settledQueue } = await given()
    await observe({ ready: ['a'], afterMs: 0 })
    await observe({ ready: ['a'], afterMs: 2_000 })
    await observe({ ready: ['a', 'b'], afterMs: 2_000 })
    await observe({ ready: ['a', 'b', 'c'], afterMs: 500 })
    await observe({ ready: ['a', 'b', 'c'], afterMs: 500 })
    await settledQueue()
    expect(written.map(({ report }) => report.ready)).toEqual([1, 2, 3])
  })

  it('keep decisions and drop samples while the database is away', async () => {
    vi.useFakeTimers()
    const { sample, decide, written, ages, counts, state } = await given()
    state.failure = away
    decide(2)
    await vi.advanceTimersByTimeAsync(0)
    for (let samples = 0; samples < 3; samples++) sample()
    decide(3)
    expect(written).toEqual([])
    state.failure = undefined
    await vi.advanceTimersByTimeAsync(60_000)
    vi.useRealTimers()
    expect(written.map(({ report }) => report.wanted)).toEqual([2, 3])
    expect(ages).toEqual([45, 0]) // written with the time of the decision
    expect(await counts()).toMatchObject({ written: 2, dropped: 3 })
  })

  it('are bounded', async () => {
    const { decide, counts, settledQueue, state } = await given()
    state.failure = away
    for (let decisions = 1; decisions <= 600; decisions++) decide(decisions)
    await settledQueue()
    expect(await counts()).toMatchObject({ written: 0, dropped: 100 })
  }, 10_000)

  it('skip one that the database refuses', async () => {
    const { decide, written, counts, state, records, settledQueue } = await given()
    state.failure = new Error('violates check constraint')
    decide(2)
    await vi.waitFor(async () => expect(await counts()).toMatchObject({ failed: 1 }))
    state.failure = undefined
    decide(3)
    await settledQueue()
    expect(written.map(({ report }) => report.wanted)).toEqual([3])
    decide(4)
    expect(await counts()).toMatchObject({ written: 1, dropped: 1 })
    expect(records.name).toBe('pool-records')
  })

  it('of a former leader are counted as fenced', async () => {
    const { decide, counts, state, settledQueue } = await given()
    state.isLater = true
    decide(2)
    await settledQueue()
    expect(await counts()).toMatchObject({ written: 0, fenced: 1 })
  })
})
