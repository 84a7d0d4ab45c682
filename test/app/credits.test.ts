// Credits of a workspace as members read and configure them.
import { expireCredits } from '@matte/core/credit/expire-credits'
import { grantCredits } from '@matte/core/credit/lot-queries'
import { insertWorkspace } from '@matte/core/workspace/workspace-queries'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenPerson, type PersonOptions } from '../support/app/people.ts'

const world = useApi()
const person = (options?: PersonOptions) => givenPerson(world.db, world.api, options)
const inDays = (days: number): Date => new Date(Date.now() + days * 24 * 3_600_000)

type Page<T = Record<string, unknown>> = { items: T[]; total: number; nextCursor: string | null }

describe('GET /credits/balance', () => {
  it('returns the credits that expire soon with their time, and the alert threshold', async () => {
    const { client, workspaceId } = await person({ credits: 5 })
    await grantCredits(world.db, { workspaceId, kind: 'test', amount: 7, expiresAt: inDays(3) })
    await grantCredits(world.db, { workspaceId, kind: 'test', amount: 9, expiresAt: inDays(8) })
    const { data } = await client.call<{ expiringSoon: { before: string } }>('GET', '/credits/balance')
    expect(data).toMatchObject({ available: 21, held: 0, total: 21, lowBalanceThreshold: 10 })
    expect(data.expiringSoon).toMatchObject({ amount: 7 })
    const days = (Date.parse(data.expiringSoon.before) - Date.now()) / (24 * 3_600_000)
    expect(Math.round(days)).toBe(7)
  })
})

describe('GET /credits/lots', () => {
  it('has every lot with the state of its credits, newest first, by page and cursor', async () => {
    const { client, workspaceId } = await person({ credits: 5 })
    await grantCredits(world.db, { workspaceId, kind: 'pack', amount: 7, expiresAt: inDays(3), priority: 3 })
    const first = await client.call<Page>('GET', '/credits/lots?pageSize=1')
    expect(first.data).toMatchObject({ total: 2, items: [{ kind: 'pack', granted: 7, available: 7, priority: 3 }] })
    const second = await client.call<Page>('GET', `/credits/lots?pageSize=1&cursor=${first.data.nextCursor}`)
    expect(second.data).toMatchObject({ items: [{ kind: 'test', granted: 5, expiresAt: null, endsAt: null }] })
    expect(second.data.nextCursor).toBeNull()
  })

  it('shows unspent expired credits', async () => {
    const { client, workspaceId } = await person({ credits: 0 })
    await grantCredits(world.db, { workspaceId, kind: 'plan', amount: 4, expiresAt: inDays(1) })
    await sql`update credit_lot set expires_at = now() where workspace_id = ${workspaceId}`.execute(world.db)
    await expireCredits(world.db)
    const { data } = await client.call<Page>('GET', '/credits/lots')
    expect(data.items).toMatchObject([{ available: 0, expired: 4 }])
  })
})

describe('GET /credits/expiry-alerts', () => {
  it('has lots with credits that expire within 30 days, the next first', async () => {
    const { client, workspaceId } = await person({ credits: 5 })
    const grant = (amount: number, expiresAt: Date) =>
      grantCredits(world.db, { workspaceId, kind: 'test', amount, expiresAt })
    await grant(1, inDays(29.5))
    await grant(2, inDays(2.5))
    await grant(3, inDays(31))
    const ended = await grant(4, inDays(1))
    await sql`update credit_lot set expires_at = now() - interval '1 s' where id = ${ended?.lotId}`.execute(world.db)
    const { data } = await client.call<Page>('GET', '/credits/expiry-alerts')
    expect(data.items).toMatchObject([
      { amount: 2, daysLeft: 2 },
      { amount: 1, daysLeft: 29 },
    ])
  })
})

describe('/credits/alert-settings', () => {
  const settings = { lowBalanceThreshold: 50, expiryDaysBefore: 14 }

  it('are 10 credits and 7 days by default', async () => {
    const { client } = await person()
    const before = await client.call('GET', '/credits/alert-settings')
    expect(before.data).toEqual({ lowBalanceThreshold: 10, expiryDaysBefore: 7 })
    expect((await client.call('PUT', '/credits/alert-settings', { body: settings })).data).toEqual(settings)
    expect((await client.call('GET', '/credits/alert-settings')).data).toEqual(settings)
    expect((await client.call('GET', '/credits/balance')).data).toMatchObject({ lowBalanceThreshold: 50 })
  })

  it.each(['owner', 'admin', 'billing'] as const)('can be set by role %s', async (role) => {
    const { id: workspaceId } = await insertWorkspace(world.db, { name: 'team', plan: 'pro' })
    const { client } = await person({ member: { workspaceId, role } })
    expect((await client.call('PUT', '/credits/alert-settings', { body: settings })).status).toBe(200)
  })

  it('can be read but not set by a member', async () => {
    const { id: workspaceId } = await insertWorkspace(world.db, { name: 'team', plan: 'pro' })
    const { client } = await person({ member: { workspaceId, role: 'member' } })
    expect((await client.call('GET', '/credits/alert-settings')).status).toBe(200)
    const setting = client.call('PUT', '/credits/alert-settings', { body: settings })
    await expect(setting).rejects.toMatchObject({ status: 403, code: 'AUTH_FORBIDDEN' })
  })

  it.each([
    ['a negative threshold', { lowBalanceThreshold: -1 }],
    ['a threshold that no column holds', { lowBalanceThreshold: 3_000_000_000 }],
    ['no day', { expiryDaysBefore: 0 }],
    ['more than 30 days', { expiryDaysBefore: 31 }],
    ['half a day', { expiryDaysBefore: 1.5 }],
  ])('reject %s', async (_what, wrong) => {
    const { client } = await person()
    const setting = client.call('PUT', '/credits/alert-settings', { body: { ...settings, ...wrong } })
    const path = `/body/${Object.keys(wrong)[0]}`
    const details = { issues: [expect.objectContaining({ path })] }
    await expect(setting).rejects.toMatchObject({ status: 400, code: 'INVALID_PARAMS', details })
  })

  it('rearm warnings for existing lots, once per notice', async () => {
    const { client, workspaceId } = await person({ credits: 0 })
    const expiresAt = inDays(20)
    const lot = await grantCredits(world.db, { workspaceId, kind: 'test', amount: 2, expiresAt })
    const dueDays = async () => {
      const row = await world.db
        .selectFrom('credit_lot')
        .select('warn_at')
        .where('id', '=', lot?.lotId ?? '')
        .execute()
      return row[0]?.warn_at && (expiresAt.getTime() - row[0].warn_at.getTime()) / (24 * 3_600_000)
    }
    const set = (expiryDaysBefore: number) =>
      client.call('PUT', '/credits/alert-settings', { body: { ...settings, expiryDaysBefore } })
    expect(await dueDays()).toBe(7)
    await set(14)
    expect(await dueDays()).toBe(14)
    await sql`insert into credit_expiry_warning (lot_id, days) values (${lot?.lotId}, 21)`.execute(world.db)
    await set(21)
    expect(await dueDays()).toBeNull()
    const later = await grantCredits(world.db, { workspaceId, kind: 'test', amount: 2, expiresAt })
    const { warn_at } = await world.db
      .selectFrom('credit_lot')
      .select('warn_at')
      .where('id', '=', later?.lotId ?? '')
      .executeTakeFirstOrThrow()
    expect(warn_at?.getTime()).toBe(expiresAt.getTime() - 21 * 24 * 3_600_000)
  })
})
