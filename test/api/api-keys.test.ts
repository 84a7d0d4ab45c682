import { randomUUID } from 'node:crypto'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { revokeApiKey } from '@matte/core/workspace/key/end-key'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { type Caller, useApi } from './given.ts'

const world = useApi()

type Key = { id: string; name: string; createdAt: string; expiresAt: string | null; revokedAt: string | null }
type Page = { items: Key[]; page: number; pageSize: number; total: number; totalPages: number; nextCursor: null }

const list = async ({ client }: Caller) => (await client.call<Page>('GET', '/api-keys')).data

const addKey = async ({ workspaceId }: Caller, name: string, expiresAt: Date | null = null) => {
  const key = generateApiKey()
  const row = await insertApiKey(world.db, key, { workspaceId, name, scopes: ['tasks:read'], expiresAt })
  return { ...key, id: row?.id ?? '' }
}

describe('GET /api-keys', () => {
  it('shows metadata of a key, and never the key', async () => {
    const caller = await world.caller({ scopes: ['api-keys:read'] })
    const page = await list(caller)
    expect(page).toEqual({
      items: [
        {
          id: caller.apiKeyId,
          name: 'test',
          prefix: 'service_live_',
          lastFour: caller.apiKey.slice(-4),
          scopes: ['api-keys:read'],
          createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          expiresAt: null,
          lastUsedAt: null,
          revokedAt: null,
        },
      ],
      page: 1,
      pageSize: 20,
      total: 1,
      totalPages: 1,
      nextCursor: null,
    })
    const secret = caller.apiKey.slice('service_live_'.length)
    expect(JSON.stringify(page)).not.toContain(secret)
    expect(JSON.stringify(page)).not.toMatch(/hash/i)
  })

  it('lists all keys of the workspace, newest first, revoked and expired ones too, and no others', async () => {
    const caller = await world.caller()
    await world.caller()
    const expiresAt = new Date(Date.now() - 1_000)
    await addKey(caller, 'expired', expiresAt)
    const revoked = await addKey(caller, 'revoked')
    await revokeApiKey(world.db, revoked.id)
    await addKey(caller, 'newest')
    const { items, total } = await list(caller)
    expect(items.map(({ name }) => name)).toEqual(['newest', 'revoked', 'expired', 'test'])
    expect(total).toBe(4)
    expect(items[1]?.revokedAt).not.toBeNull()
    expect(items[2]?.expiresAt).toBe(expiresAt.toISOString())
  })

  it('omits old revoked keys before working ones when there are very many', async () => {
    const caller = await world.caller()
    await sql`insert into api_key (workspace_id, name, hash, prefix, last_four, scopes, revoked_at)
              select ${caller.workspaceId}::uuid, 'old', sha256((${randomUUID()}::text || i)::bytea), 'p', '0000', '{}', now()
                from generate_series(1, 1200) i`.execute(world.db)
    const { items, pageSize, total } = await list(caller)
    expect([items.length, pageSize, total]).toEqual([1_000, 1_000, 1_000])
    expect(items.filter(({ revokedAt }) => revokedAt === null).map(({ name }) => name)).toEqual(['test'])
  })
})
