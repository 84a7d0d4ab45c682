import type { Insertable, Selectable, Updateable } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { Tables } from '../../db/tables/index.ts'

type OrderTable = Tables['payment_order']

export type OrderRow = Selectable<OrderTable>

/** Undefined: there is one for this charge already, which is then read. */
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

/** Whoever's it is: for what a provider says, and for operators. */
export const findOrderBy = (
  db: Db,
  column: 'id' | 'provider_invoice_id' | 'payment_id',
  value: string,
): Promise<OrderRow | undefined> =>
  db.selectFrom('payment_order').selectAll().where(column, '=', value).executeTakeFirst()

/** Orders that may still be paid, oldest first; `limit` bounds what an error names. */
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

/** A subscription that was ordered and may still be paid. */
export const findOpenSubscriptionOrder = (db: Db, workspaceId: string): Promise<OrderRow | undefined> =>
  db
    .selectFrom('payment_order')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('kind', '=', 'subscription')
    .where('reason', '=', 'purchase')
    .where('status', 'in', ['pending', 'failed'])
    .executeTakeFirst()
