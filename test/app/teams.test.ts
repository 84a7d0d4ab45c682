// Teams: creation, listing, and renaming.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { type Team as GivenTeam, givenTeam } from '../support/app/teams.ts'
import { until } from '../support/until.ts'

const world = useApi()

type Team = { id: string; name: string; plan: string; role: string; memberCount: number; createdAt: string }
type Page<T> = { items: T[]; total: number }

const someone = () => givenPerson(world.db, world.api)

describe('POST /app/teams', () => {
  it('creates a team on plan Free without credits, with its creator as owner', async () => {
    const { client, userId } = await someone()
    const { status, data } = await client.call<Team>('POST', '/teams', { body: { name: 'Shop & Söhne  ' } })
    expect(status).toBe(201)
    expect(data).toMatchObject({ name: 'Shop & Söhne', plan: 'free', role: 'owner', memberCount: 1 })
    expect((await client.call<Team>('GET', `/teams/${data.id}`)).data).toEqual(data)
    expect((await client.call<Page<Team>>('GET', '/teams')).data.items).toEqual([data])
    const credits = await client.call('GET', `/teams/${data.id}/credits`)
    expect(credits.data).toMatchObject({ available: 0, held: 0, members: [{ userId, used: 0, monthlyLimit: null }] })
  })

  it('creates one per idempotency key, and repeats the response', async () => {
    const { client } = await someone()
    const options = { body: { name: 'Once' }, headers: { 'idempotency-key': randomUUID() } }
    const [first, second] = await Promise.all([
      until('it is answered', () => client.call<Team>('POST', '/teams', options)),
      until('it is answered', () => client.call<Team>('POST', '/teams', options)),
    ])
    expect(second?.data).toEqual(first?.data)
    expect((await client.call<Page<Team>>('GET', '/teams')).data.total).toBe(1)
  })

  it.each(['', ' ', ' Shop', 'a\nb', 'see https://evil.example', 'ask me@example.com', '<b>', 'x'.repeat(81)])(
    'rejects the name %j, which would appear in mails',
    async (name) => {
      const { client } = await someone()
      await expect(client.call('POST', '/teams', { body: { name } })).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    },
  )

  it('has a limit per owner, also with concurrent requests', async () => {
    const { client, userId } = await someone()
    const made = await Promise.allSettled(
      Array.from({ length: 23 }, (_, i) => client.call('POST', '/teams', { body: { name: `Team ${i}` } })),
    )
    const refused = made.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []))
    expect(refused).toEqual(['CONFLICT', 'CONFLICT', 'CONFLICT'])
    // Transferring teams makes no room for more on the same day.
    await world.db.deleteFrom('membership').where('user_id', '=', userId).where('role', '=', 'owner').execute()
    await expect(client.call('POST', '/teams', { body: { name: 'One more' } })).rejects.toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      details: { limit: 'teams' },
    })
  })
})

describe('a team', () => {
  it('is visible to its members only', async () => {
    const team = await givenTeam(world)
    const member = await team.member('member')
    const stranger = await someone()
    expect((await member.client.call<Page<Team>>('GET', '/teams')).data.items).toMatchObject([
      { id: team.id, role: 'member', memberCount: 2 },
    ])
    expect((await stranger.client.call<Page<Team>>('GET', '/teams')).data.items).toEqual([])
    for (const path of [team.path, `/teams/${randomUUID()}`, '/teams/none']) {
      await expect(stranger.client.call('GET', path)).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
    }
  })

  it('can be renamed by its owner only', async () => {
    const team = await givenTeam(world)
    const body = { name: 'New name' }
    for (const role of ['admin', 'billing', 'member'] as const) {
      const { client } = await team.member(role)
      await expect(client.call('PATCH', team.path, { body })).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
    }
    expect((await team.owner.client.call<Team>('PATCH', team.path, { body })).data.name).toBe('New name')
  })

  it('excludes personal workspaces, which can be read as teams but not changed', async () => {
    const { client, personalWorkspaceId, userId } = await someone()
    const path = `/teams/${personalWorkspaceId}`
    for (const read of ['', '/members', '/invites', '/credits', '/billing', '/audit-log']) {
      expect((await client.call('GET', `${path}${read}`)).status).toBe(200)
    }
    const changes: [string, string, object?][] = [
      ['PATCH', '', { name: 'Mine' }],
      ['PATCH', `/members/${userId}`, { role: 'member' }],
      ['DELETE', `/members/${userId}`],
      ['POST', '/transfer', { userId }],
      ['POST', '/invites', { email: 'a@example.com', role: 'member' }],
      ['DELETE', `/invites/${randomUUID()}`],
      ['PUT', '/credits/limits', { limits: [] }],
      ['PATCH', '/billing', { name: 'Mine' }],
      // Checked before the body.
      ['PATCH', '', { name: '' }],
    ]
    for (const [method, rest, body] of changes) {
      const call = client.call(method, `${path}${rest}`, { ...(body && { body }) })
      await expect(call, `${method} ${rest}`).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
    }
  })
})

describe('an owner of twenty teams', () => {
  const conflict = { status: 409, code: 'CONFLICT', details: { limit: 20 } }

  it.each([
    [
      'handed over',
      (team: GivenTeam, userId: string) =>
        team.owner.client.call('POST', `${team.path}/transfer`, { body: { userId } }),
    ],
    [
      'shared',
      (team: GivenTeam, userId: string) =>
        team.owner.client.call('PATCH', `${team.path}/members/${userId}`, { body: { role: 'owner' } }),
    ],
  ])('gets no further one that is %s, also when concurrent', async (_what, give) => {
    for (let round = 0; round < 4; round += 1) await giveTwo(give)
  })

  async function giveTwo(give: (team: GivenTeam, userId: string) => Promise<unknown>): Promise<void> {
    const heir = await givenPerson(world.db, world.api)
    const [one, two] = [await givenTeamWith(heir), await givenTeamWith(heir)]
    await sql`
      with made as (
        insert into workspace (name, kind, plan) select 'Shop', 'team', 'free' from generate_series(1, 19) returning id
      )
      insert into membership (workspace_id, user_id, role) select id, ${heir.userId}, 'owner' from made`.execute(
      world.db,
    )
    const given = await Promise.allSettled([give(one, heir.userId), give(two, heir.userId)])
    expect(given.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(given.find((each) => each.status === 'rejected')?.reason).toMatchObject(conflict)
    await expect(give(await givenTeamWith(heir), heir.userId)).rejects.toMatchObject(conflict)
  }

  /** Another user's team, with this person as a member. */
  async function givenTeamWith({ userId }: Person): Promise<GivenTeam> {
    const team = await givenTeam(world, { credits: 0 })
    await world.db.insertInto('membership').values({ workspace_id: team.id, user_id: userId, role: 'member' }).execute()
    return team
  }
})
