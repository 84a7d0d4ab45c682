// The user's profile, subscription, logins and workspaces.
import { randomUUID } from 'node:crypto'
import { hashRefreshToken } from '@matte/people/identity/session/refresh-token'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { givenPerson } from '../support/app/people.ts'
import { givenWorkspace } from '../support/factories.ts'

const world = useApi()
const person = (options?: Parameters<typeof givenPerson>[2]) => givenPerson(world.db, world.api, options)

/** Hashes of the session's unused refresh tokens. */
async function unspentOf(sessionId: string): Promise<Buffer[]> {
  const tokens = world.db.selectFrom('refresh_token').select('hash').where('session_id', '=', sessionId)
  return (await tokens.where('spent_at', 'is', null).execute()).map(({ hash }) => hash)
}

type Profile = Record<string, unknown>
type Page = { readonly items: Record<string, unknown>[]; readonly total: number; readonly nextCursor: string | null }
type Tokens = { readonly accessToken: string; readonly refreshToken: string }

describe('the profile', () => {
  it('returns the user', async () => {
    const { client, userId, email } = await person()
    expect((await client.call<Profile>('GET', '/users/profile')).data).toEqual({
      id: userId,
      email,
      emailVerified: true,
      name: null,
      locale: 'en',
      timeZone: 'UTC',
      avatarUrl: null,
      mfaEnabled: false,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    })
  })

  it('changes the given fields, in canonical form; empty values clear them', async () => {
    const { client } = await person()
    const patch = async (body: object) => (await client.call<Profile>('PATCH', '/users/profile', { body })).data
    const first = { name: ' Anna ', locale: 'pt-br', timeZone: 'europe/vienna', avatarUrl: 'https://example.com/a.png' }
    const changed = { name: 'Anna', locale: 'pt-BR', timeZone: 'Europe/Vienna', avatarUrl: first.avatarUrl }
    expect(await patch(first)).toMatchObject(changed)
    expect(await patch({ name: null })).toMatchObject(changed)
    expect(await patch({ name: '', avatarUrl: '' })).toMatchObject({ ...changed, name: null, avatarUrl: null })
  })

  it.each([
    [{ locale: 'not a locale' }, '/body/locale'],
    [{ timeZone: 'Mars/Olympus' }, '/body/timeZone'],
    [{ timeZone: '+01:00' }, '/body/timeZone'],
    [{ avatarUrl: 'http://example.com/a.png' }, '/body/avatarUrl'],
    [{ avatarUrl: 'https://user:secret@example.com/' }, '/body/avatarUrl'],
    [{ name: 'a\u0000b' }, '/body/name'],
    [{ name: 'x'.repeat(201) }, '/body/name'],
  ])('cannot be changed to %j', async (body, path) => {
    const { client } = await person()
    await expect(client.call('PATCH', '/users/profile', { body })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      details: { issues: [{ path }] },
    })
  })
})

describe('the subscription', () => {
  it('has plan, limits and credits of the token’s workspace', async () => {
    const { client, workspaceId } = await person({ plan: 'business', credits: 7 })
    expect((await client.call('GET', '/users/subscription')).data).toMatchObject({
      workspaceId,
      plan: 'business',
      status: 'none',
      period: null,
      limits: { requestsPerMinute: 2_400, batchLimit: 50, monthlyQuota: 10_000, apiAccess: true },
      credits: { available: 7, held: 0, total: 7, perPeriod: 10_000 },
    })
  })

  it('is that of the personal workspace for a former member', async () => {
    const { id } = await givenWorkspace(world.db, { plan: 'enterprise', credits: 3 })
    const { client, userId, personalWorkspaceId } = await person({
      plan: 'pro',
      member: { workspaceId: id, role: 'member' },
    })
    await world.db.deleteFrom('membership').where('user_id', '=', userId).where('workspace_id', '=', id).execute()
    expect((await client.call('GET', '/users/subscription')).data).toMatchObject({
      workspaceId: personalWorkspaceId,
      plan: 'pro',
      credits: { available: 100 },
    })
  })
})

describe('the login history', () => {
  it('has the user’s own logins, newest first, page by page', async () => {
    const [one, other] = [await person(), await person()]
    const login = { method: 'password', ip_address: '203.0.113.7', user_agent: 'test' } as const
    const note = (user_id: string, failure_reason: string | null) => {
      const values = { ...login, user_id, success: failure_reason === null, failure_reason }
      return world.db.insertInto('login_event').values(values).execute()
    }
    await note(one.userId, 'wrong_password')
    await note(other.userId, null)
    await note(one.userId, null)
    const first = (await one.client.call<Page>('GET', '/users/login-history?pageSize=1')).data
    expect(first).toMatchObject({ total: 2, items: [{ success: true, failureReason: null, ipAddress: '203.0.113.7' }] })
    const cursor = first.nextCursor ?? ''
    const second = (await one.client.call<Page>('GET', `/users/login-history?pageSize=1&cursor=${cursor}`)).data
    expect(second).toMatchObject({ items: [{ success: false, failureReason: 'wrong_password' }], nextCursor: null })
  })
})

describe('workspaces', () => {
  it('lists the user’s workspaces, with role and the current one', async () => {
    const { id } = await givenWorkspace(world.db, { plan: 'pro' })
    const { client, personalWorkspaceId } = await person({ member: { workspaceId: id, role: 'billing' } })
    await person()
    const { items } = (await client.call<Page>('GET', '/users/workspaces')).data
    expect(items).toMatchObject([
      { id: personalWorkspaceId, role: 'owner', current: false },
      { id, role: 'billing', current: true, plan: 'pro' },
    ])
  })

  it('can be switched: tokens and session change to the other one', async () => {
    const { id } = await givenWorkspace(world.db, { plan: 'pro', credits: 5 })
    const { client, personalWorkspaceId, sessionId } = await person({ member: { workspaceId: id, role: 'member' } })
    const balanceWith = async (token: string) =>
      (await createAppClient(world.api.url, token).call('GET', '/credits/balance')).data
    const path = (workspaceId: string) => `/users/workspaces/${workspaceId}/switch`
    const personal = (await client.call<Tokens>('POST', path(personalWorkspaceId))).data
    expect(await balanceWith(personal.accessToken)).toMatchObject({ available: 100 })
    const shared = (await client.call<Tokens>('POST', path(id.toUpperCase()))).data
    expect(await balanceWith(shared.accessToken)).toMatchObject({ available: 5 })
    const session = world.db.selectFrom('session').select('workspace_id').where('id', '=', sessionId)
    expect(await session.executeTakeFirst()).toEqual({ workspace_id: id })
    // One refresh token is usable: that of the last switch.
    expect(await unspentOf(sessionId)).toEqual([hashRefreshToken(shared.refreshToken)])
  })

  it.each(['another’s', 'nobody’s', 'not-an-id'])('%s is not found', async (which) => {
    const { client } = await person()
    const ids = { 'another’s': (await person()).workspaceId, 'nobody’s': randomUUID(), 'not-an-id': 'not-an-id' }
    const id = ids[which as keyof typeof ids]
    await expect(client.call('POST', `/users/workspaces/${id}/switch`)).rejects.toMatchObject({
      status: 404,
      code: 'NOT_FOUND',
    })
  })

  it('two concurrent switches leave one session in one workspace with one token', async () => {
    const { id } = await givenWorkspace(world.db, { plan: 'pro' })
    const { client, personalWorkspaceId, sessionId } = await person({ member: { workspaceId: id, role: 'member' } })
    const targets = [id, personalWorkspaceId, id, personalWorkspaceId]
    await Promise.all(targets.map((target) => client.call('POST', `/users/workspaces/${target}/switch`)))
    expect(await unspentOf(sessionId)).toHaveLength(1)
  })
})
