import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { type ShownNotification, shownColumns } from './list-notifications.ts'

export const notificationNotFound = (): MatteError => new MatteError('NOT_FOUND', 'There is no such notification.')

/** One that was read before stays read since then. @throws MatteError NOT_FOUND */
export async function markRead(db: Db, userId: string, id: string): Promise<ShownNotification> {
  const row = await db
    .updateTable('notification')
    .set({ read_at: sql<Date>`coalesce(read_at, now())` })
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .returning(shownColumns)
    .executeTakeFirst()
  if (row === undefined) throw notificationNotFound()
  return row
}

/** Rows of one statement, so that none is long. */
const markedMax = 1_000

/** Everything that was there when this began; returns how many were unread. */
export async function markAllRead(db: Db, userId: string): Promise<number> {
  const { rows: begun } = await sql<{ at: string }>`select clock_timestamp()::text as at`.execute(db)
  for (let marked = 0; ; ) {
    const { numAffectedRows = 0n } = await sql`
      update notification set read_at = now()
       where id in (select id from notification
                     where user_id = ${userId} and read_at is null and created_at <= ${begun[0]?.at}::timestamptz
                     order by created_at desc, id desc limit ${markedMax} for update)`.execute(db)
    marked += Number(numAffectedRows)
    if (numAffectedRows < markedMax) return marked
  }
}
