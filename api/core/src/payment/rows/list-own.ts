import { type Selectable, sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { countRows, type ListTotal, type PageRequest } from '../../db/page.ts'
import type { Tables } from '../../db/tables/index.ts'

type Listed = 'payment_order' | 'refund' | 'invoice'

type OwnPage<T extends Listed> = {
  readonly rows: (Selectable<Tables[T]> & { readonly id: string; readonly createdAtMicros: string })[]
  readonly total: ListTotal
}

/** A page of a workspace's rows, newest first (D36); the caller asks for one more than it shows. */
export async function listOwn<T extends Listed>(
  db: Db,
  table: T,
  { workspaceId, limit, offset, after }: PageRequest & { readonly workspaceId: string },
): Promise<OwnPage<T>> {
  const own = sql`${sql.table(table)} where workspace_id = ${workspaceId}`
  const at = sql`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  const { rows } = await sql<OwnPage<T>['rows'][number]>`
    select *, (extract(epoch from created_at) * 1000000)::bigint::text as "createdAtMicros" from ${own}
       ${after === undefined ? sql`` : sql`and (created_at, id) < (${at}, ${after.id}::uuid)`}
     order by created_at desc, id desc limit ${limit} offset ${after === undefined ? offset : 0}`.execute(db)
  return { rows, total: await countRows(db, sql`(select from ${own})`) }
}

/** Undefined: there is none, or it is another workspace's. */
export async function findOwn<T extends Listed>(
  db: Db,
  table: T,
  { workspaceId, id }: { readonly workspaceId: string; readonly id: string },
): Promise<Selectable<Tables[T]> | undefined> {
  const { rows } = await sql<Selectable<Tables[T]>>`
    select * from ${sql.table(table)} where workspace_id = ${workspaceId} and id = ${id}`.execute(db)
  return rows[0]
}
