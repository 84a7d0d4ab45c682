import type { PoolDemand } from '@matte/core/scale/demand-queries'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { demandReader } from './demand-reader.ts'

const logger = pino({ level: 'silent' })
const demandOf = (backlog: number) => ({ backlog }) as PoolDemand

function reader(read: () => Promise<Map<string, PoolDemand>>, waitMs?: number) {
  let ms = 0
  const clock = { monotonicMs: () => ms, nowMs: () => ms }
  const demand = demandReader({ read, logger, clock, ...(waitMs !== undefined && { waitMs }) })
  return {
    demand,
    pass: (more: number) => {
      ms += more
    },
    backlog: async (pool: string) => (await demand.latest(pool)).reading?.demand.backlog,
  }
}

describe('the demand of all pools', () => {
  it('is read once for concurrent passes', async () => {
    let reads = 0
    const { demand, pass, backlog } = reader(
      async () =>
        new Map([
          ['a', demandOf(++reads)],
          ['b', demandOf(reads)],
        ]),
    )
    expect(await Promise.all([backlog('a'), backlog('b')])).toEqual([1, 1])
    pass(249)
    expect(demand.freshInMs()).toBe(1)
    expect(await backlog('a')).toBe(1)
    pass(1)
    expect(await backlog('b')).toBe(2)
  })

  it('is read at once for a new pool', async () => {
    const pools = new Map([['a', demandOf(1)]])
    const { backlog } = reader(async () => new Map(pools))
    await backlog('a')
    pools.set('b', demandOf(5))
    expect(await backlog('b')).toBe(5)
  })

  it('is read again for a pool created during a statement', async () => {
    const pools = new Map([['a', demandOf(1)]])
    const { backlog } = reader(async () => {
      const then = new Map(pools)
      pools.set('b', demandOf(5))
      return then
    })
    expect(await Promise.all([backlog('a'), backlog('b')])).toEqual([1, 5])
  })

  it('keeps the last reading while it cannot be read, and reports why', async () => {
    const answers = [new Map([['a', demandOf(3)]]), new Error('no database')]
    const { demand, pass } = reader(async () => {
      const next = answers.shift()
      if (next instanceof Map) return next
      throw next ?? new Error('still none')
    })
    await demand.latest('a')
    pass(1_000)
    expect(await demand.latest('a')).toMatchObject({ reading: { atMs: 0 }, failure: 'no database' })
    pass(999)
    expect((await demand.latest('a')).failure).toBe('no database')
    pass(1)
    expect((await demand.latest('a')).failure).toBe('still none')
  })

  it('does not wait for a hanging statement', async () => {
    const { demand } = reader(() => new Promise(() => undefined), 1)
    expect(await demand.latest('a')).toEqual({ reading: undefined, failure: 'no answer within 0.001 s' })
  })
})
