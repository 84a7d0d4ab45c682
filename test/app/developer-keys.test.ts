// API keys that members create, roll and revoke in the developer centre.
import { randomUUID } from 'node:crypto'
import { scopes } from '@matte/core/workspace/scope'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import { givenPerson, type Person, type PersonOptions } from '../support/app/people.ts'
import { until } from '../support/until.ts'

const world = useApi()

type Key = {
  readonly id: string
  readonly name: string
  readonly scopes: readonly string[]
  readonly lastFour: string
  readonly expiresAt: string | null
  readonly revokedAt: string | null
  readonly key?: string
}
type Page = { readonly items: readonly Key[]; readonly total: number }

const person = (options?: PersonOptions) => givenPerson(world.db, world.api, options)
const make = ({ client }: Person, body: Record<string, unknown> = { name: 'shop' }, headers = {}) =>
  client.call<Key>('POST', '/developer/api-keys', { body, headers })
const roll = ({ client }: Person, id: string, { headers = {}, ...body }: Record<string, unknown> = {}) =>
  client.call<Key>('POST', `/developer/api-keys/${id}/roll`, { body, headers: headers as Record<string, string> })
const list = async ({ client }: Person) => (await client.call<Page>('GET', '/developer/api-keys')).data
const rowOf = (id: string) => world.db.selectFrom('api_key').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

/** Whether the Developer API accepts the key, on a replica that may have cached it. */
const works = (key: string | undefined): Promise<boolean> =>
  world.api
    .client(key ?? '')
    .listTasks()
    .then(
      () => true,
      ({ code }: { code: string }) => {
        if (code !== 'API_KEY_INVALID') throw new Error(code)
        return false
      },
    )
/** Limit of D14, plus time for a busy machine to ask. */
const untilRefused = (key: string | undefined) =>
  until('the key is refused', async () => !(await works(key)), { timeoutMs: 5_000 })

const fill = (workspaceId: string, count: number) =>
  sql`insert into api_key (workspace_id, name, hash, prefix, last_four, scopes)
      select ${workspaceId}::uuid, 'filler', sha256(gen_random_uuid()::text::bytea), 'service_live_', '0000', '{}'
        from generate_series(1, ${count}::int)`.execute(world.db)

describe('POST /developer/api-keys', () => {
  it('shows the key once, which works at once and belongs to the member', async () => {
    const someone = await person()
    const { status, data } = await make(someone)
    expect(status).toBe(201)
    expect(data).toEqual({
      ...{ id: expect.any(String), name: 'shop', prefix: 'service_live_', scopes, createdAt: expect.any(String) },
      ...{ expiresAt: null, lastUsedAt: null, revokedAt: null, allowedNetworks: [], recentAddresses: [] },
      key: expect.stringMatching(/^service_live_[0-9A-Za-z]{38}$/),
      lastFour: data.key?.slice(-4),
    })
    expect(await works(data.key)).toBe(true)
    expect(await rowOf(data.id)).toMatchObject({ created_by: someone.userId, workspace_id: someone.workspaceId })
    expect(JSON.stringify(await list(someone))).not.toContain(data.key?.slice(13, 40))
  })

  it('has the given scopes and expiry', async () => {
    const someone = await person()
    const expiresAt = '2099-01-01T00:00:00.000Z'
    const { data } = await make(someone, { name: 'read', scopes: ['tasks:read', 'tasks:read'], expiresAt })
    expect(data).toMatchObject({ scopes: ['tasks:read'], expiresAt })
    await expect(world.api.client(data.key ?? '').signingSecret()).rejects.toMatchObject({
      code: 'API_KEY_INSUFFICIENT_SCOPE',
    })
  })

  it('is available on every plan; the plan limits what the key may call', async () => {
    const { data } = await make(await person({ plan: 'free' }))
    await expect(world.api.client(data.key ?? '').listTasks()).rejects.toMatchObject({
      code: 'DEVELOPER_API_ACCESS_DENIED',
    })
  })

  it('creates one per Idempotency-Key, and a replay has no key text', async () => {
    const someone = await person()
    const headers = { 'idempotency-key': randomUUID() }
    const first = await make(someone, { name: 'once' }, headers)
    const second = await make(someone, { name: 'once' }, headers)
    const { key: _shownOnce, ...rest } = first.data
    expect(second.data).toEqual(rest)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect((await list(someone)).total).toBe(1)
  })

  it('stops at 100 valid keys with concurrent requests', async () => {
    const someone = await person()
    await fill(someone.workspaceId, 97)
    const { data: ended } = await make(someone)
    await world.db
      .updateTable('api_key')
      .set({ expires_at: new Date(0) })
      .where('id', '=', ended.id)
      .execute()
    const answers = await Promise.allSettled(Array.from({ length: 6 }, () => make(someone)))
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    for (const answer of answers) {
      if (answer.status === 'rejected')
        expect(answer.reason).toMatchObject({ status: 409, code: 'CONFLICT', details: { limit: 100 } })
    }
  })

  it.each([
    [{}, '/body/name'],
    [{ name: '' }, '/body/name'],
    [{ name: 'x'.repeat(201) }, '/body/name'],
    [{ name: 'x', scopes: ['tasks:fly'] }, '/body/scopes/0'],
    [{ name: 'x', scopes: [] }, '/body/scopes'],
    [{ name: 'x', expiresAt: 'soon' }, '/body/expiresAt'],
    [{ name: 'x', expiresAt: '2020-01-01T00:00:00Z' }, '/body/expiresAt'],
  ])('rejects %j', async (body, path) => {
    const someone = await person()
    const refused = { status: 400, code: 'INVALID_PARAMS', details: { issues: [{ path }] } }
    await expect(make(someone, body)).rejects.toMatchObject(refused)
    expect((await list(someone)).total).toBe(0)
  })

  it('requires owner or admin', async () => {
    const owner = await person()
    const { workspaceId } = owner
    const { data } = await make(await person({ member: { workspaceId, role: 'admin' } }))
    expect((await list(owner)).items.map(({ id }) => id)).toEqual([data.id])
    for (const role of ['billing', 'member'] as const) {
      const other = await person({ member: { workspaceId, role } })
      const calls = [make, list, (who: Person) => roll(who, data.id), (who: Person) => revoke(who, data.id)]
      for (const call of calls) await expect(call(other)).rejects.toMatchObject({ status: 403, code: 'AUTH_FORBIDDEN' })
    }
    expect(await rowOf(data.id)).toMatchObject({ revoked_at: null, successor_id: null })
  })

  it('creates none for a former member, also while the access cache is stale', async () => {
    const owner = await person()
    const admin = await person({ member: { workspaceId: owner.workspaceId, role: 'admin' } })
    await make(admin) // the access cache keeps the admin for some seconds
    await world.db.deleteFrom('membership').where('user_id', '=', admin.userId).execute()
    await expect(make(admin)).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
    expect((await list(owner)).total).toBe(1)
  })
})

describe('POST /developer/api-keys/{id}/roll', () => {
  it('creates a key with the same name and scopes; the old one works for the overlap', async () => {
    const someone = await person()
    const { data: old } = await make(someone, { name: 'shop', scopes: ['tasks:read'] })
    const { status, data: fresh } = await roll(someone, old.id, { overlapSeconds: 3_600 })
    expect(status).toBe(201)
    expect(fresh).toMatchObject({ name: 'shop', scopes: ['tasks:read'], expiresAt: null })
    expect([await works(old.key), await works(fresh.key)]).toEqual([true, true])
    const left = await sql<{ seconds: number }>`
      select extract(epoch from expires_at - now())::float8 as seconds from api_key where id = ${old.id}`.execute(
      world.db,
    )
    expect(left.rows[0]?.seconds).toBeGreaterThan(3_400)
    expect(left.rows[0]?.seconds).toBeLessThanOrEqual(3_600)
    await world.db.updateTable('api_key').set({ expires_at: sql`now()` }).where('id', '=', old.id).execute()
    await untilRefused(old.key)
    expect(await works(fresh.key)).toBe(true)
  })

  it('ends the old one at once without an overlap, also at the limit of keys', async () => {
    const someone = await person()
    const { data: old } = await make(someone)
    await works(old.key)
    await fill(someone.workspaceId, 99)
    await expect(roll(someone, old.id, { overlapSeconds: 60 })).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(await rowOf(old.id)).toMatchObject({ expires_at: null, successor_id: null })
    const { data: fresh } = await roll(someone, old.id, { overlapSeconds: 0 })
    await untilRefused(old.key)
    expect(await works(fresh.key)).toBe(true)
    expect((await rowOf(old.id)).revoked_at).not.toBeNull()
  })

  it('gives the new key the lifetime of the old one, which ends no later than before', async () => {
    const someone = await person()
    const { data: old } = await make(someone)
    await sql`update api_key set created_at = now() - interval '20 days', expires_at = now() + interval '10 seconds'
               where id = ${old.id}`.execute(world.db)
    const before = await rowOf(old.id)
    const { data: fresh } = await roll(someone, old.id, { overlapSeconds: 86_400 })
    expect((await rowOf(old.id)).expires_at).toEqual(before.expires_at)
    const lifetime = await sql<{ days: number }>`
      select extract(epoch from expires_at - created_at)::float8 / 86400 as days from api_key where id = ${fresh.id}
    `.execute(world.db)
    expect(lifetime.rows[0]?.days).toBeCloseTo(20, 2)
  })

  it('happens once with concurrent requests', async () => {
    const someone = await person()
    const { data: old } = await make(someone)
    const answers = await Promise.allSettled(Array.from({ length: 6 }, () => roll(someone, old.id)))
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const answer of answers)
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ status: 409, code: 'CONFLICT' })
    expect((await list(someone)).total).toBe(2)
  })

  it('happens once per Idempotency-Key, and a replay has no key text', async () => {
    const someone = await person()
    const { data: old } = await make(someone)
    const headers = { 'idempotency-key': randomUUID() }
    const { data: first } = await roll(someone, old.id, { headers })
    const second = await roll(someone, old.id, { headers })
    const { key: _shownOnce, ...rest } = first
    expect(second.data).toEqual(rest)
    expect((await list(someone)).total).toBe(2)
  })

  it('is rejected for a revoked or expired key, and not found for another workspace’s', async () => {
    const someone = await person()
    const { data: revoked } = await make(someone)
    await revoke(someone, revoked.id)
    const { data: over } = await make(someone)
    await world.db
      .updateTable('api_key')
      .set({ expires_at: new Date(0) })
      .where('id', '=', over.id)
      .execute()
    for (const { id } of [revoked, over])
      await expect(roll(someone, id)).rejects.toMatchObject({ status: 409, code: 'CONFLICT' })
    const { data: other } = await make(await person())
    for (const id of [other.id, randomUUID(), 'nope'])
      await expect(roll(someone, id, { overlapSeconds: -1 })).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
    await expect(roll(someone, over.id, { overlapSeconds: 604_801 })).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
  })
})

const revoke = ({ client }: Person, id: string) =>
  client.call<{ id: string; deleted: boolean }>('DELETE', `/developer/api-keys/${id}`)

describe('DELETE /developer/api-keys/{id}', () => {
  it('takes effect within 5 s, and may be repeated', async () => {
    const someone = await person()
    const { data } = await make(someone)
    expect(await works(data.key)).toBe(true)
    expect((await revoke(someone, data.id)).data).toEqual({ id: data.id, deleted: true })
    await untilRefused(data.key)
    const { revoked_at } = await rowOf(data.id)
    await revoke(someone, data.id)
    expect((await rowOf(data.id)).revoked_at).toEqual(revoked_at)
    expect((await list(someone)).items[0]?.revokedAt).not.toBeNull()
  })

  it('does nothing to another workspace’s key', async () => {
    const { data } = await make(await person())
    const stranger = await person()
    for (const id of [data.id, randomUUID(), 'nope'])
      await expect(revoke(stranger, id)).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
    expect(await works(data.key)).toBe(true)
  })
})
