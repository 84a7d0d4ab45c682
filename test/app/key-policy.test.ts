// The longest life that a team allows its API keys, and the networks that a key may be used from.
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { type AdminError, admin as runAdmin } from '../support/admin.ts'
import type { Person } from '../support/app/people.ts'
import { givenTeam, type Team } from '../support/app/teams.ts'

const world = useApi()

type Key = { readonly id: string; readonly expiresAt: string | null; readonly allowedNetworks: readonly string[] }

const policy = ({ client }: Person, { path }: Team, body: unknown) =>
  client.call<{ maxKeyDays: number | null }>('PUT', `${path}/key-policy`, { body })
const make = ({ client }: Person, more: Record<string, unknown> = {}) =>
  client.call<Key>('POST', '/developer/api-keys', { body: { name: 'shop', ...more } }).then(({ data }) => data)
const roll = ({ client }: Person, id: string) =>
  client.call<Key>('POST', `/developer/api-keys/${id}/roll`, { body: {} }).then(({ data }) => data)
const admin = (...args: string[]) => runAdmin(args, { DATABASE_URL: world.databaseUrl })

/** Life of a key in days, by the database. */
async function daysOf(id: string): Promise<number | null> {
  const { rows } = await sql<{ days: number | null }>`
    select extract(epoch from expires_at - created_at)::float8 / 86400 as days from api_key where id = ${id}`.execute(
    world.db,
  )
  return rows[0]?.days ?? null
}
const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString()

describe('maxKeyDays of a team', () => {
  it('is set by owners and admins, shown to members, and removed by null', async () => {
    const team = await givenTeam(world)
    const get = async ({ client }: Person) => (await client.call('GET', team.path)).data
    expect(await get(team.owner)).toMatchObject({ maxKeyDays: null })
    expect((await policy(team.owner, team, { maxKeyDays: 90 })).data).toMatchObject({ maxKeyDays: 90 })
    expect(await get(await team.member('member'))).toMatchObject({ maxKeyDays: 90 })
    const adminMember = await team.member('admin')
    expect((await policy(adminMember, team, { maxKeyDays: null })).data).toMatchObject({ maxKeyDays: null })
    for (const role of ['billing', 'member'] as const) {
      const refused = policy(await team.member(role), team, { maxKeyDays: 1 })
      await expect(refused).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
    }
    expect(await daysOf((await make(team.owner)).id)).toBeNull()
  })

  it.each([{}, { maxKeyDays: 0 }, { maxKeyDays: 3_651 }, { maxKeyDays: 1.5 }, { maxKeyDays: '90' }])(
    'is not %j',
    async (body) => {
      const team = await givenTeam(world)
      const refused = policy(team.owner, team, body)
      await expect(refused).rejects.toMatchObject({
        code: 'INVALID_PARAMS',
        details: { issues: [{ path: '/body/maxKeyDays' }] },
      })
    },
  )

  it('limits keys that are made from then on, and leaves existing ones as they are', async () => {
    const team = await givenTeam(world)
    const [endless, long] = [await make(team.owner), await make(team.owner, { expiresAt: inDays(200) })]
    await policy(team.owner, team, { maxKeyDays: 90 })
    expect(await daysOf((await make(team.owner)).id)).toBeCloseTo(90, 4)
    expect(await daysOf((await make(team.owner, { expiresAt: null })).id)).toBeCloseTo(90, 4)
    const short = await make(team.owner, { expiresAt: inDays(5) })
    expect(await daysOf(short.id)).toBeCloseTo(5, 1)
    await expect(make(team.owner, { expiresAt: inDays(91) })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      details: { issues: [{ path: '/body/expiresAt', message: expect.stringContaining('at most 90 days') }] },
    })
    expect([await daysOf(endless.id), await daysOf(long.id)]).toEqual([null, expect.closeTo(200, 1)])
  })

  it('limits the successor of a key that was rolled', async () => {
    const team = await givenTeam(world)
    const [endless, long, short] = [
      await make(team.owner),
      await make(team.owner, { expiresAt: inDays(200) }),
      await make(team.owner, { expiresAt: inDays(5) }),
    ]
    await policy(team.owner, team, { maxKeyDays: 30 })
    expect(await daysOf((await roll(team.owner, endless.id)).id)).toBeCloseTo(30, 4)
    expect(await daysOf((await roll(team.owner, long.id)).id)).toBeCloseTo(30, 4)
    expect(await daysOf((await roll(team.owner, short.id)).id)).toBeCloseTo(5, 1)
  })

  it('limits keys that an operator makes', async () => {
    const team = await givenTeam(world)
    await policy(team.owner, team, { maxKeyDays: 30 })
    const { apiKeyId } = await admin('key', 'create', '--workspace', team.id)
    expect(await daysOf(String(apiKeyId))).toBeCloseTo(30, 4)
    const refused = admin('key', 'create', '--workspace', team.id, '--expires-at', inDays(31))
    await expect(refused).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('at most 30 days') })
  })
})

describe('allowedNetworks of a new key', () => {
  it('are canonical, without duplicates, and kept by a roll', async () => {
    const { owner } = await givenTeam(world)
    const given = ['203.0.113.7', '10.0.0.0/8', '::ffff:10.0.0.0/104', '2001:DB8:0:0::/32', '2001:db8::7', '10.0.0.0/8']
    const allowedNetworks = ['203.0.113.7/32', '10.0.0.0/8', '2001:db8::/32', '2001:db8::7/128']
    const key = await make(owner, { allowedNetworks: given })
    expect(key).toMatchObject({ allowedNetworks })
    expect(await roll(owner, key.id)).toMatchObject({ allowedNetworks })
  })

  it('are empty when absent', async () => {
    const { owner } = await givenTeam(world)
    expect(await make(owner, { allowedNetworks: null })).toMatchObject({ allowedNetworks: [] })
  })

  it.each([
    ['an empty list', [], ''],
    ['21 networks', Array.from({ length: 21 }, (_, i) => `10.0.0.${i}`), ''],
    ['a name', ['10.0.0.1', 'office.example.com'], '/1'],
    ['a network with bits after its prefix', ['10.0.0.1/8'], '/0'],
    ['a prefix that is too long', ['10.0.0.0/33'], '/0'],
    ['a prefix with a leading zero', ['10.0.0.0/08'], '/0'],
    ['an address with a zone', ['fe80::1%eth0'], '/0'],
    ['an address in octal', ['010.0.0.1'], '/0'],
  ])('are not %s', async (_what, allowedNetworks, place) => {
    const { owner } = await givenTeam(world)
    await expect(make(owner, { allowedNetworks })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      details: { issues: [{ path: `/body/allowedNetworks${place}` }] },
    })
  })

  it('are given to matte-admin as a list', async () => {
    const { id } = await givenTeam(world)
    const made = await admin('key', 'create', '--workspace', id, '--networks', '203.0.113.7, 2001:db8::/32')
    expect(made).toMatchObject({ allowedNetworks: ['203.0.113.7/32', '2001:db8::/32'] })
    const { keys } = await admin('key', 'list', '--workspace', id)
    expect(keys).toMatchObject([{ apiKeyId: made.apiKeyId, allowedNetworks: ['203.0.113.7/32', '2001:db8::/32'] }])
    const refusal = (list: string) =>
      admin('key', 'create', '--workspace', id, '--networks', list).then(
        () => undefined,
        ({ code, stderr }: AdminError) => ({ code, stderr }),
      )
    expect(await refusal('10.0.0.1/8')).toMatchObject({ code: 2, stderr: expect.stringContaining('write 10.0.0.0/8') })
    const many = Array.from({ length: 21 }, (_, i) => `10.0.0.${i}`).join(',')
    expect(await refusal(many)).toMatchObject({ code: 2, stderr: expect.stringContaining('at most 20') })
  })
})
