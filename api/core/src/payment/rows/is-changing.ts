import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'

/** Whether a member's change of the subscription is at the provider. The row stays locked for the transaction. */
export async function isChanging(tx: Db, subscriptionId: string): Promise<boolean> {
  const { changing } = await tx
    .selectFrom('subscription')
    .select(sql<boolean>`coalesce(claimed_until > now(), false)`.as('changing'))
    .where('id', '=', subscriptionId)
    .forUpdate()
    .executeTakeFirstOrThrow()
  return changing
}
