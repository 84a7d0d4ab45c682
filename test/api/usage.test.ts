import { requestCounter } from '@matte/api/request-counter'
import { readUsage } from '@matte/core/usage/read-usage'
import { defaultPlans } from '@matte/core/workspace/plan'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import type { Client } from '../support/client.ts'
import { givenWorkspace } from '../support/factories.ts'
import { until } from '../support/until.ts'
import { smallImage, succeed, useApi } from './given.ts'

type UsageAnswer = {
  totalTasks: number
  apiRequests: number
  creditsConsumed: number
  errorRate: number
  credits: { available: number; held: number } | null
  monthlyQuota: { limit: number | null; used: number; remaining: number | null; resetsAt: string }
  period: { start: string; end: string }
  daily: Record<string, unknown>[]
}

const world = useApi()
const usageOf = async (client: Client): Promise<UsageAnswer> => (await client.call<UsageAnswer>('GET', '/usage')).data

describe('GET /open/developer/usage', () => {
  it('returns exactly the documented fields', async () => {
    const { client } = await world.caller()
    const imageUrl = await client.upload(await smallImage())
    await succeed(world.db, (await client.createTask({ imageUrl })).id)
    await client.createTask({ imageUrl })
    const usage = await usageOf(client)
    expect(Object.keys(usage).sort()).toEqual(
      [
        'period',
        'totalTasks',
        'succeededTasks',
        'failedTasks',
        'canceledTasks',
        'creditsConsumed',
        'apiRequests',
        'averageLatencyMs',
        'errorRate',
        'monthlyQuota',
        'credits',
        'models',
        'daily',
      ].sort(),
    )
    expect(usage).toMatchObject({ totalTasks: 2, succeededTasks: 1, creditsConsumed: 1, errorRate: 0 })
    expect(usage.monthlyQuota).toEqual({ limit: 1_000, used: 2, remaining: 998, resetsAt: usage.period.end })
    expect(usage.daily).toHaveLength(30)
    for (const day of usage.daily) {
      expect(Object.keys(day).sort()).toEqual(
        [
          'date',
          'totalTasks',
          'succeededTasks',
          'failedTasks',
          'creditsConsumed',
          'apiRequests',
          'averageLatencyMs',
        ].sort(),
      )
    }
  })

  it('shows the credits that are left and those that open tasks hold', async () => {
    const { client } = await world.caller({ plan: 'pro', credits: 5 })
    const imageUrl = await client.upload(await smallImage())
    await succeed(world.db, (await client.createTask({ imageUrl })).id)
    await client.createTask({ imageUrl })
    expect((await usageOf(client)).credits).toEqual({ available: 3, held: 1 })
  })

  it('shows no limit and no credits on a plan without them', async () => {
    const { client } = await world.caller({ plan: 'internal' })
    expect((await usageOf(client)).credits).toBeNull()
    expect((await usageOf(client)).monthlyQuota).toMatchObject({ limit: null, remaining: null, used: 0 })
  })

  it('requires the scope usage:read', async () => {
    const { client } = await world.caller({ scopes: ['tasks:read'] })
    await expect(usageOf(client)).rejects.toMatchObject({ status: 403, code: 'API_KEY_INSUFFICIENT_SCOPE' })
  })

  it('counts every request with a valid key, rejected ones included, of its workspace only', async () => {
    const { client, workspaceId } = await world.caller()
    await world.caller().then((other) => other.client.listTasks())
    for (let request = 0; request < 5; request++) await client.listTasks()
    await expect(client.getTask('unknown')).rejects.toMatchObject({ status: 404 })
    await until('six requests are counted', async () => (await requestsOf(workspaceId)) === 6)
  })

  it('counts requests in memory when the process stops', async () => {
    const { id } = await givenWorkspace(world.db)
    const counter = requestCounter(world.db, pino({ level: 'silent' }))
    for (let request = 0; request < 3; request++) counter.note(id)
    await counter.stop()
    expect(await requestsOf(id)).toBe(3)
  })

  it('keeps counts while the database is down, and writes them afterwards', async () => {
    const { id } = await givenWorkspace(world.db)
    const { db } = world
    let away = true
    const flaky = db.withPlugin({
      transformQuery: ({ node }) => {
        if (away) throw new Error('no connection')
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const counter = requestCounter(flaky, pino({ level: 'silent' }))
    counter.note(id)
    await counter.stop()
    counter.note(id)
    away = false
    await counter.stop()
    expect(await requestsOf(id)).toBe(2)
  })

  const requestsOf = async (workspaceId: string): Promise<number> => {
    const plan = defaultPlans.internal
    if (plan === undefined) throw new Error('the plan internal is gone')
    return (await readUsage(world.db, workspaceId, plan)).apiRequests
  }
})
