// API keys of a removed member (D11).
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { revokeApiKey } from '@matte/core/workspace/key/end-key'
import { makeKey } from '@matte/core/workspace/key/make-key'
import { adoptKeysOfMember, revokeKeysOfMember } from '@matte/core/workspace/key/member-keys'
import type { Role } from '@matte/core/workspace/role'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { givenWorkspace } from '../support/factories.ts'
import { until } from '../support/until.ts'

const database = useDatabase()

async function givenMember(workspaceId: string, role: Role): Promise<string> {
  const { id } = await database.db
    .insertInto('app_user')
    .values({ email: sql<string>`gen_random_uuid() || '@example.com'` })
    .returning('id')
    .executeTakeFirstOrThrow()
  await database.db.insertInto('membership').values({ workspace_id: workspaceId, user_id: id, role }).execute()
  return id
}

const givenKey = async (workspaceId: string, createdBy: string | null) => {
  const wanted = { workspaceId, name: 'key', scopes: [], expiresAt: null, createdBy }
  const row = await insertApiKey(database.db, generateApiKey(), wanted)
  return row?.id ?? ''
}
const rowOf = (id: string) =>
  database.db.selectFrom('api_key').select(['created_by', 'revoked_at']).where('id', '=', id).executeTakeFirstOrThrow()

/** A workspace with an owner and an admin, each with a key, and an operator's key. */
async function given() {
  const { id: workspaceId } = await givenWorkspace(database.db)
  const [owner, admin] = [await givenMember(workspaceId, 'owner'), await givenMember(workspaceId, 'admin')]
  const keys = {
    owner: await givenKey(workspaceId, owner),
    admin: await givenKey(workspaceId, admin),
    operator: await givenKey(workspaceId, null),
  }
  return { workspaceId, owner, admin, keys }
}

it('creates no key for a member whose role was revoked during the request', async () => {
  const { workspaceId } = await given()
  const userId = await givenMember(workspaceId, 'billing')
  const making = makeKey(database.db, { workspaceId, userId, name: 'late', scopes: [], expiresAt: null })
  await expect(making).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
})

describe('revokeKeysOfMember', () => {
  it('revokes keys that the member created in this workspace, and no others', async () => {
    const { workspaceId, admin, keys } = await given()
    const elsewhere = await givenKey((await givenWorkspace(database.db)).id, admin)
    const before = await givenKey(workspaceId, admin)
    await revokeApiKey(database.db, before)
    const { revoked_at } = await rowOf(before)
    const revoked = await database.db.transaction().execute((tx) => revokeKeysOfMember(tx, workspaceId, admin))
    expect(revoked).toEqual([keys.admin])
    expect((await rowOf(keys.admin)).revoked_at).not.toBeNull()
    expect(await rowOf(before)).toMatchObject({ revoked_at })
    for (const id of [keys.owner, keys.operator, elsewhere]) expect((await rowOf(id)).revoked_at).toBeNull()
  })

  it('is rolled back with the removal', async () => {
    const { workspaceId, admin, keys } = await given()
    const failing = database.db.transaction().execute(async (tx) => {
      await revokeKeysOfMember(tx, workspaceId, admin)
      throw new Error('rolled back')
    })
    await expect(failing).rejects.toThrow('rolled back')
    expect((await rowOf(keys.admin)).revoked_at).toBeNull()
  })

  it('leaves no key that is created during the removal', async () => {
    const { db } = database
    const { workspaceId, admin } = await given()
    const { making } = await db.transaction().execute(async (tx) => {
      await revokeKeysOfMember(tx, workspaceId, admin)
      const making = makeKey(db, { workspaceId, userId: admin, name: 'late', scopes: [], expiresAt: null })
      making.catch(() => undefined)
      await until('it waits for the workspace', async () => {
        const { rows } = await sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
        return rows.length > 0
      })
      await tx.deleteFrom('membership').where('user_id', '=', admin).execute()
      return { making }
    })
    await expect(making).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const { rows } = await sql`
      select from api_key where created_by = ${admin} and workspace_id = ${workspaceId} and revoked_at is null`.execute(
      db,
    )
    expect(rows).toEqual([])
  })
})

describe('adoptKeysOfMember', () => {
  const adopt = (workspaceId: string, from: string, to: string) =>
    database.db.transaction().execute((tx) => adoptKeysOfMember(tx, { workspaceId, from, to }))

  it('transfers them to an owner, so the removal keeps them', async () => {
    const { workspaceId, owner, admin, keys } = await given()
    const revoked = await givenKey(workspaceId, admin)
    await revokeApiKey(database.db, revoked)
    expect(await adopt(workspaceId, admin, owner)).toEqual([keys.admin])
    expect(await database.db.transaction().execute((tx) => revokeKeysOfMember(tx, workspaceId, admin))).toEqual([])
    expect(await rowOf(keys.admin)).toEqual({ created_by: owner, revoked_at: null })
    expect(await rowOf(revoked)).toMatchObject({ created_by: admin })
  })

  it('requires an owner of the workspace', async () => {
    const { workspaceId, admin, keys } = await given()
    const other = await givenMember(workspaceId, 'admin')
    const stranger = await givenMember((await givenWorkspace(database.db)).id, 'owner')
    for (const to of [other, stranger])
      await expect(adopt(workspaceId, admin, to)).rejects.toMatchObject({ code: 'AUTH_FORBIDDEN' })
    expect(await rowOf(keys.admin)).toMatchObject({ created_by: admin })
  })
})
