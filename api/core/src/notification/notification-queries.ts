import { type Selectable, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { countRows, type ListTotal, type PageRequest } from '../db/page.ts'
import type { SweepPass } from '../db/sweep.ts'
import type { NotificationTable } from '../db/tables/notification.ts'
import { MatteError } from '../error.ts'

const shownColumns = ['id', 'type', 'title', 'body', 'data', 'read_at', 'created_at'] as const

export type ShownNotification = Pick<Selectable<NotificationTable>, (typeof shownColumns)[number]>

type NotificationFilter = { readonly userId: string; readonly unread: boolean }

const keptDays = 90

const filtered = (db: Db, { userId, unread }: NotificationFilter) =>
  db
    .selectFrom('notification')
    .where('user_id', '=', userId)
    .$if(unread, (query) => query.where('read_at', 'is', null))

/** One page with its total, newest first. */
export async function listNotifications(
  db: Db,
  filter: NotificationFilter,
  { limit, offset, after }: PageRequest,
): Promise<{ items: (ShownNotification & { created_at_micros: string })[]; total: ListTotal }> {
  const at = sql<Date>`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  const items = await filtered(db, filter)
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(created_at, id) < (${at}, ${after?.id}::uuid)`))
    .select(shownColumns)
    .select(sql<string>`(extract(epoch from created_at) * 1000000)::bigint::text`.as('created_at_micros'))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(after === undefined ? offset : 0)
    .execute()
  return { items, total: await countRows(db, filtered(db, filter).select('id')) }
}

export const countUnread = (db: Db, userId: string): Promise<ListTotal> =>
  countRows(db, filtered(db, { userId, unread: true }).select('id'))

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

/** Old ones go, read or not. */
export async function deleteOldNotifications(db: Db, { now, limit = 1_000 }: SweepPass = {}): Promise<number> {
  const at = now === undefined ? sql`now()` : sql`${now}::timestamptz`
  const { numAffectedRows = 0n } = await sql`
    delete from notification where id in (
      select id from notification where created_at <= ${at} - ${keptDays} * interval '1 day'
       order by created_at limit ${limit} for update skip locked)`.execute(db)
  return Number(numAffectedRows)
}
