// Access checks of the App API: the token, its session, and the role in the workspace.
import { randomUUID } from 'node:crypto'
import { signAccessToken } from '@matte/people/identity/session/access-token'
import { readSigningKeys } from '@matte/people/identity/session/signing-keys'
import { SignJWT } from 'jose'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { createAppClient } from '../support/app/app-client.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { givenTeam } from '../support/app/teams.ts'
import { until } from '../support/until.ts'

const world = useApi()

const person = () => givenPerson(world.db, world.api)
const refused = { status: 401, code: 'AUTH_INVALID_TOKEN' }
const balanceWith = (token: string | undefined) => createAppClient(world.api.url, token).call('GET', '/credits/balance')

describe('an access token', () => {
  it('of a live session gives access to the workspace', async () => {
    const { client } = await person()
    expect((await client.call('GET', '/credits/balance')).data).toMatchObject({ available: 100, held: 0 })
  })

  it('is rejected when missing, malformed, or an API key', async () => {
    await expect(balanceWith(undefined)).rejects.toMatchObject(refused)
    await expect(balanceWith('abc')).rejects.toMatchObject(refused)
    const { apiKey } = await world.caller()
    await expect(balanceWith(apiKey)).rejects.toMatchObject(refused)
  })

  it.each([
    ['type', { typ: 'JWT' }],
    ['issuer', { issuer: 'https://elsewhere.example' }],
    ['audience', { audience: 'other' }],
    ['end', { seconds: -60 }],
  ])('is rejected with another %s', async (_what, change) => {
    const someone = await person()
    await expect(balanceWith(await forge(someone, {}))).resolves.toMatchObject({ status: 200 })
    await expect(balanceWith(await forge(someone, change))).rejects.toMatchObject(refused)
  })

  it('is rejected with another signing key', async () => {
    const { userId, sessionId, workspaceId } = await person()
    const other = await readSigningKeys(world.db, world.api.config.masterKeys)
    const waiting = other.map((key) => ({ ...key, signs: !key.signs, kid: randomUUID() }))
    const token = await signAccessToken(waiting, world.api.url, { userId, sessionId, workspaceId, role: 'owner' })
    await expect(balanceWith(token)).rejects.toMatchObject(refused)
  })

  it('is rejected within 5 s of the end of its session, also where it was used before', async () => {
    const { client, sessionId } = await person()
    await client.call('GET', '/credits/balance')
    await world.db.updateTable('session').set({ ended_at: new Date() }).where('id', '=', sessionId).execute()
    await until('the token is refused', async () => (await statusOf(client.call('GET', '/credits/balance'))) === 401, {
      timeoutMs: 5_000,
    })
  })
})

describe('a token whose membership has ended', () => {
  it('uses no limits of the team, neither for personal operations nor for rejected ones', async () => {
    const team = await givenTeam(world)
    const member = await team.member('member')
    const own = () => member.client.call('GET', '/users/profile')
    const spent = async () => {
      const { rows } = await sql<{ used: number }>`
        select coalesce(sum(used), 0)::int as used from rate_window where subject = ${`workspace:${team.id}`}`.execute(
        world.db,
      )
      return rows[0]?.used
    }
    await world.db.deleteFrom('membership').where('user_id', '=', member.userId).execute()
    for (let i = 0; i < 3; i += 1) await own()
    expect(await statusOf(member.client.call('GET', '/credits/balance'))).toBe(404)
    expect(await spent()).toBe(0)
    const [one, two] = [await own(), await own()].map(({ headers }) => Number(headers.get('x-ratelimit-remaining')))
    expect(one).not.toBe(two) // the person has a limit as well
    await team.owner.client.call('GET', '/credits/balance')
    expect(await spent()).toBe(1)
  })
})

type Forged = { typ?: string; issuer?: string; audience?: string; seconds?: number }

/** A token like the service's own, except for one claim. */
async function forge({ userId, sessionId, workspaceId }: Person, changed: Forged): Promise<string> {
  const { typ = 'at+jwt', issuer = world.api.url, audience = 'matte-app', seconds = 60 } = changed
  const [key] = await readSigningKeys(world.db, world.api.config.masterKeys)
  if (key === undefined) throw new Error('no key')
  return new SignJWT({ ws: workspaceId, sid: sessionId, role: 'owner' })
    .setProtectedHeader({ alg: 'EdDSA', typ, kid: key.kid })
    .setSubject(userId)
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime(Math.floor(Date.now() / 1_000) + seconds)
    .sign(key.privateKey)
}

const statusOf = (call: Promise<{ status: number }>): Promise<number> =>
  call.then(
    ({ status }) => status,
    (error: { status: number }) => error.status,
  )
