// Parts of the statements that move credits, for `credits.low_balance` (D71). The balance is below a threshold only if
// each lot is, so a statement that leaves a lot nearly empty notes the workspace, and a loop of the dispatcher judges
// the whole balance. A grant that brings the balance back to the threshold arms the next event.
import { type RawBuilder, sql } from 'kysely'
import { isSpendable } from './spendable.ts'

type Sql = RawBuilder<unknown>

/** `low`: after the part `lots`, whose rows have what is left of them as `available`. */
export const noteLowPart = (workspaceId: Sql, lots = 'lot'): Sql => sql`low as (
      insert into credit_low_balance (workspace_id)
      select w.id from workspace w
       where w.id = ${workspaceId} and w.low_balance_armed
         and exists (select from ${sql.ref(lots)} l where l.available < w.low_balance_below)
      on conflict do nothing
    )`

/**
 * `armed`: after the part `lot`, whose rows were given `amount` credits, and `owner`, the workspace's locked row with
 * `lowBalanceColumns`.
 */
export const armPart = (amount: number): Sql => sql`armed as (
      update workspace w set low_balance_armed = true from owner
       where w.id = owner.id and not owner.low_balance_armed and exists (select from lot)
         and owner.low_balance_below <= ${amount}::int + (
           select coalesce(sum(available), 0) from credit_lot
            where workspace_id = owner.id and has_available and ${isSpendable})
    )`

export const lowBalanceColumns = sql`low_balance_armed, low_balance_below`
