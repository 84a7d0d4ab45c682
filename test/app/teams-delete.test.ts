// Deletion of a team: preconditions, deleted rows, and kept rows.

import { deleteOldTasks } from '@matte/core/retention/delete-tasks'
import { defaultPlans } from '@matte/core/workspace/plan'
import { passwordHasher } from '@matte/people/identity/password/password-hasher'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { smallImage, succeed, useApi } from '../api/given.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { givenKeyOf, givenTeam, readInviteMails, type Team } from '../support/app/teams.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { until } from '../support/until.ts'

const world = useApi()
const password = 'correct horse battery staple'

const anyOwner = { network: '', client: '', account: '' }

/** A team whose owner has a password. */
async function givenOwned(options: { plan?: string; credits?: number } = {}): Promise<Team> {
  const team = await givenTeam(world, options)
  const password_hash = await passwordHasher({ atOnce: 1, waitingMax: 1 }).hash(anyOwner, password)
  await world.db.updateTable('app_user').set({ password_hash }).where('id', '=', team.owner.userId).execute()
  return team
}

const end = ({ owner, path }: Team, body: object = {}, by: Person = owner) =>
  by.client.call('DELETE', path, { body: { password, ...body } })
const conflict = { status: 409, code: 'CONFLICT' }
const orderValues = (workspaceId: string) => ({
  ...{ workspace_id: workspaceId, kind: 'pack' as const, description: 'Pack', pack_id: 's', credits: 100, amount: 900 },
  ...{ currency: 'USD', provider: 'sandbox' },
})

describe('DELETE /app/teams/{teamId}', () => {
  it('deletes members, keys, endpoints, invitations and credits, and keeps ledger and tasks for their time', async () => {
    const team = await givenOwned({ credits: 10 })
    const member = await team.member('admin')
    const { key } = await givenKeyOf(world.db, team.id, member.userId)
    const client = world.api.client(key)
    const imageUrl = await client.upload(await smallImage())
    const { id: taskId } = await client.createTask({ imageUrl })
    await succeed(world.db, taskId)
    await client.call('POST', '/webhooks', { body: { targetUrl: 'https://93.184.216.34/' } })
    await member.client.call('POST', `${team.path}/invites`, { body: { email: 'New@example.com', role: 'member' } })

    await expect(end(team)).rejects.toMatchObject({ ...conflict, details: { credits: 9 } })
    expect((await end(team, { confirmCreditLoss: true })).data).toEqual({ id: team.id, deleted: true })

    for (const { client } of [team.owner, member]) {
      expect((await client.call<{ items: object[] }>('GET', '/teams')).data.items).toEqual([])
    }
    await expect(end(team)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await until('the token opens it no more', async () => (await statusOf(member, `${team.path}/credits`)) === 404, {
      timeoutMs: 5_000,
    })
    await until('the key is refused', async () => {
      const error = await client.listTasks().then(
        () => undefined,
        (caught: { status: number }) => caught,
      )
      return error?.status === 401
    })
    const { rows } = await sql`
      select (select count(*) from webhook_endpoint where workspace_id = w.id and deleted_at is null) as endpoints,
             (select sum(available + held) from credit_lot where workspace_id = w.id) as credits,
             (select sum(expired) from credit_lot where workspace_id = w.id) as lost,
             (select count(*) from credit_entry where workspace_id = w.id and to_account = 'expired') as entries,
             (select count(*) from session where workspace_id = w.id) as sessions,
             (select count(*) from task where workspace_id = w.id) as tasks, name
        from workspace w where id = ${team.id} and deleted_at is not null`.execute(world.db)
    expect(rows).toEqual([{ endpoints: 0, credits: 0, lost: 9, entries: 1, sessions: 0, tasks: 1, name: 'Shop' }])
    const invited = await givenPerson(world.db, world.api, { email: 'new@example.com' })
    const token = (await readInviteMails(world, 'New@example.com')).at(-1)?.token
    await expect(invited.client.call('POST', '/teams/invites/accept', { body: { token } })).rejects.toMatchObject(
      conflict,
    )
    expect(await findBrokenRules(world.db)).toEqual({})

    const later = new Date(Date.now() + 40 * 24 * 60 * 60 * 1_000)
    await deleteOldTasks(world.db, defaultPlans, { now: later })
    const left = await world.db.selectFrom('task').select('id').where('workspace_id', '=', team.id).execute()
    expect(left).toEqual([])
  })

  it('requires the owner, the password, and a valid body', async () => {
    const team = await givenOwned({ credits: 0 })
    const admin = await team.member('admin')
    await expect(end(team, {}, admin)).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
    await expect(end(team, { password: 'wrong' })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      details: { issues: [expect.objectContaining({ path: '/body/password' })] },
    })
    await expect(team.owner.client.call('DELETE', team.path)).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    expect((await team.owner.client.call('GET', team.path)).status).toBe(200)
  })

  it('waits for tasks, a subscription, orders and refunds', async () => {
    const team = await givenOwned({ credits: 1 })
    const { key } = await givenKeyOf(world.db, team.id, team.owner.userId)
    const client = world.api.client(key)
    const { id: taskId } = await client.createTask({ imageUrl: await client.upload(await smallImage()) })
    const ends = () => end(team, { confirmCreditLoss: true })
    await expect(ends()).rejects.toMatchObject({ ...conflict, details: { openTasks: 1 } })
    await client.cancelTask(taskId)

    const { id: subscriptionId } = await world.db
      .insertInto('subscription')
      .values({
        ...{ workspace_id: team.id, provider: 'sandbox', provider_id: team.id, plan: 'pro', billing_interval: 'month' },
        ...{ status: 'past_due', period_start: new Date(0), period_end: new Date(), reading: 1 },
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    await expect(ends()).rejects.toMatchObject({ ...conflict, details: { subscribed: true } })
    await world.db
      .updateTable('subscription')
      .set({ cancel_at_period_end: true })
      .where('id', '=', subscriptionId)
      .execute()

    const { id: orderId } = await world.db
      .insertInto('payment_order')
      .values(orderValues(team.id))
      .returning('id')
      .executeTakeFirstOrThrow()
    await expect(ends()).rejects.toMatchObject({ ...conflict, details: { openOrders: 1 } })
    await world.db
      .updateTable('payment_order')
      .set({ status: 'paid', paid_at: new Date() })
      .where('id', '=', orderId)
      .execute()

    const refund = { workspace_id: team.id, order_id: orderId, amount: 100, currency: 'USD', credits: 0, reason: 'no' }
    await world.db.insertInto('refund').values(refund).execute()
    await expect(ends()).rejects.toMatchObject({ ...conflict, details: { openRefunds: 1 } })
    await world.db.deleteFrom('refund').where('order_id', '=', orderId).execute()
    expect((await ends()).status).toBe(200)
  })

  it('and a concurrent creation of a task: one of them comes first', async () => {
    for (let round = 0; round < 6; round += 1) {
      const team = await givenOwned({ credits: 5 })
      const { key } = await givenKeyOf(world.db, team.id, team.owner.userId)
      const client = world.api.client(key)
      const imageUrl = await client.upload(await smallImage())
      const [ended, made] = await Promise.allSettled([
        end(team, { confirmCreditLoss: true }),
        client.createTask({ imageUrl }),
      ])
      expect([ended.status, made.status].sort()).toEqual(['fulfilled', 'rejected'])
    }
    // Another test let retention delete tasks, which the invariant of usage counters does not consider.
    const { 'the usage of a workspace counts its tasks rightly': _, ...broken } = await findBrokenRules(world.db)
    expect(broken).toEqual({})
  })
})

const statusOf = (by: Person, path: string): Promise<number> =>
  by.client.call('GET', path).then(
    ({ status }) => status,
    (error: { status: number }) => error.status,
  )
