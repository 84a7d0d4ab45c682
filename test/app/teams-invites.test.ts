// Invitations: delivery, acceptance once, and limits.
import { randomBytes } from 'node:crypto'
import { hasOpenInvite } from '@matte/people/team/open-invite'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { givenTeam, readInviteMails, type Team } from '../support/app/teams.ts'

const world = useApi()

type Invite = { id: string; email: string; role: string; invitedBy: string; createdAt: string; expiresAt: string }
type Page<T> = { items: T[]; total: number }

const newAddress = (): string => `I-${randomBytes(6).toString('hex')}@Example.com`
const invite = (by: Person, { path }: Team, wanted: string | { email: string; role: string }) => {
  const body = typeof wanted === 'string' ? { email: wanted, role: 'member' } : wanted
  return by.client.call<Invite>('POST', `${path}/invites`, { body })
}
const accept = (person: Person, token: string | undefined, headers: Record<string, string> = {}) =>
  person.client.call<{ id: string; role: string }>('POST', '/teams/invites/accept', { body: { token }, headers })
const listed = async (by: Person, { path }: Team) =>
  (await by.client.call<Page<Invite>>('GET', `${path}/invites`)).data.items
const latestToken = async (email: string) => (await readInviteMails(world, email)).at(-1)?.token
const invited = (email: string) => givenPerson(world.db, world.api, { email })
/** Moves the invitation back by this much time. */
const age = (email: string, days: number) =>
  sql`update team_invite set created_at = created_at - ${days} * interval '1 day',
             expires_at = expires_at - ${days} * interval '1 day' where lower(email) = lower(${email})`.execute(
    world.db,
  )
const dayMs = 24 * 60 * 60 * 1_000

describe('POST /app/teams/{teamId}/invites', () => {
  it('responds the same for an address with an account and one without, and mails both', async () => {
    const team = await givenTeam(world)
    const admin = await team.member('admin')
    const known = await givenPerson(world.db, world.api)
    const unknown = newAddress()
    const answers = [await invite(admin, team, known.email.toUpperCase()), await invite(admin, team, unknown)]
    for (const { status, data } of answers) {
      expect(status).toBe(201)
      expect(Object.keys(data)).toEqual(Object.keys(answers[0]?.data ?? {}))
      expect(data).toMatchObject({ role: 'member', invitedBy: admin.userId })
      expect(Date.parse(data.expiresAt) - Date.parse(data.createdAt)).toBe(7 * dayMs)
    }
    // The mail goes to the stored address of the account.
    expect(await readInviteMails(world, known.email)).toMatchObject([
      { teamName: 'Shop', inviterEmail: admin.email, role: 'member', userId: known.userId },
    ])
    expect(await readInviteMails(world, unknown)).toMatchObject([{ teamName: 'Shop', userId: null }])
    expect((await listed(admin, team)).map(({ email }) => email)).toEqual([unknown, known.email.toUpperCase()])
  })

  it('keeps the token only in the sent mail', async () => {
    const team = await givenTeam(world)
    const email = newAddress()
    const { data } = await invite(team.owner, team, email)
    const token = (await latestToken(email)) ?? ''
    expect(token).toMatch(/^invite_[\w-]{43}$/)
    expect(JSON.stringify([data, await listed(team.owner, team)])).not.toContain(token)
    const row = await sql<{ text: string }>`select i::text as text from team_invite i where id = ${data.id}`.execute(
      world.db,
    )
    expect(row.rows[0]?.text).not.toContain(token)
  })

  it('notifies an account by the event team.invitation, and no endpoints of the team', async () => {
    const team = await givenTeam(world)
    const person = await givenPerson(world.db, world.api)
    for (const workspaceId of [person.personalWorkspaceId, team.id]) await givenEndpoint(workspaceId)
    const { data } = await invite(team.owner, team, { email: person.email, role: 'billing' })
    const token = await latestToken(person.email)
    const deliveries = await world.db
      .selectFrom('delivery')
      .select(['workspace_id', 'event_key', 'body'])
      .where('event', '=', 'team.invitation')
      .where('event_key', '=', data.id)
      .execute()
    expect(deliveries).toMatchObject([{ workspace_id: person.personalWorkspaceId }])
    expect(JSON.parse(deliveries[0]?.body ?? '')).toEqual({
      event: 'team.invitation',
      team_name: 'Shop',
      inviter_email: team.owner.email,
      role: 'billing',
      invite_url: `${world.api.url}/api/v1/app/pages/teams/accept?token=${token}`,
      message: expect.any(String),
    })
    const due = await world.db
      .selectFrom('notification_due')
      .select(['user_id', 'event'])
      .where('event_key', '=', data.id)
      .execute()
    expect(due).toEqual([{ user_id: person.userId, event: 'team.invitation' }])
  })

  it('requires owner or admin, never assigns owner, and accepts addresses only', async () => {
    const team = await givenTeam(world)
    for (const role of ['billing', 'member'] as const) {
      await expect(invite(await team.member(role), team, newAddress())).rejects.toMatchObject({
        code: 'AUTH_FORBIDDEN',
      })
    }
    const invalid = { code: 'INVALID_PARAMS' }
    await expect(invite(team.owner, team, { email: newAddress(), role: 'owner' })).rejects.toMatchObject(invalid)
    for (const email of ['a', 'a@b@c', 'a b@example.com', 'a,b@example.com', 'a@example.com\r\nBcc: b@example.com']) {
      await expect(invite(team.owner, team, email)).rejects.toMatchObject(invalid)
    }
    await expect(invite(team.owner, team, team.owner.email.toUpperCase())).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  it('is sent once per idempotency key', async () => {
    const team = await givenTeam(world)
    const email = newAddress()
    const options = { body: { email, role: 'member' }, headers: { 'idempotency-key': 'one' } }
    const first = await team.owner.client.call<Invite>('POST', `${team.path}/invites`, options)
    const again = await team.owner.client.call<Invite>('POST', `${team.path}/invites`, options)
    expect(again.data).toEqual(first.data)
    expect(await readInviteMails(world, email)).toHaveLength(1)
  })

  it('is limited per address, per person and by open invitations', async () => {
    const team = await givenTeam(world)
    const admin = await team.member('admin')
    const email = newAddress()
    for (let i = 0; i < 5; i += 1) await invite(admin, team, email)
    const other = await givenTeam(world)
    // Another team counts to the same address.
    await expect(invite(other.owner, other, email.toLowerCase())).rejects.toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      details: { limit: 'address' },
    })
    const sent = await Promise.allSettled(Array.from({ length: 48 }, () => invite(admin, team, newAddress())))
    expect(sent.filter(({ status }) => status === 'fulfilled')).toHaveLength(45)
    await expect(invite(admin, team, newAddress())).rejects.toMatchObject({ details: { limit: 'inviter', perDay: 50 } })
    for (let i = 0; i < 50; i += 1) await invite(team.owner, team, newAddress())
    const second = await team.member('admin')
    await expect(invite(second, team, newAddress())).rejects.toMatchObject({ details: { limit: 'team', perDay: 100 } })
    await sql`update team_invite set created_at = created_at - interval '2 days'
               where workspace_id = ${team.id}`.execute(world.db)
    await sql`update mail_room set spent_until = spent_until - interval '2 days'`.execute(world.db)
    for (let i = 0; i < 4; i += 1) await invite(second, team, newAddress())
    await expect(invite(second, team, newAddress())).rejects.toMatchObject({
      code: 'CONFLICT',
      details: { limit: 100 },
    })
    // Repeating an open one adds none.
    await invite(second, team, email)
  }, 120_000)
})

it('counts one person’s invitations over all teams, also when concurrent', async () => {
  for (let round = 0; round < 10; round += 1) {
    const teams = [await givenTeam(world, { credits: 0 }), await givenTeam(world, { credits: 0 })] as const
    const admin = await teams[0].member('admin')
    const { id: workspace_id } = teams[1]
    await world.db.insertInto('membership').values({ workspace_id, user_id: admin.userId, role: 'admin' }).execute()
    // As if all but one of the day had been sent.
    await sql`insert into team_invite (workspace_id, email, role, token_hash, invited_by, expires_at, ended_at, ending)
      select ${workspace_id}, n || '-' || gen_random_uuid() || '@example.com', 'member',
             sha256(gen_random_uuid()::text::bytea), ${admin.userId}, now() + interval '7 days', now(), 'revoked'
        from generate_series(1, 49) n`.execute(world.db)
    for (const { path } of teams) await admin.client.call('GET', `${path}/invites`)
    const sent = await Promise.allSettled(teams.map((team) => invite(admin, team, newAddress())))
    expect(sent.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  }
})

describe('POST /app/teams/invites/accept', () => {
  it('makes the invited user a member, in any case of the address, once', async () => {
    const team = await givenTeam(world)
    const email = newAddress()
    await invite(team.owner, team, { email, role: 'billing' })
    const person = await invited(email.toLowerCase())
    const token = await latestToken(email)
    expect((await accept(person, token)).data).toMatchObject({ id: team.id, role: 'billing', memberCount: 2 })
    expect(await listed(team.owner, team)).toEqual([])
    await expect(accept(person, token)).rejects.toMatchObject({ code: 'CONFLICT' })
    await person.client.call('DELETE', `${team.path}/members/${person.userId}`)
    await expect(accept(person, token)).rejects.toMatchObject({ code: 'CONFLICT', details: { status: 'accepted' } })
    await invite(team.owner, team, { email, role: 'member' })
    expect((await accept(person, await latestToken(person.email))).data).toMatchObject({ role: 'member' })
  })

  it('is recorded in the audit log of the team', async () => {
    const team = await givenTeam(world)
    const email = newAddress()
    const { data } = await invite(team.owner, team, email)
    const person = await invited(email)
    await accept(person, await latestToken(email))
    const { data: log } = await team.owner.client.call<Page<object>>('GET', `${team.path}/audit-log`)
    expect(log.items).toMatchObject([
      { action: 'acceptTeamInvite', actorId: person.userId, target: data.id },
      { action: 'createTeamInvite', actorId: team.owner.userId, target: data.id },
    ])
  })

  it('is rejected for another address, and for an unverified one', async () => {
    const team = await givenTeam(world)
    const email = newAddress()
    await invite(team.owner, team, email)
    const token = await latestToken(email)
    const forbidden = { status: 403, code: 'AUTH_FORBIDDEN' }
    await expect(accept(await givenPerson(world.db, world.api), token)).rejects.toMatchObject(forbidden)
    const person = await invited(email)
    const setVerified = (at: Date | null) =>
      world.db.updateTable('app_user').set({ email_verified_at: at }).where('id', '=', person.userId).execute()
    await setVerified(null)
    await expect(accept(person, token)).rejects.toMatchObject(forbidden)
    await setVerified(new Date())
    expect((await accept(person, token)).status).toBe(200)
  })

  it('is rejected after 7 days, after revocation, and for a replaced or unknown token', async () => {
    const team = await givenTeam(world)
    const email = newAddress()
    const person = await invited(email)
    await invite(team.owner, team, email)
    const replaced = await latestToken(email)
    const { data } = await invite(team.owner, team, { email, role: 'admin' })
    const latest = await latestToken(email)
    await expect(accept(person, replaced)).rejects.toMatchObject({ code: 'CONFLICT', details: { status: 'replaced' } })
    await age(email, 7)
    await expect(accept(person, latest)).rejects.toMatchObject({ code: 'CONFLICT', details: { status: 'expired' } })
    expect(await listed(team.owner, team)).toEqual([])
    await age(email, -1)
    expect(await listed(team.owner, team)).toMatchObject([{ id: data.id, role: 'admin' }])
    await team.owner.client.call('DELETE', `${team.path}/invites/${data.id}`)
    await expect(accept(person, latest)).rejects.toMatchObject({ code: 'CONFLICT', details: { status: 'revoked' } })
    await expect(accept(person, 'invite_none')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(team.owner.client.call('DELETE', `${team.path}/invites/${data.id}`)).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })

  it('succeeds once with concurrent requests, and once for a repeated key', async () => {
    const team = await givenTeam(world)
    const email = newAddress()
    await invite(team.owner, team, email)
    const token = await latestToken(email)
    const person = await invited(email)
    const ended = await Promise.allSettled(Array.from({ length: 8 }, () => accept(person, token)))
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const each of ended) if (each.status === 'rejected') expect(each.reason.code).toBe('CONFLICT')

    const second = newAddress()
    await invite(team.owner, team, second)
    const other = await invited(second)
    const key = { 'idempotency-key': 'join' }
    const first = await accept(other, await latestToken(second), key)
    const again = await accept(other, await latestToken(second), key)
    expect(again.data).toEqual(first.data)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  })

  it('comes before or after a concurrent revocation, never both', async () => {
    for (let round = 0; round < 6; round += 1) {
      const team = await givenTeam(world, { credits: 0 })
      const email = newAddress()
      const { data } = await invite(team.owner, team, email)
      const person = await invited(email)
      const token = await latestToken(email)
      const [accepted, revoked] = await Promise.allSettled([
        accept(person, token),
        team.owner.client.call('DELETE', `${team.path}/invites/${data.id}`),
      ])
      expect([accepted.status, revoked.status].sort()).toEqual(['fulfilled', 'rejected'])
    }
  })
})

describe('an address with an open invitation', () => {
  it('may register while registration requires an invitation', async () => {
    const team = await givenTeam(world)
    const email = newAddress()
    expect(await hasOpenInvite(world.db, email)).toBe(false)
    await invite(team.owner, team, email)
    expect(await hasOpenInvite(world.db, email.toLowerCase())).toBe(true)
    await age(email, 7)
    expect(await hasOpenInvite(world.db, email)).toBe(false)
    const other = newAddress()
    const { data } = await invite(team.owner, team, other)
    await team.owner.client.call('DELETE', `${team.path}/invites/${data.id}`)
    expect(await hasOpenInvite(world.db, other)).toBe(false)
  })
})

async function givenEndpoint(workspaceId: string): Promise<void> {
  const target_url = 'https://93.184.216.34/'
  await world.db
    .insertInto('webhook_endpoint')
    .values({
      ...{ workspace_id: workspaceId, target_url, target_href: target_url, target_host: '93.184.216.34:443' },
      ...{ event_types: [], secret_sealed: 'none' },
    })
    .execute()
}
