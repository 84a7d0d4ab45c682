import type { Db } from '@matte/core/db/database'
import { countRows, type ListTotal, type PageRequest } from '@matte/core/db/page'
import type { Tables } from '@matte/core/db/tables/index'
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'

type OrderTable = Tables['payment_order']

export type OrderRow = Selectable<OrderTable>

/** Returns undefined if the charge already has an order. */
export async function insertOrder(tx: Db, values: Insertable<OrderTable>): Promise<OrderRow | undefined> {
  return tx
    .insertInto('payment_order')
    .values(values)
    .onConflict((conflict) => conflict.columns(['provider', 'provider_invoice_id']).doNothing())
    .returningAll()
    .executeTakeFirst()
}

export const updateOrder = (tx: Db, id: string, changes: Updateable<OrderTable>): Promise<OrderRow> =>
  tx.updateTable('payment_order').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow()

export const findOrderBy = (
  db: Db,
  column: 'id' | 'provider_invoice_id' | 'payment_id',
  value: string,
): Promise<OrderRow | undefined> =>
  db.selectFrom('payment_order').selectAll().where(column, '=', value).executeTakeFirst()

export const listOpenOrders = (db: Db, workspaceId: string, limit: number): Promise<Pick<OrderRow, 'id'>[]> =>
  db
    .selectFrom('payment_order')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('reason', '=', 'purchase')
    .where('status', 'in', ['pending', 'failed'])
    .orderBy('created_at')
    .limit(limit)
    .execute()

export const findOpenSubscriptionOrder = (db: Db, workspaceId: string): Promise<OrderRow | undefined> =>
  db
    .selectFrom('payment_order')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('kind', '=', 'subscription')
    .where('reason', '=', 'purchase')
    .where('status', 'in', ['pending', 'failed'])
    .executeTakeFirst()

type Listed = 'payment_order' | 'refund' | 'invoice'

type OwnPage<T extends Listed> = {
  readonly rows: (Selectable<Tables[T]> & { readonly id: string; readonly createdAtMicros: string })[]
  readonly total: ListTotal
}

/** One page of a workspace's rows, newest first. */
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

/** Returns undefined for a missing row and for another workspace's. */
export async function findOwn<T extends Listed>(
  db: Db,
  table: T,
  { workspaceId, id }: { readonly workspaceId: string; readonly id: string },
): Promise<Selectable<Tables[T]> | undefined> {
  const { rows } = await sql<Selectable<Tables[T]>>`
    select * from ${sql.table(table)} where workspace_id = ${workspaceId} and id = ${id}`.execute(db)
  return rows[0]
}
