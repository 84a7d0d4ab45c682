import type { Db } from '@matte/core/db/database'
import { countRows, type ListTotal, limitOf, offsetOf, type PageRequest } from '@matte/core/db/page'
import type { NotificationTable } from '@matte/core/db/tables/mail'
import { MatteError } from '@matte/core/error'
import { type Selectable, sql } from 'kysely'

export const shownColumns = ['id', 'type', 'title', 'body', 'data', 'read_at', 'created_at'] as const

export type ShownNotification = Pick<Selectable<NotificationTable>, (typeof shownColumns)[number]>

type NotificationFilter = { readonly userId: string; readonly unread: boolean }

const filtered = (db: Db, { userId, unread }: NotificationFilter) =>
  db
    .selectFrom('notification')
    .where('user_id', '=', userId)
    .$if(unread, (query) => query.where('read_at', 'is', null))

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
    .limit(limitOf(limit))
    .offset(offsetOf(offset, after))
    .execute()
  return { items, total: await countRows(db, filtered(db, filter).select('id')) }
}

export const countUnread = (db: Db, userId: string): Promise<ListTotal> =>
  countRows(db, filtered(db, { userId, unread: true }).select('id'))

export const notificationNotFound = (): MatteError => new MatteError('NOT_FOUND', 'There is no such notification.')

/** A notification keeps the time of its first reading. @throws MatteError NOT_FOUND */
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

const markedMax = 1_000

/** Marks all notifications that exist now; returns how many were unread. */
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
