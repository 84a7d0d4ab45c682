// A new leader while the database does not answer.
import { describe, expect, it } from 'vitest'
import type { PoolSpecInput } from '../pool/triton-pool.ts'
import { gather, type World } from './gather.ts'
import { now, poolOf, settled, worldOf } from './plan.fixtures.ts'
import { planPool } from './plan.ts'
import { newMemory } from './pool-memory.ts'

const term = { count: 4, lease: 'lease-uid' }
const scaling = { minReplicas: 0, maxReplicas: 9 }

/** A new leader of a pool with these pods. `readAtMs`: begin of its last reading of the demand, if any. */
async function newLeader(spec: Partial<PoolSpecInput>, podNames: readonly string[], readAtMs?: number) {
  const { pool: bare, ...parts } = await settled(spec, podNames)
  // The pool was idle before the outage, and its window has passed.
  const pool = { ...poolOf(spec), status: { ...bare.status, desiredReplicas: podNames.length } }
  const memory = newMemory(pool)
  const usual = worldOf({ ...parts, pool })
  const { reading } = await usual.demand.latest('p')
  const last = reading && readAtMs !== undefined ? { ...reading, atMs: readAtMs } : undefined
  return async (monotonicMs: number) => {
    const world = {
      ...usual,
      demand: { ...usual.demand, latest: async () => ({ reading: last, failure: 'connect ECONNREFUSED' }) },
      clock: { ...usual.clock, monotonicMs: () => monotonicMs, nowMs: () => now + monotonicMs },
    } satisfies World
    const observed = await gather(world, 'p', memory)
    if (observed === undefined) throw new Error('the pool is gone')
    const { decision, status } = planPool(observed, { memory, term })
    const degraded = status.conditions.find(({ type }) => type === 'Degraded')
    return { replicas: decision.replicas, rule: decision.rule, degraded: degraded?.reason }
  }
}

const hourMs = 3_600_000
const fallback = { afterSeconds: 30, replicas: 2 }
const calm = { rule: 'stabilization', degraded: 'NothingWrong' }
const stale = { rule: 'fallback', degraded: 'DemandStale' }

describe('a leader that begins during an outage of the database', () => {
  it('leaves a pool at zero, before and after the wait', async () => {
    const pass = await newLeader({ scaling }, [])
    expect(await pass(hourMs)).toEqual({ replicas: 0, ...calm })
    expect(await pass(hourMs + 30_000)).toEqual({ replicas: 0, ...calm })
    expect(await pass(hourMs + 30_001)).toEqual({ replicas: 0, ...stale })
  })

  it('starts the fallback’s pods after the wait', async () => {
    const pass = await newLeader({ scaling: { ...scaling, fallback } }, [])
    expect(await pass(hourMs)).toEqual({ replicas: 0, ...calm })
    expect(await pass(hourMs + 30_001)).toEqual({ replicas: 2, ...stale })
  })

  it('keeps running pods, before and after the wait', async () => {
    const pass = await newLeader({ scaling }, ['a', 'b', 'c'])
    expect(await pass(hourMs)).toEqual({ replicas: 3, ...calm })
    expect(await pass(hourMs + 30_001)).toEqual({ replicas: 3, ...stale })
  })

  it('also waits if it has a reading from an earlier term', async () => {
    const pass = await newLeader({ scaling: { ...scaling, fallback } }, [], 0)
    expect(await pass(hourMs)).toEqual({ replicas: 0, ...calm })
    expect(await pass(hourMs + 30_001)).toEqual({ replicas: 2, ...stale })
  })
})
