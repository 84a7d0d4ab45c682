// The limit of API keys with concurrent replicas and matte-admin commands.
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { revokeApiKey } from '@matte/core/workspace/key/end-key'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { givenWorkspace } from '../support/factories.ts'
import { until } from '../support/until.ts'

describe('insertApiKey', () => {
  const database = useDatabase()
  const insert = (workspaceId: string) =>
    insertApiKey(database.db, generateApiKey(), {
      workspaceId,
      name: 'test',
      scopes: ['tasks:read'],
      expiresAt: null,
    })

  it('stores exactly a hundred of a hundred and twenty concurrent keys', async () => {
    const { id } = await givenWorkspace(database.db)
    const stored = await Promise.all(Array.from({ length: 120 }, () => insert(id)))
    expect(stored.filter((row) => row !== undefined)).toHaveLength(100)
    expect(await database.db.selectFrom('api_key').select('id').where('workspace_id', '=', id).execute()).toHaveLength(
      100,
    )
  })

  it('waits for a concurrent insert before it counts', async () => {
    const { db } = database
    const { id: workspaceId } = await givenWorkspace(db)
    await Promise.all(Array.from({ length: 99 }, () => insert(workspaceId)))
    const another = await db.transaction().execute(async (tx) => {
      await insertApiKey(tx, generateApiKey(), { workspaceId, name: 'test', scopes: [], expiresAt: null })
      let stored: unknown = 'waits'
      const storing = insert(workspaceId).then((row) => {
        stored = row
        return row
      })
      await until('the second waits for the first', async () => {
        const { rows } = await sql`
            select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
        return rows.length > 0 || stored !== 'waits'
      })
      return { storing } // wrapped, because await would wait for a bare promise before the commit
    })
    expect(await another.storing).toBeUndefined()
  })

  it('succeeds again once a key is revoked', async () => {
    const { id } = await givenWorkspace(database.db)
    const keys = await Promise.all(Array.from({ length: 100 }, () => insert(id)))
    expect(await insert(id)).toBeUndefined()
    await revokeApiKey(database.db, keys[0]?.id ?? '')
    expect(await insert(id)).toMatchObject({ id: expect.any(String) })
  })

  it('uses the caller’s transaction', async () => {
    const { id: workspaceId } = await givenWorkspace(database.db)
    const key = generateApiKey()
    const failing = database.db.transaction().execute(async (tx) => {
      expect(await insertApiKey(tx, key, { workspaceId, name: 'test', scopes: [], expiresAt: null })).toBeDefined()
      throw new Error('rolled back')
    })
    await expect(failing).rejects.toThrow('rolled back')
    expect(await database.db.selectFrom('api_key').select('id').where('hash', '=', key.hash).execute()).toEqual([])
  })

  it('stores nothing for a workspace that does not exist', async () => {
    expect(await insert(crypto.randomUUID())).toBeUndefined()
  })
})
