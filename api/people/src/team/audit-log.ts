import type { Db } from '@matte/core/db/database'
import { countRows, type ListTotal, limitOf, offsetOf, type PageRequest } from '@matte/core/db/page'
import { sql } from 'kysely'

type Change = {
  readonly workspaceId: string | null
  readonly userId: string | null
  /** The operationId of the request, or the matte-admin command. */
  readonly action: string
  /** The id in the path or the response. */
  readonly target: string | null
  readonly ipAddress: string | null
  readonly requestId: string | null
  readonly reason?: string
}

/** Adds an entry to the audit log. Bodies and secrets are never logged. */
export async function recordChange(db: Db, change: Change): Promise<void> {
  await db
    .insertInto('audit_entry')
    .values({
      workspace_id: change.workspaceId,
      user_id: change.userId,
      action: change.action,
      target: change.target,
      ip_address: change.ipAddress,
      request_id: change.requestId,
      details: change.reason === undefined ? undefined : JSON.stringify({ reason: change.reason }),
    })
    .execute()
}

type ChangeFilter = {
  readonly workspaceId: string
  readonly from?: Date | undefined
  readonly before?: Date | undefined
}

function filtered(db: Db, { workspaceId, from, before }: ChangeFilter) {
  return db
    .selectFrom('audit_entry as e')
    .where('e.workspace_id', '=', workspaceId)
    .$if(from !== undefined, (query) => query.where('e.at', '>=', from as Date))
    .$if(before !== undefined, (query) => query.where('e.at', '<', before as Date))
}

export function listChanges(db: Db, filter: ChangeFilter, { limit, offset, after }: PageRequest) {
  const at = sql<Date>`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  return filtered(db, filter)
    .leftJoin('app_user as u', 'u.id', 'e.user_id')
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(e.at, e.id) < (${at}, ${after?.id}::uuid)`))
    .select(['e.id', 'e.at', 'e.action', 'e.target', 'e.user_id as actorId', 'e.request_id as requestId'])
    .select(sql<string | null>`case when u.erased_at is null then coalesce(u.name, u.email) end`.as('actorName'))
    .select(sql<string | null>`e.details ->> 'reason'`.as('reason'))
    .select(sql<string | null>`host(e.ip_address)`.as('ipAddress'))
    .select(sql<string>`(extract(epoch from e.at) * 1000000)::bigint::text`.as('atMicros'))
    .orderBy('e.at', 'desc')
    .orderBy('e.id', 'desc')
    .limit(limitOf(limit))
    .offset(offsetOf(offset, after))
    .execute()
}

export function countChanges(db: Db, filter: ChangeFilter): Promise<ListTotal> {
  return countRows(db, filtered(db, filter).select('e.id'))
}
