// Concurrency, quota and credits through the API: limits hold exactly, and each error has its details.
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { ApiError, Task } from '../support/client.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { type Caller, claim, smallImage, succeed, useApi } from './given.ts'

const world = useApi({
  PLANS: JSON.stringify({ enterprise: { concurrentTasks: 50, monthlyQuota: 3 }, pro: { concurrentTasks: 50 } }),
})

type Outcome = { readonly accepted: Task[]; readonly refused: ApiError[] }

async function createAtOnce({ client }: Caller, count: number): Promise<Outcome> {
  const imageUrl = await client.upload(await smallImage())
  const outcomes = await Promise.allSettled(Array.from({ length: count }, () => client.createTask({ imageUrl })))
  return {
    accepted: outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : [])),
    refused: outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as ApiError] : [])),
  }
}
const quotaUsed = async ({ workspaceId }: Caller): Promise<number> =>
  (await world.db.selectFrom('workspace').select('quota_used').where('id', '=', workspaceId).executeTakeFirstOrThrow())
    .quota_used

describe('the concurrency limit', () => {
  it('admits three of fifty concurrent tasks on a plan of three, and charges and counts only those', async () => {
    const caller = await world.caller({ plan: 'business' })
    const { accepted, refused } = await createAtOnce(caller, 50)
    expect(accepted).toHaveLength(3)
    for (const error of refused) {
      expect(error).toMatchObject({ status: 400, code: 'TASK_CONCURRENT_LIMIT', details: { limit: 3 } })
    }
    expect(await quotaUsed(caller)).toBe(3)
    expect(await findBrokenRules(world.db)).toEqual({})
  })

  it('frees a slot when a task ends or is canceled, not when it starts', async () => {
    const caller = await world.caller({ plan: 'business' })
    const { accepted } = await createAtOnce(caller, 3)
    const [first, second, third] = accepted as [Task, Task, Task]
    const one = async (): Promise<number> => (await createAtOnce(caller, 1)).accepted.length
    await caller.client.cancelTask(first.id)
    expect(await one()).toBe(1)
    await succeed(world.db, second.id)
    expect(await one()).toBe(1)
    await claim(world.db, third.id).catch(() => undefined) // claimed already, on the way to the second
    expect((await caller.client.getTask(third.id)).status).toBe('processing')
    expect(await one()).toBe(0)
  })
})

describe('the monthly quota', () => {
  it('admits three of fifty concurrent tasks on a quota of three, and reports its end', async () => {
    const caller = await world.caller({ plan: 'enterprise' })
    const { accepted, refused } = await createAtOnce(caller, 50)
    expect(accepted).toHaveLength(3)
    const now = new Date()
    const nextMonth = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString()
    for (const error of refused) {
      expect(error).toMatchObject({
        status: 429,
        code: 'DEVELOPER_API_QUOTA_EXCEEDED',
        details: { limit: 3, resetsAt: nextMonth },
      })
      const retryAfter = Number(error.headers.get('retry-after'))
      expect(retryAfter).toBeGreaterThanOrEqual(1)
      expect(retryAfter).toBeLessThanOrEqual(3_600)
    }
  })

  it('is not restored by a canceled task', async () => {
    const caller = await world.caller({ plan: 'enterprise' })
    const { accepted } = await createAtOnce(caller, 3)
    for (const { id } of accepted) await caller.client.cancelTask(id)
    expect((await createAtOnce(caller, 1)).refused[0]).toMatchObject({ code: 'DEVELOPER_API_QUOTA_EXCEEDED' })
  })

  it('restarts with the month, and holds for fifty concurrent tasks at the border', async () => {
    const caller = await world.caller({ plan: 'enterprise' })
    const { accepted } = await createAtOnce(caller, 3)
    for (const { id } of accepted) await caller.client.cancelTask(id)
    await sql`update workspace set quota_month = (quota_month - interval '1 month')::date
               where id = ${caller.workspaceId}`.execute(world.db)
    expect((await createAtOnce(caller, 50)).accepted).toHaveLength(3)
    expect(await quotaUsed(caller)).toBe(3)
  })
})

describe('credits', () => {
  it('are held for five of fifty concurrent tasks when there are five, and a released one for one more', async () => {
    const caller = await world.caller({ plan: 'pro', credits: 5 })
    const { accepted, refused } = await createAtOnce(caller, 50)
    expect(accepted).toHaveLength(5)
    for (const error of refused) {
      expect(error).toMatchObject({
        status: 400,
        code: 'CREDITS_INSUFFICIENT',
        details: { required: 1, available: 0 },
      })
    }
    expect(await quotaUsed(caller)).toBe(5)
    await caller.client.cancelTask(accepted[0]?.id ?? '')
    expect((await createAtOnce(caller, 50)).accepted).toHaveLength(1)
    expect(await findBrokenRules(world.db)).toEqual({})
  })
})
