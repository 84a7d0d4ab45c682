// Usage by model and by member: counted in the statements that count usage, shown to owners and admins.
import { cancelBatch } from '@matte/core/batch/cancel-batch'
import { claimNextTasks } from '@matte/core/task/run/claim-task'
import { failAttempt, finishTask } from '@matte/core/task/run/finish-task'
import { defaultPlans } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { claim, smallImage, succeed, useApi } from '../api/given.ts'
import type { Person } from '../support/app/people.ts'
import { givenKeyOf, givenTeam, type Team } from '../support/app/teams.ts'
import { givenBatch, givenTask, ownModel, success } from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'

type Counts = {
  totalTasks: number
  succeededTasks: number
  failedTasks: number
  canceledTasks: number
  creditsConsumed: number
}
type Group = Counts & { averageLatencyMs: number; daily: (Counts & { date: string })[] }
type Detail = {
  models: (Group & { modelVersion: string })[]
  members: (Group & { userId: string | null; name: string | null; email: string | null })[]
}

const world = useApi({ PLANS: JSON.stringify({ pro: { concurrentTasks: 1_000, monthlyQuota: null, batchLimit: 5 } }) })
const read = async ({ client }: Person) => (await client.call<Detail>('GET', '/developer/usage/detail')).data
const none = { totalTasks: 0, succeededTasks: 0, failedTasks: 0, canceledTasks: 0, creditsConsumed: 0 }
const today = (): string => new Date().toISOString().slice(0, 10)

async function givenMaker(team: Team) {
  const maker = await team.member('member')
  const { key } = await givenKeyOf(world.db, team.id, maker.userId)
  const client = world.api.client(key)
  const imageUrl = await client.upload(await smallImage())
  return { maker, client, imageUrl, create: async () => (await client.createTask({ imageUrl })).id }
}

describe('GET /app/developer/usage/detail', () => {
  it('counts each outcome for the member whose key or session created the task', async () => {
    const team = await givenTeam(world)
    const [first, second] = [await givenMaker(team), await givenMaker(team)]
    const [done, failed, canceled] = [await first.create(), await first.create(), await first.create()]
    await succeed(world.db, done)
    await failAttempt(world.db, await claim(world.db, failed), 'INPUT_UNREADABLE')
    await first.client.cancelTask(canceled)
    const body = { imageUrl: second.imageUrl }
    await second.maker.client.call('POST', '/tasks/images', { body })
    const { models, members } = await read(team.owner)
    const counts = { totalTasks: 3, succeededTasks: 1, failedTasks: 1, canceledTasks: 1, creditsConsumed: 1 }
    expect(members).toEqual([
      {
        ...{ userId: first.maker.userId, name: null, email: first.maker.email, ...counts },
        ...{ averageLatencyMs: expect.any(Number), daily: [{ date: today(), ...counts }] },
      },
      {
        ...{ userId: second.maker.userId, name: null, email: second.maker.email, ...none, totalTasks: 1 },
        ...{ averageLatencyMs: 0, daily: [{ date: today(), ...none, totalTasks: 1 }] },
      },
    ])
    expect(models).toMatchObject([{ modelVersion: 'service-v2', ...counts, totalTasks: 4 }])
    expect(await findBrokenRules(world.db)).toEqual({})
  })

  it('and the usage of keys tell models apart, for batches too', async () => {
    const team = await givenTeam(world)
    const workspace = { id: team.id, plan: { ...defaultPlans.internal, ...defaultPlans.pro, batchLimit: 5 } } as never
    const [often, seldom] = [ownModel(), ownModel()]
    const { batch } = await givenBatch(world.db, workspace, { size: 3, model: often })
    const { tasks } = await claimNextTasks(world.db, {
      models: [often],
      limit: 1,
      plans: defaultPlans,
      claimMs: 600_000,
    })
    const claimed = tasks[0]
    if (claimed === undefined) throw new Error('no child could be claimed')
    await finishTask(world.db, claimed, success(claimed))
    await cancelBatch(world.db, team.id, batch.id)
    await givenTask(world.db, workspace, { model: seldom })
    const expected = [
      { modelVersion: often, ...none, totalTasks: 3, succeededTasks: 1, canceledTasks: 2, creditsConsumed: 1 },
      { modelVersion: seldom, ...none, totalTasks: 1 },
    ]
    const { models, members } = await read(team.owner)
    expect(models).toMatchObject(expected)
    // Tasks of keys that no person created.
    expect(members).toMatchObject([{ userId: null, name: null, email: null, totalTasks: 4 }])
    const { client } = await givenMaker(team)
    expect((await client.call<Detail>('GET', '/usage')).data.models).toMatchObject(expected)
    expect(await findBrokenRules(world.db)).toEqual({})
  })

  it('has totals of the month, and days of the last thirty', async () => {
    const team = await givenTeam(world)
    for (const daysAgo of [0, 29, 30, 31]) {
      await sql`insert into usage_detail (workspace_id, day, model_version, created, succeeded, latency_ms)
                values (${team.id}, (now() at time zone 'utc')::date - ${daysAgo}::int, 'service-v2', 2, 1, 1500)
                `.execute(world.db)
    }
    const { models } = await read(team.owner)
    expect(models[0]?.daily.map(({ totalTasks }) => totalTasks)).toEqual([2, 2])
    const dayOfMonth = Number(today().slice(8))
    const inMonth = [0, 29, 30].filter((daysAgo) => daysAgo < dayOfMonth).length
    expect(models).toMatchObject([{ totalTasks: 2 * inMonth, succeededTasks: inMonth, averageLatencyMs: 1_500 }])
  })

  it('shows other workspaces nothing', async () => {
    const [team, other] = [await givenTeam(world), await givenTeam(world)]
    const { create } = await givenMaker(team)
    await create()
    expect(await read(other.owner)).toEqual({ models: [], members: [] })
  })

  it('keeps the counts of an erased account without its name', async () => {
    const team = await givenTeam(world)
    const { maker, create } = await givenMaker(team)
    await maker.client.call('PATCH', '/users/profile', { body: { name: 'Anna' } })
    await create()
    expect((await read(team.owner)).members).toMatchObject([{ name: 'Anna', email: maker.email }])
    await world.db.updateTable('app_user').set({ erased_at: new Date() }).where('id', '=', maker.userId).execute()
    const { members } = await read(team.owner)
    expect(members).toMatchObject([{ userId: maker.userId, name: null, email: null, totalTasks: 1 }])
  })

  it('is part of the member’s export', async () => {
    const team = await givenTeam(world)
    const { maker, create } = await givenMaker(team)
    await create()
    const { data } = await maker.client.call<{ usageByModel: object[] }>('GET', '/users/export')
    expect(data.usageByModel).toMatchObject([{ workspaceId: team.id, modelVersion: 'service-v2', created: 1 }])
  })
})
