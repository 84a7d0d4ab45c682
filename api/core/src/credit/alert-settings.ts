import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { inTransaction } from '../db/in-transaction.ts'
import { lockWorkspace } from '../workspace/workspace-queries.ts'

type AlertSettings = {
  /** `credits.low_balance` is sent when available credits fall below it; 0: never. */
  readonly lowBalanceThreshold: number
  /** Days before a lot expires at which `credits.expiration_warning` is sent, 1 to 30. */
  readonly expiryDaysBefore: number
}

export function readAlertSettings(db: Db, workspaceId: string): Promise<AlertSettings> {
  return db
    .selectFrom('workspace')
    .select(['low_balance_below as lowBalanceThreshold', 'expiry_days_before as expiryDaysBefore'])
    .where('id', '=', workspaceId)
    .executeTakeFirstOrThrow()
}

/** Stores the settings. A new threshold can be announced again; a new notice period makes lots due again. */
export function writeAlertSettings(db: Db, workspaceId: string, settings: AlertSettings): Promise<AlertSettings> {
  return inTransaction(db, async (tx) => {
    await lockWorkspace(tx, workspaceId)
    const before = await readAlertSettings(tx, workspaceId)
    const { lowBalanceThreshold, expiryDaysBefore } = settings
    if (before.lowBalanceThreshold !== lowBalanceThreshold) {
      await tx
        .updateTable('workspace')
        .set({ low_balance_threshold: lowBalanceThreshold, low_balance_set: true, low_balance_armed: true })
        .where('id', '=', workspaceId)
        .execute()
    }
    if (before.expiryDaysBefore !== expiryDaysBefore) await changeNotice(tx, workspaceId, expiryDaysBefore)
    return settings
  })
}

/** Lots that were already announced with this notice period stay announced. */
async function changeNotice(tx: Db, workspaceId: string, days: number): Promise<void> {
  await tx.updateTable('workspace').set({ expiry_days_before: days }).where('id', '=', workspaceId).execute()
  await sql`
    update credit_lot l
       set warn_at = case when not exists (select from credit_expiry_warning w
                                            where w.lot_id = l.id and w.days = ${days}::int)
                          then expires_at - ${days}::int * interval '1 day' end
     where workspace_id = ${workspaceId} and expires_at > now()`.execute(tx)
}
