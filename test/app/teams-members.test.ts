// Team members, their roles, and the effects of leaving.
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { givenKeyOf, givenTeam, readInviteMails, type Team } from '../support/app/teams.ts'
import { until } from '../support/until.ts'

const world = useApi()

type Member = { userId: string; email: string; role: string }
type Page<T> = { items: T[]; total: number }

const setRole = (by: Person, { path }: Team, [{ userId }, role]: readonly [{ userId: string }, string]) =>
  by.client.call<Member>('PATCH', `${path}/members/${userId}`, { body: { role } })
const invite = (by: Person, { path }: Team, email: string) =>
  by.client.call('POST', `${path}/invites`, { body: { email, role: 'admin' } })
const remove = (by: Person, { path }: Team, { userId }: { userId: string }) =>
  by.client.call('DELETE', `${path}/members/${userId}`)
const removeAndAdopt = (by: Person, { path }: Team, { userId }: { userId: string }) =>
  by.client.call('DELETE', `${path}/members/${userId}?adoptKeys=true`)
const rolesIn = async ({ id }: Team): Promise<Record<string, string>> => {
  const rows = await world.db
    .selectFrom('membership')
    .select(['user_id', 'role'])
    .where('workspace_id', '=', id)
    .execute()
  return Object.fromEntries(rows.map(({ user_id, role }) => [user_id, role]))
}
const statusOf = (call: Promise<{ status: number }>): Promise<number> =>
  call.then(
    ({ status }) => status,
    (error: { status: number }) => error.status,
  )

describe('GET /app/teams/{teamId}/members', () => {
  it('lists every member, for owners and admins only', async () => {
    const team = await givenTeam(world)
    const admin = await team.member('admin')
    const billing = await team.member('billing')
    const { data } = await admin.client.call<Page<Member>>('GET', `${team.path}/members`)
    expect(data.items).toMatchObject([
      { userId: team.owner.userId, email: team.owner.email, role: 'owner', name: null },
      { userId: admin.userId, role: 'admin' },
      { userId: billing.userId, role: 'billing' },
    ])
    await expect(billing.client.call('GET', `${team.path}/members`)).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
  })
})

describe('PATCH /app/teams/{teamId}/members/{userId}', () => {
  it('changes a role within 5 s, also where the member is cached', async () => {
    const team = await givenTeam(world)
    const member = await team.member('member')
    const rename = () => member.client.call('PATCH', team.path, { body: { name: 'Mine now' } })
    expect(await statusOf(rename())).toBe(403)
    expect((await setRole(team.owner, team, [member, 'owner'])).data).toMatchObject({ role: 'owner' })
    await until('the new role is in force', async () => (await statusOf(rename())) === 200, { timeoutMs: 5_000 })
    await setRole(team.owner, team, [member, 'billing'])
    await until('and so is the next', async () => (await statusOf(rename())) === 403, { timeoutMs: 5_000 })
  })

  it('revokes keys and invitations of a former owner or admin, unless an owner adopts the keys', async () => {
    const team = await givenTeam(world)
    const [admin, second] = [await team.member('admin'), await team.member('admin')]
    const makeKey = async ({ client }: Person) =>
      (await client.call<{ id: string; key: string }>('POST', '/developer/api-keys', { body: { name: 'shop' } })).data
    const [lost, kept, untouched] = [await makeKey(admin), await makeKey(second), await makeKey(team.owner)]
    await invite(admin, team, 'not-by-a-member@example.com')
    const ask = ({ key }: { key: string }) => statusOf(world.api.client(key).call('GET', '/tasks'))
    expect([await ask(lost), await ask(kept)]).toEqual([200, 200])
    const adopting = (by: Person, { userId }: Person) =>
      by.client.call('PATCH', `${team.path}/members/${userId}`, { body: { role: 'member', adoptKeys: true } })
    await expect(adopting(admin, second)).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
    await expect(adopting(admin, admin)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await rolesIn(team)).toMatchObject({ [admin.userId]: 'admin', [second.userId]: 'admin' })

    await setRole(team.owner, team, [admin, 'member'])
    await adopting(team.owner, second)
    const makers = await world.db
      .selectFrom('api_key')
      .select(['id', 'created_by'])
      .where('workspace_id', '=', team.id)
      .where('revoked_at', 'is', null)
      .execute()
    expect(new Map(makers.map(({ id, created_by }) => [id, created_by]))).toEqual(
      new Map([kept, untouched].map(({ id }) => [id, team.owner.userId])),
    )
    const { data } = await team.owner.client.call<Page<object>>('GET', `${team.path}/invites`)
    expect(data.items).toEqual([])
    await until('the key is refused', async () => (await ask(lost)) === 401, { timeoutMs: 5_000 })
    expect([await ask(kept), await ask(untouched)]).toEqual([200, 200])
  })

  it('requires an owner to change owners', async () => {
    const team = await givenTeam(world)
    const admin = await team.member('admin')
    const member = await team.member('member')
    const forbidden = { status: 403, code: 'AUTH_FORBIDDEN' }
    await expect(setRole(admin, team, [team.owner, 'member'])).rejects.toMatchObject(forbidden)
    await expect(setRole(admin, team, [member, 'owner'])).rejects.toMatchObject(forbidden)
    await expect(setRole(admin, team, [admin, 'owner'])).rejects.toMatchObject(forbidden)
    await expect(remove(admin, team, team.owner)).rejects.toMatchObject(forbidden)
    await expect(setRole(member, team, [member, 'admin'])).rejects.toMatchObject(forbidden)
    expect((await setRole(admin, team, [member, 'admin'])).data.role).toBe('admin')
    expect(await rolesIn(team)).toEqual({
      [team.owner.userId]: 'owner',
      [admin.userId]: 'admin',
      [member.userId]: 'admin',
    })
  })

  it('finds no members of other teams, and no invalid ids', async () => {
    const [team, other] = [await givenTeam(world), await givenTeam(world)]
    const elsewhere = await other.member('member')
    for (const userId of [elsewhere.userId, 'none']) {
      await expect(setRole(team.owner, team, [{ userId }, 'admin'])).rejects.toMatchObject({ code: 'NOT_FOUND' })
      // The id is checked before the body.
      await expect(setRole(team.owner, team, [{ userId }, 'king'])).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    await expect(setRole(team.owner, team, [team.owner, 'king'])).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
  })
})

describe('the last owner', () => {
  const conflict = { status: 409, code: 'CONFLICT' }

  it('cannot be demoted', async () => {
    const team = await givenTeam(world)
    await team.member('admin')
    await expect(remove(team.owner, team, team.owner)).rejects.toMatchObject(conflict)
    await expect(setRole(team.owner, team, [team.owner, 'admin'])).rejects.toMatchObject(conflict)
  })

  it('must be able to sign in: another with a disabled account does not count', async () => {
    const team = await givenTeam(world)
    const { userId } = await team.member('owner')
    await world.db.updateTable('app_user').set({ disabled_at: new Date() }).where('id', '=', userId).execute()
    await expect(remove(team.owner, team, team.owner)).rejects.toMatchObject(conflict)
    await expect(team.owner.client.call('POST', `${team.path}/transfer`, { body: { userId } })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })

  it.each([
    ['leave', (team: Team, by: Person) => remove(by, team, by)],
    ['step down', (team: Team, by: Person) => setRole(by, team, [by, 'member'])],
  ])('remains when two %s concurrently', async (_what, act) => {
    for (let round = 0; round < 8; round += 1) {
      const team = await givenTeam(world, { credits: 0 })
      const second = await team.member('owner')
      const ended = await Promise.allSettled([act(team, team.owner), act(team, second)])
      expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
      const owners = Object.values(await rolesIn(team)).filter((role) => role === 'owner')
      expect(owners).toHaveLength(1)
    }
  })

  it('remains when two remove each other concurrently', async () => {
    for (let round = 0; round < 8; round += 1) {
      const team = await givenTeam(world, { credits: 0 })
      const second = await team.member('owner')
      const ended = await Promise.allSettled([remove(team.owner, team, second), remove(second, team, team.owner)])
      expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
      expect(Object.values(await rolesIn(team))).toEqual(['owner'])
    }
  })
})

describe('POST /app/teams/{teamId}/transfer', () => {
  it('makes a member the owner and the owner an admin', async () => {
    const team = await givenTeam(world)
    const heir = await team.member('billing')
    const body = { userId: heir.userId }
    const { data } = await team.owner.client.call('POST', `${team.path}/transfer`, { body })
    expect(data).toMatchObject({ id: team.id, role: 'admin' })
    expect(await rolesIn(team)).toEqual({ [heir.userId]: 'owner', [team.owner.userId]: 'admin' })
    // A cache may still have the role owner.
    await expect(
      team.owner.client.call('POST', `${team.path}/transfer`, { body: { userId: team.owner.userId } }),
    ).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
  })

  it('requires an owner, and a member as target', async () => {
    const team = await givenTeam(world)
    const admin = await team.member('admin')
    const stranger = await givenPerson(world.db, world.api)
    const transfer = (by: Person, { userId }: Person) =>
      by.client.call('POST', `${team.path}/transfer`, { body: { userId } })
    await expect(transfer(admin, admin)).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
    await expect(transfer(team.owner, stranger)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(transfer(team.owner, team.owner)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await rolesIn(team)).toMatchObject({ [team.owner.userId]: 'owner', [admin.userId]: 'admin' })
  })
})

describe('DELETE /app/teams/{teamId}/members/{userId}', () => {
  const keysOf = (workspaceId: string) =>
    world.db
      .selectFrom('api_key')
      .select(['created_by', 'revoked_at'])
      .where('workspace_id', '=', workspaceId)
      .orderBy('created_at')
      .execute()

  it('revokes the member’s keys, invitations and sessions', async () => {
    const team = await givenTeam(world)
    const admin = await team.member('admin')
    const { key } = await givenKeyOf(world.db, team.id, admin.userId)
    await givenKeyOf(world.db, team.id, team.owner.userId)
    const email = 'left-behind@example.com'
    await invite(admin, team, email)
    const client = world.api.client(key)
    await client.listTasks()

    const { data } = await remove(team.owner, team, admin)
    expect(data).toEqual({ id: admin.userId, deleted: true })
    expect(await keysOf(team.id)).toEqual([
      { created_by: admin.userId, revoked_at: expect.any(Date) },
      { created_by: team.owner.userId, revoked_at: null },
    ])
    const session = await world.db
      .selectFrom('session')
      .select('workspace_id')
      .where('id', '=', admin.sessionId)
      .executeTakeFirst()
    expect(session?.workspace_id).toBe(admin.personalWorkspaceId)
    const { data: invites } = await team.owner.client.call<Page<object>>('GET', `${team.path}/invites`)
    expect(invites.items).toEqual([])
    const [mail] = await readInviteMails(world, email)
    const invited = await givenPerson(world.db, world.api, { email })
    await expect(
      invited.client.call('POST', '/teams/invites/accept', { body: { token: mail?.token } }),
    ).rejects.toMatchObject({ code: 'CONFLICT', details: { status: 'revoked' } })
    const within = { timeoutMs: 5_000 }
    await until('the key is refused', async () => (await statusOf(client.call('GET', '/tasks'))) === 401, within)
    const balance = () => admin.client.call('GET', '/credits/balance')
    await until('the token opens the team no more', async () => (await statusOf(balance())) === 404, within)
    const own = createAppClient(world.api.url, admin.accessToken)
    expect((await own.call<Page<object>>('GET', '/teams')).data.items).toEqual([])
  })

  it('keeps keys that an owner adopts', async () => {
    const team = await givenTeam(world)
    const admin = await team.member('admin')
    const member = await team.member('member')
    const { key } = await givenKeyOf(world.db, team.id, member.userId)
    await expect(removeAndAdopt(admin, team, member)).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
    await expect(removeAndAdopt(member, team, member)).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await rolesIn(team)).toHaveProperty(member.userId)
    await removeAndAdopt(team.owner, team, member)
    expect(await keysOf(team.id)).toEqual([{ created_by: team.owner.userId, revoked_at: null }])
    expect((await world.api.client(key).listTasks()).items).toEqual([])
  })

  it('lets every member leave, and remove only members below their role', async () => {
    const team = await givenTeam(world)
    const [billing, member, admin] = [
      await team.member('billing'),
      await team.member('member'),
      await team.member('admin'),
    ]
    await expect(remove(billing, team, member)).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
    await expect(remove(member, team, billing)).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
    await remove(member, team, member)
    await remove(admin, team, billing)
    await remove(admin, team, admin)
    expect(await rolesIn(team)).toEqual({ [team.owner.userId]: 'owner' })
    await expect(remove(team.owner, team, member)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})
