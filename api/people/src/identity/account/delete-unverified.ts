import type { Db } from '@matte/core/db/database'
import { idsAside, type SweepPass, sumEach } from '@matte/core/db/sweep'
import { sql } from 'kysely'
import { eraseRows } from './erase-rows.ts'

/** Age in days from the first registration of the address. */
const unverifiedDays = 7

/**
 * Deletes accounts whose address was never verified; returns their number. An account with a live link stays, and so
 * does a disabled one, because it keeps the address from registering again. Rows that belong to the address stay: a
 * stranger may have registered it, and its owner may have invitations.
 */
export async function deleteUnverified(db: Db, pass: SweepPass = {}): Promise<number> {
  const { now, limit = 100 } = pass
  const at = now === undefined ? sql`now()` : sql`${now}::timestamptz`
  const due = sql`
    email_verified_at is null and erased_at is null and disabled_at is null
    and created_at <= ${at} - ${unverifiedDays} * interval '1 day'
    and not exists (select from mail_token t where t.user_id = u.id and t.expires_at > ${at})`
  const { rows } = await sql<{ id: string }>`
    select id from app_user u where ${due} and id <> all(${idsAside(pass)}::uuid[])
     order by created_at limit ${limit}`.execute(db)
  return sumEach(rows, pass, ({ id }) =>
    db.transaction().execute(async (tx) => {
      // A registration or a click that holds the lock may change what is due, which the next statement sees.
      await sql`select from app_user where id = ${id} for update`.execute(tx)
      const { rows: still } = await sql`select from app_user u where id = ${id} and ${due}`.execute(tx)
      if (still.length === 0) return 0
      await eraseRows(tx, { userId: id })
      await tx.deleteFrom('app_user').where('id', '=', id).execute()
      return 1
    }),
  )
}
