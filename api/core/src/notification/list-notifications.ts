import { type Selectable, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { countRows, type ListTotal, type PageRequest } from '../db/page.ts'
import type { NotificationTable } from '../db/tables/notification.ts'

export const shownColumns = ['id', 'type', 'title', 'body', 'data', 'read_at', 'created_at'] as const

export type ShownNotification = Pick<Selectable<NotificationTable>, (typeof shownColumns)[number]>

type NotificationFilter = { readonly userId: string; readonly unread: boolean }

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
