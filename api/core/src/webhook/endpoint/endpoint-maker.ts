// Creator of an endpoint: the requesting member, or the creator of the request's API key.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { makesKeys, type Role } from '../../workspace/role.ts'

/** Credential of the request. */
export type Maker = { readonly apiKeyId: string } | { readonly userId: string }

/**
 * Checks the creator's right again under the workspace's lock: the role or key of the request may be seconds old. Null:
 * an operator created the key.
 * @throws MatteError NOT_FOUND, AUTH_FORBIDDEN if the role was lost; API_KEY_INVALID if the key was revoked with it
 */
export async function requireEndpointMaker(tx: Db, workspaceId: string, maker: Maker): Promise<string | null> {
  if ('apiKeyId' in maker) return readKeyMaker(tx, workspaceId, maker.apiKeyId)
  const member = await tx
    .selectFrom('membership')
    .select('role')
    .where('workspace_id', '=', workspaceId)
    .where('user_id', '=', maker.userId)
    .executeTakeFirst()
  if (member === undefined) throw new MatteError('NOT_FOUND', 'There is no such workspace.')
  if (!makesKeys(member.role)) {
    const required: readonly Role[] = ['owner', 'admin']
    throw new MatteError('AUTH_FORBIDDEN', `This requires one of the roles ${required.join(', ')}.`, {
      details: { required, role: member.role },
    })
  }
  return maker.userId
}

async function readKeyMaker(tx: Db, workspaceId: string, id: string): Promise<string | null> {
  const key = await tx
    .selectFrom('api_key')
    .select('created_by')
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  if (key === undefined) throw new MatteError('API_KEY_INVALID', 'This API key was revoked. Use another one.')
  return key.created_by
}

export type ShownMaker = {
  readonly userId: string
  readonly email: string
  readonly name: string | null
  /** Null: no longer a member. */
  readonly role: Role | null
}

/** Creators by endpoint; missing for an operator and for an erased account. */
export async function readMakers(db: Db, endpointIds: readonly string[]): Promise<ReadonlyMap<string, ShownMaker>> {
  const { rows } = await sql<ShownMaker & { endpointId: string }>`
    select e.id as "endpointId", u.id as "userId", u.email, u.name, m.role
      from webhook_endpoint e
      join app_user u on u.id = e.created_by and u.erased_at is null
      left join membership m on m.workspace_id = e.workspace_id and m.user_id = u.id
     where e.id = any(${[...endpointIds]}::uuid[])`.execute(db)
  return new Map(rows.map(({ endpointId, ...maker }) => [endpointId, maker]))
}

type MadeEndpoint = { readonly id: string; readonly targetHost: string }

/** Live endpoints of the workspace that this member created, oldest first. */
export const listEndpointsMadeBy = (db: Db, workspaceId: string, userId: string): Promise<MadeEndpoint[]> =>
  db
    .selectFrom('webhook_endpoint')
    .select(['id', 'target_host as targetHost'])
    .where('workspace_id', '=', workspaceId)
    .where('created_by', '=', userId)
    .where('deleted_at', 'is', null)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
