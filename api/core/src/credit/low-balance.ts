// Statement parts for `credits.low_balance`. If the balance is below the threshold, each lot is too. A statement that
// leaves a lot below the threshold therefore records the workspace, and the dispatcher then compares the whole balance.
// A grant that raises the balance to the threshold arms the next event.
import { type RawBuilder, sql } from 'kysely'
import { isSpendable } from './spendable.ts'

type Sql = RawBuilder<unknown>

/** Part `low`; follows the part `lots`, whose rows have `available`. */
export const noteLowPart = (workspaceId: Sql, lots = 'lot'): Sql => sql`low as (
      insert into credit_low_balance (workspace_id)
      select w.id from workspace w
       where w.id = ${workspaceId} and w.low_balance_armed
         and exists (select from ${sql.ref(lots)} l where l.available < w.low_balance_below)
      on conflict do nothing
    )`

/**
 * Part `armed`; follows the part `lot` with the new credits and `owner`, the locked workspace with `lowBalanceColumns`.
 */
export const armPart = (amount: number): Sql => sql`armed as (
      update workspace w set low_balance_armed = true from owner
       where w.id = owner.id and not owner.low_balance_armed and exists (select from lot)
         and owner.low_balance_below <= ${amount}::int + (
           select coalesce(sum(available), 0) from credit_lot
            where workspace_id = owner.id and has_available and ${isSpendable})
    )`

export const lowBalanceColumns = sql`low_balance_armed, low_balance_below`
