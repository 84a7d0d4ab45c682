// What becomes of the keys of a member who is removed, or whose new role makes none (D11): they are revoked, unless an
// owner has adopted them. All of it is for the transaction that ends the right, and locks the workspace's row, as the
// making of keys does: a key that is made at that moment is either seen here, or refused for its maker's role.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { lockWorkspace } from '../workspace-queries.ts'

type Ending = {
  readonly workspaceId: string
  readonly userId: string
  /** Who ends the member's right to keys, and adopts them if `adopts`. */
  readonly actorId: string
  readonly adopts: boolean
}

/** @throws MatteError CONFLICT: nobody adopts their own; AUTH_FORBIDDEN: only an owner adopts */
export async function endKeysOfMember(tx: Db, { workspaceId, userId, actorId, adopts }: Ending): Promise<void> {
  if (!adopts) return void (await revokeKeysOfMember(tx, workspaceId, userId))
  if (userId === actorId) throw new MatteError('CONFLICT', 'Nobody adopts their own keys: ask another owner.')
  await adoptKeysOfMember(tx, { workspaceId, from: userId, to: actorId })
}

/** Revokes what the member has made in this workspace; the ids of the keys. To be called before other locks. */
export async function revokeKeysOfMember(tx: Db, workspaceId: string, userId: string): Promise<string[]> {
  await lockWorkspace(tx, workspaceId)
  const rows = await tx
    .updateTable('api_key')
    .set({ revoked_at: sql<Date>`now()` })
    .where('workspace_id', '=', workspaceId)
    .where('created_by', '=', userId)
    .where('revoked_at', 'is', null)
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}

type Adoption = {
  readonly workspaceId: string
  /** Whose keys they are, and the owner whose they become. */
  readonly from: string
  readonly to: string
}

/**
 * The keys go on, and what is made with them counts for the owner from now on. A revoked one stays revoked and with its
 * maker. The ids of the keys.
 * @throws MatteError AUTH_FORBIDDEN when `to` is no owner of the workspace
 */
export async function adoptKeysOfMember(tx: Db, { workspaceId, from, to }: Adoption): Promise<string[]> {
  await lockWorkspace(tx, workspaceId)
  const owner = await tx
    .selectFrom('membership')
    .select('role')
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', to)
    .where('role', '=', 'owner')
    .executeTakeFirst()
  if (owner === undefined) throw new MatteError('AUTH_FORBIDDEN', 'Only an owner can adopt the keys of a member.')
  const rows = await tx
    .updateTable('api_key')
    .set({ created_by: to })
    .where('workspace_id', '=', workspaceId)
    .where('created_by', '=', from)
    .where('revoked_at', 'is', null)
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}
