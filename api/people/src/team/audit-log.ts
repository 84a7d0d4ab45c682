import type { Db } from '@matte/core/db/database'
import { countRows, type ListTotal, limitOf, offsetOf, type PageRequest } from '@matte/core/db/page'
import type { ActorKind } from '@matte/core/db/tables/account'
import type { Tables } from '@matte/core/db/tables/index'
import { type SelectQueryBuilder, sql } from 'kysely'

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

/** Columns of an entry. Names are those of now; erased persons and deleted keys have none. */
export const changeColumns = (query: SelectQueryBuilder<Tables & { e: Tables['audit_entry'] }, 'e', object>) =>
  query
    .leftJoin('app_user as u', 'u.id', 'e.user_id')
    .leftJoin('api_key as k', 'k.id', 'e.api_key_id')
    .select(['e.id', 'e.at', 'e.action', 'e.target', 'e.user_id as actorId', 'e.api_key_id as apiKeyId'])
    .select(['e.request_id as requestId', 'e.client_request_id as clientRequestId', 'e.user_agent as userAgent'])
    .select(
      sql<ActorKind>`coalesce(e.actor, case when e.user_id is null then 'matte-admin' else 'member' end)`.as(
        'actorKind',
      ),
    )
    .select(
      sql<string | null>`coalesce(case when u.erased_at is null then coalesce(u.name, u.email) end, k.name)`.as(
        'actorName',
      ),
    )
    .select(sql<string | null>`e.details ->> 'reason'`.as('reason'))
    .select(sql<string | null>`host(e.ip_address)`.as('ipAddress'))
    .select(sql<string>`(extract(epoch from e.at) * 1000000)::bigint::text`.as('atMicros'))

export function listChanges(db: Db, filter: ChangeFilter, { limit, offset, after }: PageRequest) {
  const at = sql<Date>`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  return changeColumns(filtered(db, filter))
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(e.at, e.id) < (${at}, ${after?.id}::uuid)`))
    .orderBy('e.at', 'desc')
    .orderBy('e.id', 'desc')
    .limit(limitOf(limit))
    .offset(offsetOf(offset, after))
    .execute()
}

export function countChanges(db: Db, filter: ChangeFilter): Promise<ListTotal> {
  return countRows(db, filtered(db, filter).select('e.id'))
}
