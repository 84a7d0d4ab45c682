// The ledger of a workspace. `change` is an entry's effect on spendable credits and `balanceAfter` their sum after it.
// A capture changes nothing, because the hold took its credits.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { countRows, type ListTotal, limitOf, offsetOf, type PageRequest } from '../../db/page.ts'

export const entryTypes = ['grant', 'hold', 'capture', 'release', 'expire', 'refund', 'adjust'] as const
export type EntryType = (typeof entryTypes)[number]

type EntryFilter = {
  readonly workspaceId: string
  readonly type?: EntryType | undefined
  /** Written at or after this time. */
  readonly from?: Date | undefined
  /** Written before this time. */
  readonly before?: Date | undefined
}

export type LedgerEntry = {
  readonly id: string
  readonly type: EntryType
  readonly lotId: string
  readonly lotKind: string
  readonly taskId: string | null
  readonly orderId: string | null
  /** Set for adjustments. */
  readonly reason: string | null
  /** Credits moved, at least 1. */
  readonly amount: number
  readonly change: number
  readonly balanceAfter: number
  readonly createdAt: Date
  readonly created_at_micros: string
}

/** Condition of the partial index that leaves out the two entries of every success. */
const isRare = sql<boolean>`to_account in ('available', 'expired', 'refunded', 'adjusted')`

const isOfType: Readonly<Record<EntryType, RawBuilder<boolean>>> = {
  grant: sql`(from_account = 'source' and adjustment_id is null and ${isRare})`,
  hold: sql`(to_account = 'held')`,
  capture: sql`(to_account = 'spent')`,
  release: sql`(from_account = 'held' and to_account = 'available' and ${isRare})`,
  expire: sql`(to_account = 'expired' and ${isRare})`,
  refund: sql`((to_account = 'refunded' or from_account = 'refunded') and ${isRare})`,
  adjust: sql`(adjustment_id is not null and ${isRare})`,
}

function filtered(db: Db, { workspaceId, type, from, before }: EntryFilter) {
  return db
    .selectFrom('credit_entry')
    .where('workspace_id', '=', workspaceId)
    .$if(type !== undefined, (query) => query.where(isOfType[type as EntryType]))
    .$if(from !== undefined, (query) => query.where('at', '>=', from as Date))
    .$if(before !== undefined, (query) => query.where('at', '<', before as Date))
}

/**
 * One page, newest first. `after` (a cursor) is equally fast at any depth; `offset` is not. The balance sums the
 * lots' `lot_available` as of the entry, whose own lot needs no look-up.
 */
export async function listEntries(db: Db, filter: EntryFilter, { limit, offset, after }: PageRequest) {
  const at = sql<Date>`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  const page = filtered(db, filter)
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(at, id) < (${at}, ${after?.id}::bigint)`))
    .selectAll()
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .limit(limitOf(limit))
    .offset(offsetOf(offset, after))
  const type = sql`case when adjustment_id is not null then 'adjust'
                         when from_account = 'source' then 'grant'
                         when to_account = 'held' then 'hold'
                         when to_account = 'spent' then 'capture'
                         when to_account = 'expired' then 'expire'
                         when from_account = 'held' and to_account = 'available' then 'release'
                         else 'refund' end`
  const { rows } = await sql<LedgerEntry>`
    with page as materialized (${page})
    select p.id::text as id, ${type} as type, p.lot_id as "lotId", l.kind as "lotKind", p.task_id as "taskId",
           p.amount, case when to_account = 'available' then p.amount when from_account = 'available' then -p.amount
                          else 0 end as change,
           (select sum(case when w.id = p.lot_id then p.lot_available
                            else (select e.lot_available from credit_entry e
                                   where e.lot_id = w.id and e.id <= p.id order by e.id desc limit 1) end)
              from credit_lot w where w.workspace_id = p.workspace_id) as "balanceAfter",
           case when from_account in ('source', 'refunded') or to_account = 'refunded'
                  or ('held' in (from_account, to_account) and p.task_id is null)
                then (select o.id from payment_order o where o.lot_id = p.lot_id limit 1) end as "orderId",
           (select a.reason from credit_adjustment a where a.id = p.adjustment_id) as reason,
           p.at as "createdAt", (extract(epoch from p.at) * 1000000)::bigint::text as created_at_micros
      from page p join credit_lot l on l.id = p.lot_id
     order by p.at desc, p.id desc`.execute(db)
  return rows
}

export function countEntries(db: Db, filter: EntryFilter): Promise<ListTotal> {
  return countRows(db, filtered(db, filter).select('id'))
}
