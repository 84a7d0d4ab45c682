import { failAttempt } from '@matte/core/task/run/finish-task'
import { describe, expect, it } from 'vitest'
import { readMetrics } from '../e2e/support/metrics.ts'
import { claimNext } from '../support/factories.ts'
import { claim, smallImage, succeed, useApi } from './given.ts'

const world = useApi()

async function givenTask(plan = 'pro') {
  const caller = await world.caller({ plan, credits: 10 })
  const { id } = await caller.client.createTask({ imageUrl: await caller.client.upload(await smallImage()) })
  return { ...caller, id }
}

describe('DELETE /open/developer/tasks/{taskId}', () => {
  it('cancels a queued task permanently and releases its credit', async () => {
    const { client, id, workspaceId } = await givenTask()
    const before = await readMetrics(world.api)
    const canceled = await client.cancelTask(id)
    expect(canceled).toMatchObject({ id, status: 'canceled', resultUrl: null, completedAt: expect.any(String) })
    expect(canceled).not.toHaveProperty('creditCost')
    const lot = await world.db
      .selectFrom('credit_lot')
      .select(['available', 'held', 'spent'])
      .where('workspace_id', '=', workspaceId)
      .executeTakeFirst()
    expect(lot).toEqual({ available: 10, held: 0, spent: 0 })

    const after = await readMetrics(world.api)
    const grown = (name: string, labels: Readonly<Record<string, string>>) =>
      after.sum(name, { plan: 'pro', ...labels }) - before.sum(name, { plan: 'pro', ...labels })
    expect(grown('matte_task_completion_seconds_count', { status: 'canceled' })).toBe(1)
    const seconds = (Date.parse(canceled.completedAt ?? '') - Date.parse(canceled.createdAt)) / 1_000
    expect(grown('matte_task_completion_seconds_sum', { status: 'canceled' })).toBeCloseTo(seconds, 2)
    expect(grown('matte_credits_settled_total', { outcome: 'released' })).toBe(1)
  })

  it.each([
    ['canceled', (_id: string, cancel: () => Promise<unknown>) => cancel()],
    ['processing', (id: string) => claim(world.db, id)],
    ['succeeded', (id: string) => succeed(world.db, id)],
    ['failed', async (id: string) => failAttempt(world.db, await claim(world.db, id), 'INPUT_UNREADABLE')],
  ])('returns TASK_CANNOT_CANCEL once the task is %s', async (status, move) => {
    const { client, id } = await givenTask()
    await move(id, () => client.cancelTask(id))
    const refused = { status: 409, code: 'TASK_CANNOT_CANCEL', details: { status } }
    await expect(client.cancelTask(id)).rejects.toMatchObject(refused)
    expect((await client.getTask(id)).status).toBe(status)
  })

  it('has one outcome in a race of fifty cancels and fifty claims', async () => {
    const { client, id, workspaceId } = await givenTask()
    const cancels = Array.from({ length: 50 }, () =>
      client.cancelTask(id).then(
        () => 'canceled',
        (error: { code: string }) => error.code,
      ),
    )
    const claims = Array.from({ length: 50 }, () => claimNext(world.db, ['service-v2']))
    const outcomes = await Promise.all(cancels)
    const claimed = (await Promise.all(claims)).filter((task) => task?.id === id)
    const canceled = outcomes.filter((outcome) => outcome === 'canceled')
    expect(canceled.length + claimed.length).toBe(1)
    expect(new Set(outcomes.filter((outcome) => outcome !== 'canceled'))).toEqual(new Set(['TASK_CANNOT_CANCEL']))
    expect((await client.getTask(id)).status).toBe(canceled.length === 1 ? 'canceled' : 'processing')
    const counters = await world.db
      .selectFrom('workspace')
      .select(['open_singles', 'queued', 'processing'])
      .where('id', '=', workspaceId)
      .executeTakeFirst()
    expect(counters).toEqual({ open_singles: claimed.length, queued: 0, processing: claimed.length })
  })

  it('frees exactly one slot with many concurrent cancels', async () => {
    const { client, id, workspaceId } = await givenTask()
    const imageUrl = await client.upload(await smallImage())
    await client.createTask({ imageUrl })
    await Promise.allSettled(Array.from({ length: 50 }, () => client.cancelTask(id)))
    const { open_singles, queued } = await world.db
      .selectFrom('workspace')
      .select(['open_singles', 'queued'])
      .where('id', '=', workspaceId)
      .executeTakeFirstOrThrow()
    expect([open_singles, queued]).toEqual([1, 1])
  })
})
