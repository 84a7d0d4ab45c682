import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { countRows, type ListTotal, type PageRequest } from '../db/page.ts'

/** One page, newest first; `after` (a cursor) is equally fast at any depth, `offset` is not. */
export function listBatches(db: Db, workspaceId: string, { limit, offset, after }: PageRequest) {
  const at = sql<Date>`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  return db
    .selectFrom('batch')
    .where('workspace_id', '=', workspaceId)
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(created_at, id) < (${at}, ${after?.id}::uuid)`))
    .selectAll()
    .select(sql<string>`(extract(epoch from created_at) * 1000000)::bigint::text`.as('created_at_micros'))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(after === undefined ? offset : 0)
    .execute()
}

export function countBatches(db: Db, workspaceId: string): Promise<ListTotal> {
  return countRows(db, db.selectFrom('batch').select('id').where('workspace_id', '=', workspaceId))
}
