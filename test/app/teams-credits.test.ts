// Credit limits and usage of team members, exact with concurrent creations.
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { failAttempt } from '@matte/core/task/run/finish-task'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { claim, smallImage, succeed, useApi } from '../api/given.ts'
import type { Person } from '../support/app/people.ts'
import { givenKeyOf, givenTeam, type Team } from '../support/app/teams.ts'
import type { Client } from '../support/client.ts'
import { findBrokenRules } from '../support/invariants.ts'

const plan = { concurrentTasks: 1_000, monthlyQuota: null }
const world = useApi({ PLANS: JSON.stringify({ pro: { ...plan, batchLimit: 5 }, enterprise: plan }) })

type Use = { userId: string; used: number; monthlyLimit: number | null }
type Credits = { available: number; held: number; total: number; period: object; members: Use[] }

const read = async (by: Person, { path }: Team) => (await by.client.call<Credits>('GET', `${path}/credits`)).data
const limit = (by: Person, { path }: Team, limits: object) =>
  by.client.call<Credits>('PUT', `${path}/credits/limits`, { body: { limits } })
const usedBy = async (team: Team, { userId }: Person) =>
  (await read(team.owner, team)).members.find((each) => each.userId === userId)?.used
const refused = { status: 400, code: 'CREDITS_INSUFFICIENT', details: { limit: 'member' } }

/** A team member with a key and an uploaded object. */
async function givenMaker(team: Team) {
  const maker = await team.member('member')
  const { key } = await givenKeyOf(world.db, team.id, maker.userId)
  const client: Client = world.api.client(key)
  const imageUrl = await client.upload(await smallImage())
  const create = async () => (await client.createTask({ imageUrl })).id
  return { maker, client, imageUrl, create }
}

/** The member's counter, against the holds of the member's tasks. */
async function expectCountedRightly(team: Team): Promise<void> {
  const { rows } = await sql`
    select m.workspace_id, m.user_id, m.used from member_credit_month m
     where m.workspace_id = ${team.id} and m.used <> (
             select coalesce(sum(h.amount), 0) from credit_hold h join task t on t.id = h.task_id
              where t.workspace_id = m.workspace_id and t.created_by = m.user_id and h.state <> 'released')
  `.execute(world.db)
  expect(rows).toEqual([])
  expect(await findBrokenRules(world.db)).toEqual({})
}

describe('GET /app/teams/{teamId}/credits', () => {
  it('returns credits that each member’s tasks used this month, by key or app, and credits released', async () => {
    const team = await givenTeam(world)
    const { maker, create, client } = await givenMaker(team)
    const other = await givenMaker(team)
    const [done, failed, canceled] = [await create(), await create(), await create()]
    await create()
    await other.create()
    await succeed(world.db, done)
    await failAttempt(world.db, await claim(world.db, failed), 'INPUT_UNREADABLE')
    await client.cancelTask(canceled)
    const credits = await read(team.owner, team)
    expect(credits).toMatchObject({ available: 97, held: 2, total: 99 })
    expect(credits.members).toMatchObject([
      { userId: team.owner.userId, used: 0 },
      { userId: maker.userId, used: 2, monthlyLimit: null },
      { userId: other.maker.userId, used: 1 },
    ])
    await expectCountedRightly(team)
  })

  it('counts an App task for the signed-in member', async () => {
    const team = await givenTeam(world)
    const { maker, imageUrl } = await givenMaker(team)
    await maker.client.call('POST', '/tasks/images', { body: { imageUrl } })
    expect(await usedBy(team, maker)).toBe(1)
  })

  it('keeps usage of deleted tasks, and restarts with the month', async () => {
    const team = await givenTeam(world)
    const { maker, create } = await givenMaker(team)
    const id = await create()
    await succeed(world.db, id)
    await sql`delete from credit_hold where task_id = ${id}`.execute(world.db)
    expect(await usedBy(team, maker)).toBe(1)
    await sql`update member_credit_month set month = month - interval '1 month'
               where user_id = ${maker.userId}`.execute(world.db)
    expect(await usedBy(team, maker)).toBe(0)
    await create()
    expect(await usedBy(team, maker)).toBe(1)
  })

  it('requires owner, admin or billing', async () => {
    const team = await givenTeam(world)
    const member = await team.member('member')
    await expect(read(member, team)).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
    await expect(limit(member, team, [])).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
    for (const role of ['admin', 'billing'] as const) {
      const { data } = await limit(await team.member(role), team, [{ userId: member.userId, monthlyLimit: 5 }])
      expect(data.members.find(({ userId }) => userId === member.userId)).toMatchObject({ monthlyLimit: 5 })
    }
  })
})

describe('a member’s limit', () => {
  it('rejects tasks beyond it, until credits are released or the limit is removed', async () => {
    const team = await givenTeam(world, { plan: 'enterprise' })
    const { maker, client, create } = await givenMaker(team)
    const other = await givenMaker(team)
    await limit(team.owner, team, [{ userId: maker.userId, monthlyLimit: 2 }])
    const [first] = [await create(), await create()]
    await expect(create()).rejects.toMatchObject({
      ...refused,
      details: { limit: 'member', required: 1, monthlyLimit: 2, used: 2 },
    })
    await other.create()
    await client.cancelTask(first)
    const failing = await create()
    await expect(create()).rejects.toMatchObject(refused)
    await failAttempt(world.db, await claim(world.db, failing), 'INPUT_UNREADABLE')
    const third = await create()
    // A retry is charged again, to the creator of the task.
    await expect(client.call('POST', `/tasks/${failing}/retry`)).rejects.toMatchObject(refused)
    await expect(other.client.call('POST', `/tasks/${failing}/retry`)).rejects.toMatchObject(refused)
    await client.cancelTask(third)
    await client.call('POST', `/tasks/${failing}/retry`)
    expect(await usedBy(team, maker)).toBe(2)
    await limit(team.owner, team, [])
    await create()
    expect(await usedBy(team, maker)).toBe(3)
    await expectCountedRightly(team)
  })

  it('of 0 admits nothing', async () => {
    const team = await givenTeam(world)
    const { maker, create } = await givenMaker(team)
    await limit(team.owner, team, [{ userId: maker.userId, monthlyLimit: 0 }])
    await expect(create()).rejects.toMatchObject(refused)
    expect((await read(team.owner, team)).held).toBe(0)
    await expectCountedRightly(team)
  })

  it('accepts a batch entirely or not at all', async () => {
    const team = await givenTeam(world)
    const { maker, client, imageUrl } = await givenMaker(team)
    await limit(team.owner, team, [{ userId: maker.userId, monthlyLimit: 5 }])
    const batch = (size: number) =>
      client.call<{ id: string }>('POST', '/batch-tasks', { body: { imageUrls: Array(size).fill(imageUrl) } })
    const { data } = await batch(3)
    await expect(batch(3)).rejects.toMatchObject({ ...refused, details: { required: 3, used: 3, monthlyLimit: 5 } })
    await batch(2)
    await client.call('DELETE', `/batch-tasks/${data.id}`)
    expect(await usedBy(team, maker)).toBe(2)
    await batch(3)
    await expectCountedRightly(team)
  })

  it('holds with concurrent creations, with two keys, singles and batches', async () => {
    const team = await givenTeam(world, { credits: 1_000 })
    const { maker, client, imageUrl } = await givenMaker(team)
    const second = world.api.client((await givenKeyOf(world.db, team.id, maker.userId)).key)
    await limit(team.owner, team, [{ userId: maker.userId, monthlyLimit: 20 }])
    const single = (by: Client) => by.createTask({ imageUrl }).then(() => 1)
    const batch = (by: Client) =>
      by.call('POST', '/batch-tasks', { body: { imageUrls: [imageUrl, imageUrl, imageUrl] } }).then(() => 3)
    const ended = await Promise.allSettled(
      Array.from({ length: 40 }, (_, i) => (i % 4 === 0 ? batch : single)(i % 2 === 0 ? client : second)),
    )
    const made = ended.reduce((sum, each) => sum + (each.status === 'fulfilled' ? each.value : 0), 0)
    for (const each of ended) if (each.status === 'rejected') expect(each.reason).toMatchObject(refused)
    // Singles continue after the last batch that fits.
    expect(made).toBe(20)
    expect(await usedBy(team, maker)).toBe(20)
    await expectCountedRightly(team)
  })

  it('gets credits back once when tasks end twice concurrently', async () => {
    const team = await givenTeam(world)
    const { maker, create } = await givenMaker(team)
    await limit(team.owner, team, [{ userId: maker.userId, monthlyLimit: 10 }])
    const ids = await Promise.all(Array.from({ length: 10 }, () => create()))
    await Promise.allSettled(
      ids.flatMap((id) => [cancelTask(world.db, team.id, id), cancelTask(world.db, team.id, id)]),
    )
    expect(await usedBy(team, maker)).toBe(0)
    await expectCountedRightly(team)
  })

  it('applies to members only, once each, and replaces all previous limits', async () => {
    const team = await givenTeam(world)
    const member = await team.member('member')
    const { owner } = team
    const own = { userId: owner.userId, monthlyLimit: 7 }
    await limit(owner, team, [own])
    const { data } = await limit(owner, team, [{ userId: member.userId.toUpperCase(), monthlyLimit: null }])
    expect(data.members.map(({ monthlyLimit }) => monthlyLimit)).toEqual([null, null])
    await limit(owner, team, [own])
    for (const [limits, path] of [
      [[own, { userId: '00000000-0000-4000-8000-000000000000', monthlyLimit: 1 }], '/body/limits/1/userId'],
      [[own, own], '/body/limits/1/userId'],
      [[{ ...own, monthlyLimit: -1 }], '/body/limits/0/monthlyLimit'],
    ] as const) {
      await expect(limit(owner, team, limits)).rejects.toMatchObject({
        code: 'INVALID_PARAMS',
        details: { issues: [expect.objectContaining({ path })] },
      })
    }
    expect((await read(owner, team)).members[0]?.monthlyLimit).toBe(7)
  })

  it('does not exist for a personal workspace, nor on a plan without charges', async () => {
    const { client, workspaceId } = await world.caller()
    await client.createTask({ imageUrl: await client.upload(await smallImage()) })
    const internal = await givenTeam(world, { plan: 'internal', credits: 0 })
    const { maker, create } = await givenMaker(internal)
    await limit(internal.owner, internal, [{ userId: maker.userId, monthlyLimit: 0 }])
    await create()
    const counted = await world.db
      .selectFrom('member_credit_month')
      .selectAll()
      .where('workspace_id', 'in', [workspaceId, internal.id])
      .execute()
    expect(counted).toEqual([])
  })
})
