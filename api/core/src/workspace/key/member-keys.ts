// Keys of a removed member, or of one without the role that creates keys (D11): revoked, unless an owner adopts them.
// Runs in the transaction that ends the right, under the workspace's lock, so a concurrent creation is revoked or
// rejected.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { lockWorkspace } from '../workspace-queries.ts'

type Ending = {
  readonly workspaceId: string
  readonly userId: string
  /** The member ending that right, who adopts the keys if `adopts`. */
  readonly actorId: string
  readonly adopts: boolean
}

/** @throws MatteError CONFLICT if the member would adopt their own keys; AUTH_FORBIDDEN if the actor is not an owner */
export async function endKeysOfMember(tx: Db, { workspaceId, userId, actorId, adopts }: Ending): Promise<void> {
  if (!adopts) return void (await revokeKeysOfMember(tx, workspaceId, userId))
  if (userId === actorId) throw new MatteError('CONFLICT', 'You cannot adopt your own keys. Ask another owner.')
  await adoptKeysOfMember(tx, { workspaceId, from: userId, to: actorId })
}

/** Revokes the member's keys in this workspace; returns their ids. Call it before taking other locks. */
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
  /** Current creator, and the owner who adopts the keys. */
  readonly from: string
  readonly to: string
}

/**
 * Makes the owner the creator of the member's working keys, so their use counts for the owner; returns their ids.
 * @throws MatteError AUTH_FORBIDDEN if `to` is not an owner of the workspace
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
