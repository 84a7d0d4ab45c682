// Billing details of a team, and its audit log.
import { countsOrThrow } from '@matte/core/db/sweep'
import { sweepRetention } from '@matte/core/retention/sweep-retention'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { givenTeam, type Team } from '../support/app/teams.ts'

const world = useApi()

type Entry = { id: string; at: string; action: string; actorId: string; actorName: string; target: string }
type Page<T> = { items: T[]; total: number; totalPages: number; nextCursor: string | null }

const read = async (by: Person, { path }: Team) => (await by.client.call('GET', `${path}/billing`)).data
const patch = async (by: Person, { path }: Team, body: object) =>
  (await by.client.call('PATCH', `${path}/billing`, { body })).data

describe('/app/teams/{teamId}/billing', () => {
  it('keeps omitted fields, and clears empty ones', async () => {
    const team = await givenTeam(world)
    const { owner } = team
    const nothing = { name: null, addressLines: [], taxId: null, email: null }
    expect(await read(owner, team)).toEqual({ ...nothing, plan: 'pro', subscription: null, invoices: [] })
    const all = {
      name: 'Shop Ltd',
      addressLines: ['1 Main Street', 'Springfield'],
      taxId: 'DE1',
      email: 'b@example.com',
    }
    expect(await patch(owner, team, all)).toMatchObject(all)
    expect(await patch(owner, team, { taxId: ' DE2 ', name: null })).toMatchObject({ ...all, taxId: 'DE2' })
    expect(await patch(owner, team, { email: '', addressLines: [' ', 'Springfield'] })).toMatchObject({
      ...{ name: 'Shop Ltd', addressLines: ['Springfield'], taxId: 'DE2', email: null },
    })
    expect(await patch(owner, team, {})).toEqual(await read(owner, team))
    for (const body of [{ email: 'none' }, { addressLines: Array(7).fill('x') }, { name: 'x'.repeat(201) }]) {
      await expect(patch(owner, team, body)).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    }
  })

  it('merges concurrent changes of two fields', async () => {
    const team = await givenTeam(world)
    const billing = await team.member('billing')
    await Promise.all([patch(team.owner, team, { name: 'Shop Ltd' }), patch(billing, team, { taxId: 'DE1' })])
    expect(await read(billing, team)).toMatchObject({ name: 'Shop Ltd', taxId: 'DE1' })
  })

  it('shows the subscription, and the invoices of this team, the latest first', async () => {
    const [team, other] = [await givenTeam(world), await givenTeam(world)]
    const periodEnd = new Date('2026-12-21T00:00:00.000Z')
    await world.db
      .insertInto('subscription')
      .values({
        ...{ workspace_id: team.id, provider: 'sandbox', provider_id: team.id, plan: 'pro', billing_interval: 'year' },
        ...{ status: 'active', period_start: new Date('2025-12-21'), period_end: periodEnd, reading: 1 },
      })
      .execute()
    await givenInvoice(team, 'A-1')
    await givenInvoice(other, 'A-2')
    await givenInvoice(team, 'A-3')
    expect(await read(team.owner, team)).toMatchObject({
      subscription: {
        ...{ plan: 'pro', interval: 'year', status: 'active' },
        ...{ periodEnd: periodEnd.toISOString(), cancelAtPeriodEnd: false },
      },
      invoices: [
        { number: 'A-3', total: 900, currency: 'USD', isCreditNote: false },
        { number: 'A-1', total: 900 },
      ],
    })
  })

  it('requires owner or billing', async () => {
    const team = await givenTeam(world)
    for (const role of ['admin', 'member'] as const) {
      const { client } = await team.member(role)
      await expect(client.call('GET', `${team.path}/billing`)).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
    }
  })
})

async function givenInvoice({ id }: Team, number: string): Promise<void> {
  const { id: order_id } = await world.db
    .insertInto('payment_order')
    .values({
      ...{ workspace_id: id, kind: 'pack', description: 'Pack', pack_id: 's', credits: 100, amount: 900 },
      ...{ currency: 'USD', provider: 'sandbox', status: 'paid', paid_at: new Date() },
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const text = JSON.stringify({ name: 'x', addressLines: [], taxId: null, email: null })
  await world.db
    .insertInto('invoice')
    .values({
      ...{ workspace_id: id, order_id, number, seller: text, buyer: text, lines: '[]', subtotal: 900, tax: 0 },
      ...{ total: 900, currency: 'USD', paid_at: new Date(), issued_at: new Date() },
    })
    .execute()
}

describe('GET /app/teams/{teamId}/audit-log', () => {
  const log = async ({ owner, path }: Pick<Team, 'owner' | 'path'>, query = '') =>
    (await owner.client.call<Page<Entry>>('GET', `${path}/audit-log${query}`)).data

  it('has actor, action, object and origin, newest first, of this team only', async () => {
    const team = await givenTeam(world)
    const other = await givenTeam(world)
    const member = await team.member('member')
    await world.db.updateTable('app_user').set({ name: 'Ada' }).where('id', '=', team.owner.userId).execute()
    const { client, userId } = team.owner
    await client.call('PATCH', team.path, { body: { name: 'Shop 2' } })
    await other.owner.client.call('PATCH', other.path, { body: { name: 'Shop 3' } })
    await client.call('PATCH', `${team.path}/members/${member.userId}`, { body: { role: 'admin' } })
    await client.call('PUT', `${team.path}/credits/limits`, { body: { limits: [] } })
    // Rejected, so nothing changed.
    await client.call('PATCH', team.path, { body: { name: '' } }).catch(() => undefined)
    const { items, total } = await log(team)
    const common = { actorId: userId, actorName: 'Ada', ipAddress: '127.0.0.1', requestId: expect.any(String) }
    expect(items).toMatchObject([
      { action: 'setTeamCreditLimits', target: team.id, ...common },
      { action: 'changeTeamRole', target: member.userId, ...common },
      { action: 'renameTeam', target: team.id, ...common },
    ])
    expect(total).toBe(3)
  })

  it('is paged by number and by cursor', async () => {
    const team = await givenTeam(world)
    for (let i = 0; i < 5; i += 1) await team.owner.client.call('PATCH', team.path, { body: { name: `n${i}` } })
    const all = (await log(team)).items
    const first = await log(team, '?pageSize=2')
    expect(first).toMatchObject({ total: 5, totalPages: 3, items: all.slice(0, 2) })
    const second = await log(team, `?pageSize=2&cursor=${first.nextCursor}`)
    expect(second.items).toEqual(all.slice(2, 4))
    expect(await log(team, '?pageSize=2&page=3')).toMatchObject({ items: all.slice(4), nextCursor: null })
    expect((await log(team, '?startDate=2100-01-01')).items).toEqual([])
    await expect(log(team, '?cursor=x')).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
  })

  it('is kept for the configured time', async () => {
    const team = await givenTeam(world)
    await team.owner.client.call('PATCH', team.path, { body: { name: 'Shop 2' } })
    const sweep = (days: number) => {
      const now = new Date(Date.now() + days * 86_400_000)
      const deps = { db: world.db, plans: world.api.config.plans, auditRetentionDays: 30, bucket: undefined }
      return sweepRetention(deps, { now }).then(countsOrThrow)
    }
    expect(await sweep(29)).toMatchObject({ audit_entries_deleted: 0 })
    expect((await log(team)).total).toBe(1)
    expect((await sweep(31)).audit_entries_deleted).toBeGreaterThan(0)
    expect(await log(team)).toMatchObject({ items: [], total: 0 })
  })

  it('begins with the creation of the team', async () => {
    const owner = await givenPerson(world.db, world.api)
    const { data } = await owner.client.call<{ id: string }>('POST', '/teams', { body: { name: 'Made' } })
    const { items } = await log({ path: `/teams/${data.id}`, owner })
    expect(items).toMatchObject([{ action: 'createTeam', actorId: owner.userId, target: data.id }])
  })

  it('requires owner or admin', async () => {
    const team = await givenTeam(world)
    for (const role of ['billing', 'member'] as const) {
      const { client } = await team.member(role)
      await expect(client.call('GET', `${team.path}/audit-log`)).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
    }
  })
})
