// Publishes `credits.expiration_warning` once per lot and notice period, the configured days before its expiry.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../../db/sweep.ts'
import { publishEvent } from '../../webhook/publish-event.ts'
import { lockWorkspace } from '../../workspace/workspace-queries.ts'

/** Announces the lots that are due; returns the number of events. */
export async function warnOfExpiry(db: Db, pass: SweepPass = {}): Promise<number> {
  const due = await db
    .selectFrom('credit_lot')
    .select(['id', 'workspace_id as workspaceId'])
    .where('has_available', '=', true)
    .where('warn_at', '<=', sql<Date>`now()`)
    .where(sql<boolean>`id <> all(${idsAside(pass)}::uuid[])`)
    .orderBy('warn_at')
    .limit(pass.limit ?? 100)
    .execute()
  return sumEach(due, pass, ({ id, workspaceId }) =>
    db.transaction().execute(async (tx) => {
      await lockWorkspace(tx, workspaceId)
      const lot = await takeWarning(tx, id)
      if (lot === undefined) return 0
      const { credits, expiresAt } = lot
      const expiry_date = expiresAt.toISOString()
      const fields = { credits, expiry_date, message: `${credits} credit(s) expire on ${expiry_date.slice(0, 10)}.` }
      const key = `${id}:${lot.days}`
      await publishEvent(tx, { event: 'credits.expiration_warning', fields, key, workspaceId, userId: null })
      return 1
    }),
  )
}

type Warning = { readonly credits: number; readonly expiresAt: Date; readonly days: number }

/** Undefined: another replica took it, it was already announced with this notice period, or the lot has expired. */
async function takeWarning(tx: Db, lotId: string): Promise<Warning | undefined> {
  const { rows } = await sql<Warning>`
    with lot as (
      update credit_lot l set warn_at = null from workspace w
       where l.id = ${lotId} and l.has_available and l.warn_at <= now() and w.id = l.workspace_id
      returning l.id, l.available as credits, l.expires_at as "expiresAt", w.expiry_days_before as days
    ), warning as (
      insert into credit_expiry_warning (lot_id, days) select id, days from lot where "expiresAt" > now()
      on conflict do nothing
      returning lot_id
    )
    select lot.* from lot join warning on warning.lot_id = lot.id`.execute(tx)
  return rows[0]
}
